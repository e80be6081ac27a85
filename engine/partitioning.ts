/** What a table is partitioned by, in the words of settings: columns, and columns that are derived where nothing gives them. */

import { LabError } from "../core/errors.ts";
import { decimalOf } from "../delta/schema.ts";
import type { DataType, StructField, StructType } from "../delta/types.ts";

/**
 * A column whose value comes from the message's time in UTC (`date` as YYYY-MM-DD, `hour` as 00 to 23), or from the value of another
 * column: `bucket` is which of `count` parts it falls in.
 */
export type Derived =
  | { kind: "date" | "hour"; column: string }
  | { kind: "bucket"; column: string; of: string; count: number };

const MOST_BUCKETS = 65_536;
/** What a derived column is, in its field's metadata: whoever writes next, under whatever settings, derives the same. */
const DERIVED_KEY = "lab.derived";

/**
 * Partition columns in their order: names as they are, `date` and `hour`, and `bucket(N, column)`, which stands for `<column>_bucket`. Items that were
 * split at the comma inside of the parentheses are put together again. CONFIG_INVALID, naming it, for anything else in parentheses.
 */
export function parsePartitioning(items: readonly string[]): {
  columns: string[];
  derived: Derived[];
} {
  const columns: string[] = [];
  const derived: Derived[] = [];
  for (const item of items.join(",").match(/[^,(]+(?:\([^)]*\)?)?[^,]*/g) ?? []) {
    const made = parseDerived(item.trim());
    columns.push(made?.column ?? item.trim());
    if (made) derived.push(made);
  }
  return { columns, derived };
}

function parseDerived(item: string): Derived | undefined {
  if (item === "date" || item === "hour") return { kind: item, column: item };
  if (!/[()]/.test(item)) return undefined;
  const found = /^bucket\s*\(\s*(\d+)\s*,\s*([^(),;{}=\s]+)\s*\)$/i.exec(item);
  const count = Number(found?.[1]);
  const of = found?.[2] ?? "";
  if (count >= 1 && count <= MOST_BUCKETS) return { kind: "bucket", column: `${of}_bucket`, of, count };
  throw new LabError("CONFIG_INVALID", `${JSON.stringify(item)} is nothing to partition a table by`, {
    hint: `give a column, date, hour, or bucket(N, column) with N from 1 to ${MOST_BUCKETS}`,
    details: { item },
  });
}

/**
 * Columns that a table needs beside `columns` to be partitioned so: those derived ones that nothing gives. SCHEMA_MISMATCH where buckets are asked of a
 * column that is not there, or whose values have no text that stays the same for ever.
 */
export function derivedFields(columns: readonly StructField[], derived: readonly Derived[]): StructField[] {
  return derived
    .filter(({ column }) => !columns.some(({ name }) => name === column))
    .map((one): StructField => {
      if (one.kind !== "bucket") return derivedField(one.column, "string", one.kind);
      const type = columns.find(({ name }) => name === one.of)?.type;
      if (type === undefined || !hasStableText(type))
        throw new LabError(
          "SCHEMA_MISMATCH",
          type === undefined
            ? `the table is to have buckets of ${one.of}, which is not a column of it`
            : `the table is to have buckets of ${one.of}, which is ${typeof type === "string" ? type : type.type}`,
          {
            hint: "buckets are of columns of text, whole numbers, decimals, dates, booleans or bytes",
            details: { column: one.of },
          },
        );
      return derivedField(one.column, "integer", bucketText(one));
    });
}

/**
 * What is derived when rows are added to a table: the columns that were made for it, and a column `date` of text that partitions it, whoever
 * made that.
 */
export function derivedOf(schema: StructType, partitionColumns: readonly string[]): Derived[] {
  return schema.fields.flatMap((field): Derived[] => {
    if (!partitionColumns.includes(field.name)) return [];
    const made = field.metadata[DERIVED_KEY];
    const derived = parseDerived(typeof made === "string" ? made : field.name);
    return derived?.column === field.name && (derived.kind === "date" || made !== undefined) ? [derived] : [];
  });
}

/** SCHEMA_MISMATCH where a table has other buckets than those asked for: rows of one value would be in two of them. */
export function requireSameBuckets(
  schema: StructType,
  partitionColumns: readonly string[],
  asked: readonly Derived[],
): void {
  for (const has of derivedOf(schema, partitionColumns)) {
    const wants = asked.find(({ column }) => column === has.column);
    if (has.kind !== "bucket" || wants?.kind !== "bucket" || wants.count === has.count) continue;
    throw new LabError(
      "SCHEMA_MISMATCH",
      `the table has ${has.count} buckets of ${has.of}, and ${wants.count} are asked for`,
      { hint: `say ${bucketText(has)}, or write to a new table`, details: { column: has.column } },
    );
  }
}

/** Whether each value of a type has one text, whatever version of whatever engine writes it, and after the column was widened, too. */
export function hasStableText(type: DataType): boolean {
  return (typeof type === "string" && STABLE.has(type)) || decimalOf(type) !== undefined;
}

const STABLE = new Set(["string", "byte", "short", "integer", "long", "boolean", "date", "binary"]);

function derivedField(name: string, type: DataType, what: string): StructField {
  return { name, type, nullable: true, metadata: { [DERIVED_KEY]: what } };
}

function bucketText({ count, of }: { count: number; of: string }): string {
  return `bucket(${count}, ${of})`;
}
