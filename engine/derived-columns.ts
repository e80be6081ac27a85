/** Derived columns as SQL. What stands here may never change: a row's partition would depend on when it was written. */

import { decimalOf } from "../delta/schema.ts";
import type { StructField, StructType } from "../delta/types.ts";
import { type Derived, hasStableText } from "./partitioning.ts";
import { sqlType } from "./sql-types.ts";

export type DerivedFrom = {
  schema: StructType;
  derived: readonly Derived[];
  /** The message's time as a TIMESTAMP in UTC. */
  time: string;
  /** A column of the row as SQL in its type. */
  column(field: StructField): string;
};

/** `value`, or, where that is null, what is derived for the field; `value` itself for a field that is not derived. */
export function orDerived(field: StructField, value: string, from: DerivedFrom): string {
  const derived = from.derived.find(({ column }) => column === field.name);
  const made = derived && derivedSql(derived, field, from);
  return made === undefined ? value : `coalesce(${value}, ${made})`;
}

function derivedSql(derived: Derived, field: StructField, from: DerivedFrom): string | undefined {
  if (derived.kind !== "bucket") {
    if (field.type !== "string") return undefined;
    return derived.kind === "date" ? `(${from.time})::DATE::VARCHAR` : `strftime(${from.time}, '%H')`;
  }
  const source = from.schema.fields.find(({ name }) => name === derived.of);
  const isNumber = field.type === "integer" || field.type === "long";
  if (source === undefined || !isNumber || !hasStableText(source.type)) return undefined;
  const hash = `('0x' || left(md5(${stableText(source, from.column(source))}), 8))::BIGINT`;
  return `CAST(${hash} % ${derived.count} AS ${sqlType(field.type)})`;
}

/** Digits of a decimal without the zeros that its scale adds: 5, 5.0 and 5.00 are one value. */
function stableText({ type }: StructField, value: string): string {
  if (type === "string" || type === "binary") return value;
  const text = `CAST(${value} AS VARCHAR)`;
  const scale = decimalOf(type)?.scale ?? 0;
  return scale === 0 ? text : `rtrim(rtrim(${text}, '0'), '.')`;
}
