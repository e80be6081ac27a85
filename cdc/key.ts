/** Which row a change is of: the values of its key columns, as one text that is the same for the same key. */

import type { Fault } from "../engine/json-exact.ts";
import { exactDecimal } from "../engine/json-number.ts";
import { JsonNumber, type JsonObject, type JsonValue } from "../engine/json-parse.ts";
import { emptyObject, writeJson } from "./json-text.ts";

/**
 * The key of a row, or why it has none: a key column is missing or null. Numbers are the same whatever they are written as (`7`, `7.0`), and
 * never the same as a text.
 */
export function keyText(row: JsonObject, columns: readonly string[]): { key: string } | { bad: Fault } {
  const values: string[] = [];
  for (const column of columns) {
    const value = Object.hasOwn(row, column) ? row[column]! : null;
    if (value === null)
      return {
        bad: {
          stage: "schema",
          code: "CDC_KEY_MISSING",
          message: `${column} is a column of the key, and ${Object.hasOwn(row, column) ? "null" : "not there"}`,
        },
      };
    values.push(canonical(value));
  }
  return { key: `[${values.join(",")}]` };
}

function canonical(value: JsonValue): string {
  if (!(value instanceof JsonNumber)) return writeJson(value);
  if (/^(0|-?[1-9]\d*)$/.test(value.text)) return value.text;
  const { isNegative, digits, exponent } = exactDecimal(value.text);
  if (/^0*$/.test(digits)) return "0";
  if (exponent < 0 || exponent > 40) return `${isNegative ? "-" : ""}${digits}e${exponent}`;
  return `${isNegative ? "-" : ""}${digits}${"0".repeat(exponent)}`;
}

/** The key columns of a row and nothing else, for a delete. */
export function keyColumnsOf(row: JsonObject, columns: readonly string[]): JsonObject {
  const key = emptyObject();
  for (const column of columns) key[column] = row[column]!;
  return key;
}
