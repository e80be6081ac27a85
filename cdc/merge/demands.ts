/**
 * What a table demands of its rows beside their key: columns that must not be null, and conditions. A row that takes values of the one it replaces
 * (a deleted one that is kept, an update that leaves columns out) meets them once it has these, not as it comes.
 */

import { CHECK_PREFIX, constraintsOf } from "../../delta/constraints.ts";
import type { Snapshot } from "../../delta/table.ts";
import type { StructField, StructType } from "../../delta/types.ts";
import { compileConstraints } from "../../engine/constraints.ts";
import type { BadRecord } from "../../engine/encoder.ts";
import type { Engine } from "../../engine/instance.ts";
import { findViolators } from "../../engine/violations.ts";
import { CDC_FIELD } from "./cdc-field.ts";

export type Demands = {
  /** Columns whose values the row of a deleted key keeps, so that the table may hold it. */
  kept: readonly string[];
  /** The schema and the configuration without the demands, for rows on their way. */
  eased(schema: StructType): { schema: StructType; configuration: Readonly<Record<string, string>> };
  /** The schema that eased rows have, with the demands. */
  restored(schema: StructType): StructType;
};

/** Null where any row with a key will do. */
export function demandsOf(
  { schema, metadata: { configuration } }: Pick<Snapshot, "schema" | "metadata">,
  keyColumns: readonly string[],
): Demands | null {
  const isOfKey = (name: string) => keyColumns.includes(name);
  const found = constraintsOf({ configuration }, schema).filter(
    ({ kind, path }) => kind !== "notNull" || !isOfKey(path[0]!),
  );
  if (found.length === 0) return null;
  const values = schema.fields.filter(({ name }) => !isOfKey(name) && name !== CDC_FIELD.name);
  // What a condition looks at may be any column.
  const isConditional = found.some(({ kind }) => kind !== "notNull");
  const kept = isConditional ? values : values.filter(({ nullable }) => !nullable);
  const told = new Map(schema.fields.map((field) => [field.name, field]));
  return {
    kept: kept.map(({ name }) => name),
    eased: (asked) => ({
      schema: mapped(asked, (field) => (isOfKey(field.name) ? field : easy(field))),
      configuration: Object.fromEntries(
        Object.entries(configuration).filter(([name]) => !name.startsWith(CHECK_PREFIX)),
      ),
    }),
    restored: (eased) =>
      mapped(eased, (field) => {
        const { nullable, metadata } = told.get(field.name) ?? field;
        return { ...field, nullable, metadata };
      }),
  };
}

/** Which rows of a FROM clause do not meet what a table demands, by the number in a column of theirs. */
export async function unmet(
  engine: Engine,
  { partitionColumns, metadata: { configuration } }: Snapshot,
  rows: { schema: StructType; from: string; place: string },
  signal: AbortSignal,
): Promise<BadRecord[]> {
  const { schema, from, place } = rows;
  const checks = await compileConstraints(engine, { configuration, schema, partitionColumns }, signal);
  return findViolators(engine, checks, { from, place }, signal);
}

function mapped({ fields }: StructType, change: (field: StructField) => StructField): StructType {
  return { type: "struct", fields: fields.map(change) };
}

function easy({ metadata, ...field }: StructField): StructField {
  const { "delta.invariants": _, ...rest } = metadata;
  return { ...field, nullable: true, metadata: rest };
}
