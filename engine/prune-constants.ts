/** Constants of SQL as values of the column that they are compared with. DuckDB computes and casts them, so nothing is guessed. */

import { decimalText } from "../delta/decimal.ts";
import { decimalOf } from "../delta/schema.ts";
import type { DataType } from "../delta/types.ts";
import type { Engine } from "./instance.ts";
import type { PruneColumn } from "./prune-predicate.ts";
import { type Constant, comparableOf, utf8 } from "./prune-values.ts";
import { isNode, rowOf, type Tree, type TreeNode } from "./sql-tree.ts";
import { sqlType } from "./sql-types.ts";

/** What a constant is to a column. */
export type TypedConstant = {
  /** Null for NULL. */
  constant: Constant | null;
  /** The type it has by itself: two of one family are compared with a column in the same way. */
  family: string;
  /** Digits before and after the point, for whole numbers and decimals. */
  digits: { whole: number; fraction: number } | undefined;
};

/** An expression without columns, and the column it is compared with. */
export type ConstantUse = { node: TreeNode; column: PruneColumn };

/** Functions and operators that give the same for the same arguments, and little of it. */
const FUNCTIONS = new Set(
  `+ - * / // % || trunc to_days to_hours to_minutes to_seconds to_weeks to_months to_years date_trunc make_date
   make_timestamp to_timestamp`.split(/\s+/),
);
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
const NULL: TypedConstant = { constant: null, family: "NULL", digits: undefined };

/** Whether an expression is made of constants alone, and may be computed ahead. */
export function isConstant(node: Tree | undefined): node is TreeNode {
  if (!isNode(node)) return false;
  if (node.class === "CONSTANT") return true;
  if (node.class === "CAST") return isConstant(node.child);
  return (
    node.class === "FUNCTION" &&
    FUNCTIONS.has(String(node.function_name).toLowerCase()) &&
    (node.children as Tree[]).every(isConstant)
  );
}

/**
 * Computes constants in one query. What has no counterpart in its column's order is left out, and all is where DuckDB cannot compute one: the
 * statement itself will say so.
 */
export async function computeConstants(
  engine: Engine,
  uses: readonly ConstantUse[],
  signal: AbortSignal,
): Promise<(use: ConstantUse) => TypedConstant | undefined> {
  if (uses.length === 0) return () => undefined;
  const places = new Map<TreeNode, number>();
  for (const { node } of uses) if (!places.has(node)) places.set(node, places.size);
  const outputs = uses.map(({ node, column }) => {
    const name = `c${places.get(node)}`;
    return `typeof(${name}), CAST(${cast(name, node, column.type)} AS VARCHAR)`;
  });
  try {
    const constants = await rowOf(engine, [...places.keys()], signal);
    const names = [...places.values()].map((place) => `c${place}`);
    const [row] = await engine.rows(
      `SELECT [${outputs.join(", ")}] AS found FROM ${constants} AS x(${names.join(", ")})`,
      { signal },
    );
    const found = row!.found as (string | null)[];
    const typed = new Map<TreeNode, Map<DataType, TypedConstant | undefined>>();
    for (const [index, { node, column }] of uses.entries()) {
      const ofNode = typed.get(node) ?? new Map<DataType, TypedConstant | undefined>();
      typed.set(node, ofNode);
      ofNode.set(column.type, typedConstant(column.type, node, found[2 * index]!, found[2 * index + 1]!));
    }
    return ({ node, column }) => typed.get(node)?.get(column.type);
  } catch {
    signal.throwIfAborted();
    return () => undefined;
  }
}

/** Whether DuckDB compares a column with all of these in the way it would with each alone. */
export function agree(constants: readonly TypedConstant[], type: DataType): boolean {
  const proper = constants.filter(({ family }) => family !== NULL.family);
  if (new Set(proper.map(({ family, digits }) => (digits ? "digits" : family))).size > 1) return false;
  if (type === "float" || type === "double" || proper.every(({ digits }) => !digits)) return true;
  const all = [digitsOf(type), ...proper.map(({ digits }) => digits)].filter(
    (digits) => digits !== undefined,
  );
  if (all.every(({ fraction }) => fraction === 0) && decimalOf(type) === undefined) return true;
  const most = (part: "whole" | "fraction") => Math.max(...all.map((digits) => digits[part]));
  return most("whole") + most("fraction") <= MAX_DIGITS;
}

/** DuckDB gives a bare text the type of what it is compared with; anything else keeps its own, or is cast to the column's float. */
function cast(name: string, node: TreeNode, type: DataType): string {
  if (type === "double") return `TRY_CAST(${name} AS DOUBLE)`;
  if (type === "float") {
    return `CASE typeof(${name}) WHEN 'DOUBLE' THEN TRY_CAST(${name} AS DOUBLE) ELSE TRY_CAST(TRY_CAST(${name} AS FLOAT) AS DOUBLE) END`;
  }
  return isLiteral(node) && type !== "string" ? `TRY_CAST(${name} AS ${sqlType(type)})` : name;
}

function isLiteral(node: TreeNode): boolean {
  if (node.class !== "CONSTANT" || !isNode(node.value)) return false;
  return isNode(node.value.type) && node.value.type.id === "VARCHAR";
}

function typedConstant(
  type: DataType,
  node: TreeNode,
  own: string,
  text: string | null,
): TypedConstant | undefined {
  if (isNode(node.value) && node.value.is_null === true) return NULL;
  const family = isLiteral(node) ? "literal" : own;
  const constant = text === null ? undefined : constantOf(type, family, text);
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
