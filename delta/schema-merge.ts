/** Additive schema evolution: what a table must become to hold rows of another schema as well. */

import { LabError } from "../core/errors.ts";
import { isStruct } from "./schema.ts";
import { canWiden, commonType, type Widen, withTypeChanges } from "./type-widening.ts";
import type { DataType, StructField, StructType } from "./types.ts";

/** What of a schema cannot be in a table: another type, or a name that differs by case only. */
export type Clash = {
  /** Names from the top, `element`, `key` and `value` inside of arrays and maps, with dots between. */
  path: string;
  kind: "type" | "case";
  /** The types, or the names, of both. */
  table: string;
  incoming: string;
};

/**
 * The table's schema with the columns and struct fields of `incoming` that it lacks, at any depth, appended in the order they come
 * and nullable. Names are compared ignoring case; the table's spelling, order, metadata and nullability stay. Returns `table` itself where nothing is new.
 * SCHEMA_MISMATCH names the path whose type does not fit. A field absent from `incoming` is fine: it reads as null.
 */
export function mergeSchemas(table: StructType, incoming: StructType): StructType {
  const clashes: Clash[] = [];
  const schema = mergeStructs(table, incoming, { path: [], ignoreCase: true, widen: undefined, clashes });
  const [first] = clashes;
  if (first === undefined) return schema;
  const { path, table: old, incoming: other } = first;
  throw new LabError("SCHEMA_MISMATCH", `column ${path} is ${old} in the table and ${other} in the rows`, {
    hint: "cast the column to the table's type, or write it under another name",
    details: { column: path, table: old, incoming: other },
  });
}

/**
 * The same by exact names, for a schema that messages promise, with all that stands in the way of it: what clashes stays as the table has it. Types
 * that hold all values of the incoming one stay; others become what holds both where `widen` lets them, which is noted for readers.
 */
export function mergeSchema(
  table: StructType,
  incoming: StructType,
  options: { widen: Widen | undefined },
): { schema: StructType; clashes: readonly Clash[] } {
  const clashes: Clash[] = [];
  const { widen } = options;
  const merged = mergeStructs(table, incoming, { path: [], ignoreCase: false, widen, clashes });
  return { schema: merged === table ? table : withTypeChanges(table, merged), clashes };
}

type Merging = {
  path: readonly string[];
  /** Also: types have to be the same. */
  ignoreCase: boolean;
  widen: Widen | undefined;
  /** Grows. */
  clashes: Clash[];
};

function mergeStructs(table: StructType, incoming: StructType, merging: Merging): StructType {
  const fields = [...table.fields];
  const places = new Map(fields.map((field, place) => [field.name.toLowerCase(), place]));
  let isChanged = false;
  for (const field of incoming.fields) {
    const here = inside(merging, field.name);
    const place = places.get(field.name.toLowerCase());
    if (place === undefined) {
      places.set(field.name.toLowerCase(), fields.push(added(field)) - 1);
      isChanged = true;
      continue;
    }
    const old = fields[place]!;
    if (!merging.ignoreCase && old.name !== field.name) {
      clash(here, "case", old.name, field.name);
      continue;
    }
    const type = mergeTypes(old.type, field.type, here);
    if (type === old.type) continue;
    fields[place] = { ...old, type };
    isChanged = true;
  }
  return isChanged ? { type: "struct", fields } : table;
}

function mergeTypes(table: DataType, incoming: DataType, merging: Merging): DataType {
  if (table === incoming || incoming === "void") return table;
  // No file holds a value of a void column, so any type fits it.
  if (table === "void") return nullable(incoming);
  if (isStruct(table) && isStruct(incoming)) return mergeStructs(table, incoming, merging);
  if (typeof table === "object" && typeof incoming === "object") {
    if (table.type === "array" && incoming.type === "array") {
      const elementType = mergeTypes(table.elementType, incoming.elementType, inside(merging, "element"));
      return elementType === table.elementType ? table : { ...table, elementType };
    }
    if (table.type === "map" && incoming.type === "map") {
      const keyType = mergeTypes(table.keyType, incoming.keyType, inside(merging, "key"));
      const valueType = mergeTypes(table.valueType, incoming.valueType, inside(merging, "value"));
      const isSame = keyType === table.keyType && valueType === table.valueType;
      return isSame ? table : { ...table, keyType, valueType };
    }
  }
  if (!merging.ignoreCase) {
    if (canWiden(incoming, table)) return table;
    const wider = commonType(table, incoming);
    if (wider !== undefined && merging.widen?.(merging.path[0]!, table, wider)) return wider;
  }
  clash(merging, "type", nameOf(table), nameOf(incoming));
  return table;
}

function inside(merging: Merging, step: string): Merging {
  return { ...merging, path: [...merging.path, step] };
}

function clash({ path, clashes }: Merging, kind: Clash["kind"], table: string, incoming: string): void {
  clashes.push({ path: path.join("."), kind, table, incoming });
}

/** A new field, nullable at every depth: older files and other writers lack it. */
function added(field: StructField): StructField {
  return { ...field, type: nullable(field.type), nullable: true };
}

function nullable(type: DataType): DataType {
  if (typeof type === "string") return type;
  if (type.type === "struct") return { type: "struct", fields: type.fields.map(added) };
  if (type.type === "array") return { ...type, elementType: nullable(type.elementType), containsNull: true };
  return { ...type, valueType: nullable(type.valueType), valueContainsNull: true };
}

function nameOf(type: DataType): string {
  return typeof type === "string" ? type : type.type;
}
