/** Columns whose names in files are not those of the table (PROTOCOL.md, "Column Mapping"). */

import type { Snapshot } from "../delta/table.ts";
import type { DataType, StructField } from "../delta/types.ts";
import { quoteName, quoteText } from "./instance.ts";

export type MappingMode = "none" | "name" | "id";

/** How columns are found in files. The property counts only where the protocol has the feature. */
export function mappingMode(table: Pick<Snapshot, "protocol" | "metadata">): MappingMode {
  const { minReaderVersion, readerFeatures } = table.protocol;
  const isOn = minReaderVersion === 2 || readerFeatures?.includes("columnMapping");
  const mode = table.metadata.configuration["delta.columnMapping.mode"];
  return isOn && (mode === "name" || mode === "id") ? mode : "none";
}

/** The name of a column in files, and of a partition column in the log. */
export function physicalName(field: StructField, mode: MappingMode): string {
  const name = mode === "none" ? undefined : field.metadata["delta.columnMapping.physicalName"];
  return typeof name === "string" ? name : field.name;
}

/** The id of a column in files; undefined where the schema has none. */
export function fieldId(field: StructField): number | undefined {
  const id = field.metadata["delta.columnMapping.id"];
  return id === undefined || id === null ? undefined : Number(id);
}

const ANCHOR = "lab anchor";

/** A field that no table has: a file's own, by which the engine reads a struct of which the file has no other field. Values come without it. */
export function anchor(name: string): StructField {
  // Everything can be read as text.
  return {
    name: ANCHOR,
    type: "string",
    nullable: true,
    metadata: { "delta.columnMapping.physicalName": name },
  };
}

/** A type as files spell it: fields of structs by their physical names, at every level. */
export function physicalType(type: DataType, mode: MappingMode): DataType {
  if (mode === "none" || typeof type === "string") return type;
  if (type.type === "array") return { ...type, elementType: physicalType(type.elementType, mode) };
  if (type.type === "map") {
    return {
      ...type,
      keyType: physicalType(type.keyType, mode),
      valueType: physicalType(type.valueType, mode),
    };
  }
  const fields = type.fields.map((field) => ({
    ...field,
    name: physicalName(field, mode),
    type: physicalType(field.type, mode),
  }));
  return { type: "struct", fields };
}

/** SQL that turns a value of the physical type into one of the table's: `value` itself where no name differs. */
export function logicalValue(value: string, type: DataType, mode: MappingMode, depth = 0): string {
  if (typeof type === "string" || !isRenamed(type, mode)) return value;
  const item = `x${depth}`;
  const inner = (expression: string, of: DataType) => logicalValue(expression, of, mode, depth + 1);
  if (type.type === "array")
    return `list_transform(${value}, lambda ${item}: ${inner(item, type.elementType)})`;
  if (type.type === "map") {
    const entry = `{key: ${inner(`${item}.key`, type.keyType)}, value: ${inner(`${item}.value`, type.valueType)}}`;
    const entries = `list_transform(map_entries(${value}), lambda ${item}: ${entry})`;
    return `CASE WHEN ${value} IS NULL THEN NULL ELSE map_from_entries(${entries}) END`;
  }
  const fields = type.fields.filter(isOfTable).map((field) => {
    const own = `struct_extract(${value}, ${quoteText(physicalName(field, mode))})`;
    return `${quoteName(field.name)} := ${inner(own, field.type)}`;
  });
  return `CASE WHEN ${value} IS NULL THEN NULL ELSE struct_pack(${fields.join(", ")}) END`;
}

function isRenamed(type: DataType, mode: MappingMode): boolean {
  if (mode === "none" || typeof type === "string") return false;
  if (type.type === "array") return isRenamed(type.elementType, mode);
  if (type.type === "map") return isRenamed(type.keyType, mode) || isRenamed(type.valueType, mode);
  return type.fields.some((field) => physicalName(field, mode) !== field.name || isRenamed(field.type, mode));
}

function isOfTable({ name }: StructField): boolean {
  return name !== ANCHOR;
}
