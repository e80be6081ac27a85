/** Schemas as the log writes them: `schemaString` to types and back (PROTOCOL.md, "Schema Serialization Format"). */

import { LabError } from "../core/errors.ts";
import { parseJson, stringifyJson } from "./json.ts";
import type { DataType, PrimitiveType, StructField, StructType } from "./types.ts";

const PRIMITIVES = new Set<string>([
  "string",
  "long",
  "integer",
  "short",
  "byte",
  "float",
  "double",
  "boolean",
  "binary",
  "date",
  "timestamp",
  "timestamp_ntz",
  "variant",
  "void",
]);
const DECIMAL = /^decimal\s*\(\s*(\d+)\s*,\s*(-?\d+)\s*\)$/;

/** Deeper ones are nobody's data; engines recurse over types, and may end where no error can be caught. */
const MOST_LEVELS = 100;

/** CORRUPT_LOG where it is no schema, UNSUPPORTED_FEATURE for a type that is not known here or is nested too deep. */
export function parseSchema(schemaString: string): StructType {
  let json: unknown;
  try {
    json = parseJson(schemaString);
  } catch (cause) {
    throw new LabError("CORRUPT_LOG", `the table's schema is not JSON: ${(cause as Error).message}`, {
      cause,
    });
  }
  if (json === null || (typeof json === "object" && Object.keys(json).length === 0))
    return { type: "struct", fields: [] };
  const type = parseType(json, "schema");
  if (typeof type === "object" && type.type === "struct") return type;
  throw new LabError("CORRUPT_LOG", "the table's schema is not a struct");
}

/** The `schemaString` of a schema, the metadata of every field included. */
export function serializeSchema(schema: StructType): string {
  return stringifyJson(schema);
}

/** Precision and scale of a decimal type; undefined for every other type. */
export function decimalOf(type: DataType): { precision: number; scale: number } | undefined {
  const found = typeof type === "string" ? DECIMAL.exec(type) : null;
  return found ? { precision: Number(found[1]), scale: Number(found[2]) } : undefined;
}

export function isStruct(type: DataType): type is StructType {
  return typeof type === "object" && type.type === "struct";
}

function parseType(json: unknown, path: string, level = 0): DataType {
  if (level > MOST_LEVELS)
    throw new LabError("UNSUPPORTED_FEATURE", `a column has types nested deeper than ${MOST_LEVELS} levels`, {
      details: { feature: "nested types", column: path.slice(0, 200) },
    });
  if (typeof json === "string") return parsePrimitive(json, path);
  const from = (typeof json === "object" && json !== null ? json : {}) as Record<string, unknown>;
  switch (from.type) {
    case "struct":
      if (!Array.isArray(from.fields)) break;
      return { type: "struct", fields: from.fields.map((field) => parseField(field, path, level + 1)) };
    case "array":
      return {
        type: "array",
        elementType: parseType(from.elementType, `${path}.element`, level + 1),
        containsNull: from.containsNull !== false,
      };
    case "map":
      return {
        type: "map",
        keyType: parseType(from.keyType, `${path}.key`, level + 1),
        valueType: parseType(from.valueType, `${path}.value`, level + 1),
        valueContainsNull: from.valueContainsNull !== false,
      };
  }
  throw new LabError("CORRUPT_LOG", `the table's schema has no valid type at ${path}`);
}

function parseField(json: unknown, path: string, level: number): StructField {
  const from = (typeof json === "object" && json !== null ? json : {}) as Record<string, unknown>;
  if (typeof from.name !== "string")
    throw new LabError("CORRUPT_LOG", `the table's schema has a field without a name in ${path}`);
  return {
    name: from.name,
    type: parseType(from.type, path === "schema" ? from.name : `${path}.${from.name}`, level),
    nullable: from.nullable !== false,
    metadata: typeof from.metadata === "object" ? { ...from.metadata } : {},
  };
}

function parsePrimitive(name: string, path: string): PrimitiveType {
  if (PRIMITIVES.has(name)) return name as PrimitiveType;
  if (name === "decimal") return "decimal(10,0)";
  const decimal = DECIMAL.exec(name);
  if (decimal) return `decimal(${Number(decimal[1])},${Number(decimal[2])})`;
  throw new LabError("UNSUPPORTED_FEATURE", `type ${name} of column ${path} is not supported`, {
    details: { feature: name, column: path },
  });
}
