/** Additive schema evolution: what a table must become to hold rows of another schema as well. */

import { LabError } from "../core/errors.ts";
import { isStruct } from "./schema.ts";
import type { DataType, StructField, StructType } from "./types.ts";

/**
 * The table's schema with the columns and struct fields of `incoming` that it lacks, at any depth, appended in the order they come
 * and nullable. Names are compared ignoring case; the table's spelling, order, metadata and nullability stay. Returns `table` itself where nothing is new.
 * SCHEMA_MISMATCH names the path whose type does not fit. A field absent from `incoming` is fine: it reads as null.
 */
export function mergeSchemas(table: StructType, incoming: StructType): StructType {
  return mergeStructs(table, incoming, "");
}

function mergeStructs(table: StructType, incoming: StructType, path: string): StructType {
  const fields = [...table.fields];
  const places = new Map(fields.map((field, place) => [field.name.toLowerCase(), place]));
  let isChanged = false;
  for (const field of incoming.fields) {
    const here = path === "" ? field.name : `${path}.${field.name}`;
    const place = places.get(field.name.toLowerCase());
    if (place === undefined) {
      places.set(field.name.toLowerCase(), fields.push(added(field)) - 1);
      isChanged = true;
      continue;
    }
    const old = fields[place]!;
    const type = mergeTypes(old.type, field.type, here);
    if (type === old.type) continue;
    fields[place] = { ...old, type };
    isChanged = true;
  }
  return isChanged ? { type: "struct", fields } : table;
}

function mergeTypes(table: DataType, incoming: DataType, path: string): DataType {
  if (table === incoming || incoming === "void") return table;
  // No file holds a value of a void column, so any type fits it.
  if (table === "void") return nullable(incoming);
  if (isStruct(table) && isStruct(incoming)) return mergeStructs(table, incoming, path);
  if (typeof table === "object" && typeof incoming === "object") {
    if (table.type === "array" && incoming.type === "array") {
      const elementType = mergeTypes(table.elementType, incoming.elementType, `${path}.element`);
      return elementType === table.elementType ? table : { ...table, elementType };
    }
    if (table.type === "map" && incoming.type === "map") {
      const keyType = mergeTypes(table.keyType, incoming.keyType, `${path}.key`);
      const valueType = mergeTypes(table.valueType, incoming.valueType, `${path}.value`);
      const isSame = keyType === table.keyType && valueType === table.valueType;
      return isSame ? table : { ...table, keyType, valueType };
    }
  }
  const [old, other] = [nameOf(table), nameOf(incoming)];
  throw new LabError("SCHEMA_MISMATCH", `column ${path} is ${old} in the table and ${other} in the rows`, {
    hint: "cast the column to the table's type, or write it under another name",
    details: { column: path, table: old, incoming: other },
  });
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
