/** Delta's types as DuckDB names them. */

import { LabError } from "../core/errors.ts";
import type { DataType } from "../delta/types.ts";
import { quoteName } from "./instance.ts";

const PRIMITIVES: Readonly<Record<string, string>> = {
  string: "VARCHAR",
  long: "BIGINT",
  integer: "INTEGER",
  short: "SMALLINT",
  byte: "TINYINT",
  float: "FLOAT",
  double: "DOUBLE",
  boolean: "BOOLEAN",
  binary: "BLOB",
  date: "DATE",
  timestamp: "TIMESTAMP WITH TIME ZONE",
  timestamp_ntz: "TIMESTAMP",
  // A void column holds nothing but NULL, and DuckDB has no column type for that.
  void: "INTEGER",
};

/** The DuckDB type that holds every value of a Delta type exactly. UNSUPPORTED_FEATURE names a type that has none. */
export function sqlType(type: DataType): string {
  if (typeof type !== "string") {
    if (type.type === "array") return `${sqlType(type.elementType)}[]`;
    if (type.type === "map") return `MAP(${sqlType(type.keyType)}, ${sqlType(type.valueType)})`;
    if (type.fields.length === 0) throw unsupported("struct<>");
    return `STRUCT(${type.fields.map((field) => `${quoteName(field.name)} ${sqlType(field.type)}`).join(", ")})`;
  }
  const primitive = PRIMITIVES[type];
  if (primitive !== undefined) return primitive;
  const decimal = /^decimal\((\d+),(\d+)\)$/.exec(type);
  if (decimal !== null) return `DECIMAL(${decimal[1]}, ${decimal[2]})`;
  throw unsupported(type);
}

function unsupported(type: string): LabError {
  return new LabError("UNSUPPORTED_FEATURE", `columns of type ${type} cannot be read here`, {
    hint: "read the table with an engine that knows the type, such as Spark",
    details: { feature: type },
  });
}
