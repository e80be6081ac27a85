/** Which values of Spark's types can be brought together in DuckDB so that the outcome is the same, and how. */

import { decimalOf } from "../delta/schema.ts";
import type { DataType } from "../delta/types.ts";
import { quoteText } from "./instance.ts";
import { Untranslatable } from "./spark-lexer.ts";
import { sqlType } from "./sql-types.ts";

/** A part of an expression as DuckDB's SQL, and its type in Spark. */
export type Typed = {
  sql: string;
  type: DataType;
  /** The text of a constant: a number or a string. */
  constant?: string;
};

/** `compare`: only the order of the values counts, so that any exact common type does. `value`: the type is seen by what follows. */
export type Use = "compare" | "value";

/** Smallest first; digits are those of the decimal that Spark turns it into. */
const INTEGRALS: readonly (readonly [type: DataType, digits: number])[] = [
  ["byte", 3],
  ["short", 5],
  ["integer", 10],
  ["long", 20],
];
/** Whole numbers up to this are the same as a float. */
const FLOAT_WHOLE = 1n << 24n;
/** Decimals of so many digits become the nearest double in every engine. */
const DOUBLE_DIGITS = 15;
const MOST_DIGITS = 38;

export function isIntegral(type: DataType): boolean {
  return INTEGRALS.some(([name]) => name === type);
}

export function isDecimal(type: DataType): boolean {
  return decimalOf(type) !== undefined;
}

export function isNumeric(type: DataType): boolean {
  return isIntegral(type) || isDecimal(type) || type === "float" || type === "double";
}

/** The value as SQL of `type`, which `commonType` gave for it, or a type that holds all of its own. */
export function converted(value: Typed, type: DataType): string {
  const target = sqlType(type);
  if (value.type === "void") return `CAST(NULL AS ${target})`;
  if (value.constant !== undefined) return `CAST(${quoteText(value.constant)} AS ${target})`;
  return value.type === type ? value.sql : `CAST(${value.sql} AS ${target})`;
}

/** The type in which all of the values are exact and compare as in Spark. Untranslatable where engines or their settings differ. */
export function commonType(values: readonly Typed[], use: Use): DataType {
  return values
    .slice(1)
    .reduce<Typed>((sum, value) => (sum.type === "void" ? value : joined(sum, value, use)), values[0]!).type;
}

function joined(a: Typed, b: Typed, use: Use): Typed {
  const type = b.type === "void" ? a.type : (pairType(a, b, use) ?? pairType(b, a, use));
  if (type === undefined)
    throw new Untranslatable(
      `${typeName(a.type)} beside ${typeName(b.type)}: engines convert them in different ways`,
    );
  return b.type === "void" ? a : { sql: "", type };
}

function pairType(a: Typed, b: Typed, use: Use): DataType | undefined {
  if (a.type === b.type) return a.type;
  if (isIntegral(a.type) && isIntegral(b.type)) return rank(a.type) >= rank(b.type) ? a.type : b.type;
  if (isDecimal(a.type) && (isDecimal(b.type) || isIntegral(b.type)))
    return widerDecimal(digitsOf(a, use), digitsOf(b, use));
  if (a.type === "double") return isExactDouble(b) ? "double" : undefined;
  if (a.type === "float" && isDecimal(b.type)) return isExactDouble(b) ? "double" : undefined;
  if (a.type === "float" && isIntegral(b.type) && use === "compare" && b.constant !== undefined)
    return magnitude(b.constant) <= FLOAT_WHOLE ? "float" : undefined;
  if (a.type === "date" && b.type === "string" && use === "compare")
    return isDay(b.constant) ? "date" : undefined;
  return undefined;
}

/** Whether the value becomes the same double in both engines. */
export function isExactDouble(value: Typed): boolean {
  const decimal = decimalOf(value.type);
  if (decimal) return value.constant !== undefined || decimal.precision <= DOUBLE_DIGITS;
  return isNumeric(value.type);
}

export type Digits = { precision: number; scale: number };

/** A number as the decimal that Spark takes it for; a constant is as wide as its digits where types are not seen afterwards. */
export function digitsOf(value: Typed, use: Use): Digits {
  const decimal = decimalOf(value.type);
  if (decimal) return decimal;
  if (value.constant !== undefined && use === "compare")
    return { precision: value.constant.replace(/^-?0*(?=\d)/, "").length, scale: 0 };
  return { precision: INTEGRALS.find(([name]) => name === value.type)![1], scale: 0 };
}

function widerDecimal(a: Digits, b: Digits): DataType {
  const scale = Math.max(a.scale, b.scale);
  return decimalType({ precision: Math.max(a.precision - a.scale, b.precision - b.scale) + scale, scale });
}

/** Untranslatable beyond 38 digits: Spark drops some then. */
export function decimalType({ precision, scale }: Digits): DataType {
  if (precision > MOST_DIGITS) throw new Untranslatable(`a decimal of ${precision} digits`);
  return `decimal(${precision},${scale})`;
}

/** A date that all engines read alike. */
export function isDay(text: string | undefined): text is string {
  if (text === undefined || !/^[1-9]\d{3}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

export function typeName(type: DataType): string {
  return typeof type === "string" ? type : type.type;
}

function rank(type: DataType): number {
  return INTEGRALS.findIndex(([name]) => name === type);
}

function magnitude(text: string): bigint {
  const value = BigInt(text);
  return value < 0n ? -value : value;
}
