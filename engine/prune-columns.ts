/** From names in SQL to the columns that pruning knows facts of. */

import { isStruct } from "../delta/schema.ts";
import type { Snapshot } from "../delta/table.ts";
import type { DataType, StructField, StructType } from "../delta/types.ts";
import { type MappingMode, mappingMode, physicalName } from "./column-mapping.ts";
import type { PruneColumn } from "./prune-predicate.ts";

export type PruneTable = Pick<Snapshot, "schema" | "partitionColumns" | "metadata" | "protocol">;

/** What names stand for, such as `["o", "address", "city"]`; undefined for whatever is no column of plain values here. */
export type ColumnOf = (names: readonly string[]) => PruneColumn | undefined;

/** The column, or the member of structs, of these names. DuckDB tells names apart ignoring case, of ASCII letters here. */
export function columnAt(table: PruneTable, names: readonly string[]): PruneColumn | undefined {
  const mode = mappingMode(table);
  const path: StructField[] = [];
  let fields: StructType | undefined = table.schema;
  for (const name of names) {
    const field: StructField | undefined = fields && fieldOf(fields, name);
    if (field === undefined) return undefined;
    path.push(field);
    fields = isStruct(field.type) ? field.type : undefined;
  }
  const last = path.at(-1);
  return last === undefined || typeof last.type !== "string"
    ? undefined
    : described(path, last.type, table, mode);
}

/** Whether the table has a top-level column of this name. */
export function hasColumn(table: PruneTable, name: string): boolean {
  return fieldOf(table.schema, name) !== undefined;
}

export function foldCase(name: string): string {
  return /[A-Z]/.test(name) ? name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()) : name;
}

function described(
  path: readonly StructField[],
  type: DataType,
  table: PruneTable,
  mode: MappingMode,
): PruneColumn {
  return {
    path: path.map((field) => physicalName(field, mode)),
    type,
    isPartition: path.length === 1 && table.partitionColumns.includes(path[0]!.name),
    isWidened: type === "double" && path.some((field) => field.metadata["delta.typeChanges"] !== undefined),
  };
}

function fieldOf(type: StructType, name: string): StructField | undefined {
  const folded = foldCase(name);
  return type.fields.find((field) => foldCase(field.name) === folded);
}
