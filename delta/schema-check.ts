/** What a schema must fulfil before a table is made with it or changed to it. */

import { LabError } from "../core/errors.ts";
import { decimalOf, isStruct } from "./schema.ts";
import type { DataType, StructType } from "./types.ts";

/** Characters that Parquet readers of other engines stumble over in names. */
const FORBIDDEN = /[ ,;{}()\n\t=\0]/;
const NO_PARTITION = new Set(["variant", "void"]);

/**
 * SCHEMA_MISMATCH naming the column where the schema cannot be a table's: no column, two names that differ by case only, a name with
 * one of ` ,;{}()\n\t=`, a decimal out of range, void inside of an array or map, or partition columns that
 * are missing, nested, doubled, or all there is.
 */
export function checkSchema(schema: StructType, partitionColumns: readonly string[]): void {
  if (schema.fields.length === 0) throw mismatch("the schema has no column", "");
  checkFields(schema, "");
  const names = new Map(schema.fields.map((field) => [field.name, field]));
  for (const [at, name] of partitionColumns.entries()) {
    const field = names.get(name);
    if (!field) throw mismatch(`partition column ${name} is not a column of the schema`, name);
    if (typeof field.type !== "string" || NO_PARTITION.has(field.type))
      throw mismatch(`column ${name} cannot partition a table: its type is nested or has no text form`, name);
    if (partitionColumns.indexOf(name) !== at)
      throw mismatch(`partition column ${name} is named twice`, name);
  }
  if (partitionColumns.length === schema.fields.length)
    throw mismatch(
      "every column is a partition column: data files would be empty",
      partitionColumns.join(", "),
    );
}

function checkFields(struct: StructType, path: string): void {
  const seen = new Map<string, string>();
  for (const field of struct.fields) {
    const here = path === "" ? field.name : `${path}.${field.name}`;
    if (field.name === "") throw mismatch(`a field of ${path || "the schema"} has no name`, path);
    if (FORBIDDEN.test(field.name))
      throw mismatch(
        `column name ${JSON.stringify(here)} holds one of the characters ,;{}()= or white space`,
        here,
      );
    const other = seen.get(field.name.toLowerCase());
    if (other !== undefined)
      throw mismatch(`columns ${here} and ${other} differ by case only or not at all`, here);
    seen.set(field.name.toLowerCase(), here);
    checkType(field.type, here, false);
  }
}

function checkType(type: DataType, path: string, isInside: boolean): void {
  if (isStruct(type)) checkFields(type, path);
  else if (typeof type === "object" && type.type === "array") {
    checkType(type.elementType, `${path}.element`, true);
  } else if (typeof type === "object") {
    checkType(type.keyType, `${path}.key`, true);
    checkType(type.valueType, `${path}.value`, true);
  } else if (type === "void" && isInside) {
    throw mismatch(`void inside of an array or map at ${path} cannot be stored`, path);
  }
  const decimal = decimalOf(type);
  if (!decimal) return;
  const { precision, scale } = decimal;
  if (precision < 1 || precision > 38 || scale < 0 || scale > precision)
    throw mismatch(`${type} of ${path} is out of range: precision 1 to 38, scale 0 to precision`, path);
}

function mismatch(message: string, column: string): LabError {
  return new LabError("SCHEMA_MISMATCH", message, { details: { column } });
}
