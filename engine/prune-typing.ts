/** How a column and a constant are compared, by their types: which values of the column a constant stands among. Pure. */

import { decimalText } from "../delta/decimal.ts";
import { decimalOf } from "../delta/schema.ts";
import type { DataType } from "../delta/types.ts";
import { type Constant, comparableOf, utf8 } from "./prune-values.ts";
import { isNode, type TreeNode } from "./sql-tree.ts";

/** What a constant is to a column. */
export type TypedConstant = {
  /** Null for NULL. */
  constant: Constant | null;
  /** The type it has by itself: two of one family are compared with a column in the same way. */
  family: string;
  /** Digits before and after the point, for whole numbers and decimals. */
  digits: { whole: number; fraction: number } | undefined;
};

/** Digits of DuckDB's widest decimal: comparisons that need more are not exact there. */
const MAX_DIGITS = 38;
const WHOLE_DIGITS: Readonly<Record<string, number>> = {
  byte: 3,
  short: 5,
  integer: 10,
  long: 19,
  TINYINT: 3,
  SMALLINT: 5,
  INTEGER: 10,
  BIGINT: 19,
  HUGEINT: 39,
};
const COMPARED_AS_TIME = new Set(["DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"]);
export const NULL_CONSTANT: TypedConstant = { constant: null, family: "NULL", digits: undefined };

/** Whether DuckDB compares a column with all of these in the way it would with each alone. */
export function agree(constants: readonly TypedConstant[], type: DataType): boolean {
  const proper = constants.filter(({ family }) => family !== NULL_CONSTANT.family);
  if (new Set(proper.map(({ family, digits }) => (digits ? "digits" : family))).size > 1) return false;
  if (type === "float" || type === "double" || proper.every(({ digits }) => !digits)) return true;
  const all = [digitsOf(type), ...proper.map(({ digits }) => digits)].filter(
    (digits) => digits !== undefined,
  );
  if (all.every(({ fraction }) => fraction === 0) && decimalOf(type) === undefined) return true;
  const most = (part: "whole" | "fraction") => Math.max(...all.map((digits) => digits[part]));
  return most("whole") + most("fraction") <= MAX_DIGITS;
}

/** A bare text, which has the type of what it is compared with. */
export function isLiteral(node: TreeNode): boolean {
  if (node.class !== "CONSTANT" || !isNode(node.value)) return false;
  return isNode(node.value.type) && node.value.type.id === "VARCHAR";
}

/** The constant of a type, as DuckDB names it or `literal`, and a text in DuckDB's spelling. Undefined where the two are not compared exactly. */
export function typedConstant(type: DataType, family: string, text: string): TypedConstant | undefined {
  const constant = constantOf(type, family, text);
  return constant && { constant, family, digits: digitsOf(family) };
}

function constantOf(type: DataType, family: string, text: string): Constant | undefined {
  const isNumber = digitsOf(family) !== undefined;
  switch (type) {
    case "string":
      return family === "literal" || family === "VARCHAR" ? exact(utf8(text)) : undefined;
    case "boolean":
      return family === "literal" || family === "BOOLEAN" ? exact(comparableOf(type, text)) : undefined;
    case "float":
    case "double":
      return isNumber || ["literal", "DOUBLE", "FLOAT"].includes(family) ? exact(double(text)) : undefined;
    case "date":
    case "timestamp":
    case "timestamp_ntz":
      if (family === "literal") return exact(comparableOf(type, text));
      if (!COMPARED_AS_TIME.has(family)) return undefined;
      return exact(comparableOf(family === "DATE" ? "date" : "timestamp", text));
  }
  const fraction = digitsOf(type)?.fraction;
  if (fraction === undefined) return undefined;
  if (family === "DOUBLE") return decimalOf(type) ? undefined : exact(double(text));
  return isNumber || family === "literal" ? onGrid(text, fraction) : undefined;
}

function exact(value: Constant["value"] | undefined): Constant | undefined {
  return value === undefined ? undefined : { value, isAbove: false };
}

/** As DuckDB writes it; NaN is left to it. */
function double(text: string): number | undefined {
  const value = text === "inf" || text === "-inf" ? Number(text.replace("inf", "Infinity")) : Number(text);
  return Number.isNaN(value) ? undefined : value;
}

/** A plain decimal among the numbers with so many digits after the point. */
function onGrid(text: string, fraction: number): Constant | undefined {
  const own = (text.split(".")[1] ?? "").length;
  const digits = decimalText(text, Math.max(own, fraction));
  if (digits === undefined) return undefined;
  const unscaled = BigInt(digits.replace(".", ""));
  const step = 10n ** BigInt(Math.max(own - fraction, 0));
  const rest = ((unscaled % step) + step) % step;
  return { value: (unscaled - rest) / step, isAbove: rest !== 0n };
}

/** Of a Delta type or one as DuckDB names it; undefined for what is no whole number or decimal. */
function digitsOf(type: DataType | string): { whole: number; fraction: number } | undefined {
  if (typeof type !== "string") return undefined;
  const whole = WHOLE_DIGITS[type];
  if (whole !== undefined) return { whole, fraction: 0 };
  const found = /^decimal\((\d+),\s*(\d+)\)$/i.exec(type);
  return found ? { whole: Number(found[1]) - Number(found[2]), fraction: Number(found[2]) } : undefined;
}
