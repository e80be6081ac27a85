/** The types of Spark SQL: of numbers as they are written, and by their names in casts. */

import type { DataType } from "../delta/types.ts";
import { Untranslatable } from "./spark-lexer.ts";

/** What a value may be cast to; decimals have digits, too. */
export const CAST_TYPES: Readonly<Record<string, DataType>> = {
  boolean: "boolean",
  tinyint: "byte",
  byte: "byte",
  smallint: "short",
  short: "short",
  int: "integer",
  integer: "integer",
  bigint: "long",
  long: "long",
  float: "float",
  real: "float",
  double: "double",
  date: "date",
  timestamp_ntz: "timestamp_ntz",
  string: "string",
};
const INTEGERS: readonly (readonly [type: DataType, most: bigint])[] = [
  ["integer", 2_147_483_647n],
  ["long", 9_223_372_036_854_775_807n],
];
const SUFFIXES: Readonly<Record<string, DataType>> = {
  Y: "byte",
  S: "short",
  L: "long",
  F: "float",
  D: "double",
};
/** Of a number with its sign; `suffix` as in `Token`. Untranslatable where no type holds it. */
export function numberType(text: string, suffix: string): DataType {
  if (suffix === "BD") return decimalFor(text);
  const suffixed = SUFFIXES[suffix];
  if (suffixed !== undefined) return suffixed;
  if (/e/i.test(text)) return "double";
  if (text.includes(".")) return decimalFor(text);
  const value = BigInt(text);
  const type = INTEGERS.find(([, most]) => value <= most && value >= -most - 1n)?.[0];
  return type ?? decimalFor(text);
}

/** Spark's type of a number with these digits. */
function decimalFor(text: string): DataType {
  const [whole = "", fraction = ""] = text.replace(/^-/, "").split(".");
  const integral = whole.replace(/^0+/, "");
  const precision = Math.max(integral.length + fraction.length, fraction.length, 1);
  if (precision > 38 || /e/i.test(text)) throw new Untranslatable(`the number ${text}`);
  return `decimal(${precision},${fraction.length})`;
}
