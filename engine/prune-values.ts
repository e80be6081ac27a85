/** Values of a column as pruning compares them: in DuckDB's order, without a digit lost. */

import { parseValue, type TypedValue } from "../delta/partition-value.ts";
import { decimalOf } from "../delta/schema.ts";
import type { DataType } from "../delta/types.ts";

/**
 * byte to long: the number; decimal: its digits without the point; date, timestamp and timestamp_ntz: microseconds, so that they compare with
 * each other; float and double: number; boolean: 0 or 1; string: its UTF-8.
 */
export type Comparable = bigint | number | Uint8Array;

/** What a column is compared with. One that stands between two values of the column is `isAbove` the lower of them. */
export type Constant = { value: Comparable; isAbove: boolean };

const DAY_MICROS = 86_400_000_000n;

/** Undefined for types without an order here (binary, nested ones, void), and for a text that is no value of its type. */
export function comparableOf(type: DataType, text: string): Comparable | undefined {
  const value = parseValue(type, text);
  return value === undefined ? undefined : typed(type, value);
}

function typed(type: DataType, value: TypedValue): Comparable | undefined {
  const decimal = decimalOf(type);
  if (decimal) return BigInt(String(value).replace(".", ""));
  switch (type) {
    case "byte":
    case "short":
    case "integer":
    case "long":
      return BigInt(value as number | bigint);
    case "float":
      return Math.fround(value as number);
    case "double":
      return value as number;
    case "boolean":
      return Number(value);
    case "date":
      return BigInt(value as number) * DAY_MICROS;
    case "timestamp":
    case "timestamp_ntz":
      return value as bigint;
    case "string":
      return utf8(value as string);
  }
  return undefined;
}

/** Undefined for text with half a surrogate pair: it has no UTF-8, so no place in the order. */
export function utf8(text: string): Uint8Array | undefined {
  return /\p{Surrogate}/u.test(text) ? undefined : Buffer.from(text, "utf8");
}

/**
 * Negative, zero or positive. A whole number is rounded to compare with a double, as DuckDB casts it; NaN equals itself and is above
 * all else.
 */
export function compare(value: Comparable, constant: Constant): number {
  const { value: other, isAbove } = constant;
  if (typeof other === "number") return compareNumbers(Number(value), other);
  if (other instanceof Uint8Array) return Buffer.compare(value as Uint8Array, other);
  const whole = value as bigint;
  return whole < other ? -1 : whole > other ? 1 : isAbove ? -1 : 0;
}

function compareNumbers(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return a < b ? -1 : a > b ? 1 : 0;
}
