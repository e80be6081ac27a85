/** How DuckDB's JSON reader gets at a column: binary comes as base64 text, everything else as it is. */

import type { DataType } from "../delta/types.ts";
import { quoteName, quoteText } from "./instance.ts";
import { sqlType } from "./sql-types.ts";

/** The type to read a column as. */
export function readType(type: DataType): string {
  return sqlType(withTextForBinary(type));
}

/** The column itself, as SQL over `value`, which was read so. */
export function fromRead(type: DataType, value: string): string {
  return holdsBinary(type) ? decoded(type, value, 0) : value;
}

function withTextForBinary(type: DataType): DataType {
  if (typeof type === "string") return type === "binary" ? "string" : type;
  if (type.type === "array") return { ...type, elementType: withTextForBinary(type.elementType) };
  if (type.type === "map") return { ...type, valueType: withTextForBinary(type.valueType) };
  const fields = type.fields.map((field) => ({ ...field, type: withTextForBinary(field.type) }));
  return { type: "struct", fields };
}

function holdsBinary(type: DataType): boolean {
  if (typeof type === "string") return type === "binary";
  if (type.type === "array") return holdsBinary(type.elementType);
  if (type.type === "map") return holdsBinary(type.valueType);
  return type.fields.some((field) => holdsBinary(field.type));
}

function decoded(type: DataType, value: string, depth: number): string {
  if (!holdsBinary(type)) return value;
  if (typeof type === "string") return `from_base64(${value})`;
  const item = `item${depth}`;
  if (type.type === "array")
    return `list_transform(${value}, lambda ${item}: ${decoded(type.elementType, item, depth + 1)})`;
  if (type.type === "map") {
    // With a dot a column that has the item's name would come first.
    const inner = decoded(type.valueType, `struct_extract(${item}, 'value')`, depth + 1);
    const entry = `struct_pack(key := struct_extract(${item}, 'key'), value := ${inner})`;
    return `map_from_entries(list_transform(map_entries(${value}), lambda ${item}: ${entry}))`;
  }
  const members = type.fields.map((field) => {
    const name = quoteName(field.name);
    const member = `struct_extract(${value}, ${quoteText(field.name)})`;
    return `${name} := ${decoded(field.type, member, depth)}`;
  });
  return `CASE WHEN ${value} IS NULL THEN NULL ELSE struct_pack(${members.join(", ")}) END`;
}
