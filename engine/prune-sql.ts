/** Conditions of SQL as predicates for pruning: what is understood exactly, and `unknown` for everything else. */

import { LabError } from "../core/errors.ts";
import type { Engine } from "./instance.ts";
import { type ColumnOf, columnAt, foldCase, type PruneTable } from "./prune-columns.ts";
import { type ConstantUse, computeConstants, isConstant } from "./prune-constants.ts";
import type { Operator, Predicate, PruneColumn } from "./prune-predicate.ts";
import { agree, type TypedConstant } from "./prune-typing.ts";
import { utf8 } from "./prune-values.ts";
import { isNode, parseSql, type Tree, type TreeNode } from "./sql-tree.ts";

/** An expression of DuckDB's syntax tree, and what names mean in it. */
export type Condition = { node: Tree; columnOf: ColumnOf };

type Comparison = { operator: Operator; isNegated: boolean };
type Reading = { columnOf: ColumnOf; constantOf: (use: ConstantUse) => TypedConstant | undefined };

const UNKNOWN: Predicate = { kind: "unknown" };
const COMPARISONS: Readonly<Record<string, Comparison>> = {
  COMPARE_EQUAL: { operator: "=", isNegated: false },
  COMPARE_NOTEQUAL: { operator: "=", isNegated: true },
  COMPARE_LESSTHAN: { operator: "<", isNegated: false },
  COMPARE_LESSTHANOREQUALTO: { operator: "<=", isNegated: false },
  COMPARE_GREATERTHAN: { operator: "<=", isNegated: true },
  COMPARE_GREATERTHANOREQUALTO: { operator: "<", isNegated: true },
};
/** The same comparison with its sides changed. */
const MIRRORED: Readonly<Record<string, string>> = {
  COMPARE_LESSTHAN: "COMPARE_GREATERTHAN",
  COMPARE_LESSTHANOREQUALTO: "COMPARE_GREATERTHANOREQUALTO",
  COMPARE_GREATERTHAN: "COMPARE_LESSTHAN",
  COMPARE_GREATERTHANOREQUALTO: "COMPARE_LESSTHANOREQUALTO",
};
const STARTS_WITH = new Set(["starts_with", "prefix", "^@"]);

/**
 * The predicate of a condition's text over the columns of `table`, which may be named by `name` too. SQL_ERROR where it cannot be
 * parsed; names are not checked: those of no column are unknown.
 */
export async function predicateOf(
  engine: Engine,
  condition: { sql: string; table: PruneTable; name?: string },
  signal: AbortSignal,
): Promise<Predicate> {
  const { sql, table, name } = condition;
  const parsed = await parseSql(engine, `SELECT 1 WHERE (${sql}\n)`, signal);
  const [statement, another] = (parsed.statements ?? []) as ({ node: TreeNode } & TreeNode)[];
  if (statement === undefined || another !== undefined) {
    const why = String(parsed.error_message ?? "it is more than one");
    throw new LabError("SQL_ERROR", `the condition cannot be parsed: ${why}`, { details: { sql } });
  }
  const columnOf: ColumnOf = (names) =>
    name !== undefined && names.length > 1 && foldCase(names[0]!) === foldCase(name)
      ? columnAt(table, names.slice(1))
      : columnAt(table, names);
  const [predicate] = await predicatesOf(
    engine,
    [{ node: statement.node.where_clause ?? null, columnOf }],
    signal,
  );
  return predicate!;
}

/** The predicate of each condition; one query computes the constants of all. */
export async function predicatesOf(
  engine: Engine,
  conditions: readonly Condition[],
  signal: AbortSignal,
): Promise<Predicate[]> {
  const uses: ConstantUse[] = [];
  const note = (use: ConstantUse) => {
    uses.push(use);
    return undefined;
  };
  for (const { node, columnOf } of conditions) translate(node, { columnOf, constantOf: note });
  const constantOf = await computeConstants(engine, uses, signal);
  return conditions.map(({ node, columnOf }) => translate(node, { columnOf, constantOf }));
}

/** The parts of a condition that must all hold. */
export function conjunctsOf(node: Tree | undefined): TreeNode[] {
  if (!isNode(node)) return [];
  return node.type === "CONJUNCTION_AND" ? (node.children as Tree[]).flatMap(conjunctsOf) : [node];
}

function translate(node: Tree, reading: Reading): Predicate {
  if (!isNode(node)) return UNKNOWN;
  const children = () => node.children as Tree[];
  switch (node.class) {
    case "CONJUNCTION":
      return {
        kind: node.type === "CONJUNCTION_AND" ? "and" : "or",
        parts: children().map((child) => translate(child, reading)),
      };
    case "COMPARISON":
      return comparison(String(node.type), node.left, node.right, reading);
    case "BETWEEN":
      return between(node, reading);
    case "FUNCTION":
      return startsWith(node, reading);
    case "COLUMN_REF": {
      const column = columnFor(node, reading);
      if (column?.type !== "boolean") return UNKNOWN;
      return { kind: "compare", column, operator: "=", constant: { value: 1, isAbove: false } };
    }
  }
  switch (node.type) {
    case "OPERATOR_NOT":
      return negated(translate(children()[0]!, reading));
    case "OPERATOR_IS_NULL":
      return isNull(children()[0], reading);
    case "OPERATOR_IS_NOT_NULL":
      return negated(isNull(children()[0], reading));
    case "COMPARE_IN":
      return oneOf(children(), reading);
    case "COMPARE_NOT_IN":
      return negated(oneOf(children(), reading));
  }
  return UNKNOWN;
}

function comparison(
  type: string,
  left: Tree | undefined,
  right: Tree | undefined,
  reading: Reading,
): Predicate {
  const isTurned = isConstant(left);
  const column = columnFor(isTurned ? right : left, reading);
  const [typed] = constantsFor(column, [isTurned ? left : right], reading) ?? [];
  if (column === undefined || typed === undefined) return UNKNOWN;
  const { constant } = typed;
  if (type === "COMPARE_DISTINCT_FROM") return distinctFrom(column, constant);
  if (type === "COMPARE_NOT_DISTINCT_FROM") return negated(distinctFrom(column, constant));
  const found = COMPARISONS[isTurned ? (MIRRORED[type] ?? type) : type];
  return found === undefined ? UNKNOWN : compared(column, found, constant);
}

function compared(
  column: PruneColumn,
  { operator, isNegated }: Comparison,
  constant: TypedConstant["constant"],
): Predicate {
  const predicate: Predicate = { kind: "compare", column, operator, constant };
  return isNegated ? negated(predicate) : predicate;
}

function distinctFrom(column: PruneColumn, constant: TypedConstant["constant"]): Predicate {
  const isNull: Predicate = { kind: "is-null", column };
  if (constant === null) return negated(isNull);
  return { kind: "or", parts: [isNull, compared(column, COMPARISONS.COMPARE_NOTEQUAL!, constant)] };
}

function between(node: TreeNode, reading: Reading): Predicate {
  const column = columnFor(node.input, reading);
  const [lower, upper] = constantsFor(column, [node.lower, node.upper], reading) ?? [];
  if (column === undefined || lower === undefined || upper === undefined) return UNKNOWN;
  const parts = [
    compared(column, COMPARISONS.COMPARE_GREATERTHANOREQUALTO!, lower.constant),
    compared(column, COMPARISONS.COMPARE_LESSTHANOREQUALTO!, upper.constant),
  ];
  return { kind: "and", parts };
}

function oneOf([first, ...rest]: Tree[], reading: Reading): Predicate {
  const column = columnFor(first, reading);
  const constants = constantsFor(column, rest, reading);
  if (column === undefined || constants === undefined) return UNKNOWN;
  const parts = constants.map(({ constant }) => compared(column, COMPARISONS.COMPARE_EQUAL!, constant));
  return { kind: "or", parts };
}

function isNull(child: Tree | undefined, reading: Reading): Predicate {
  const column = columnFor(child, reading);
  return column === undefined ? UNKNOWN : { kind: "is-null", column };
}

/** LIKE has no escape character unless one is given, and that is another function. */
function startsWith(node: TreeNode, reading: Reading): Predicate {
  const name = String(node.function_name).toLowerCase();
  const isLike = name === "~~" || name === "!~~";
  const [first, second] = node.children as Tree[];
  const column = isLike || STARTS_WITH.has(name) ? columnFor(first, reading) : undefined;
  const [typed] = (column?.type === "string" && constantsFor(column, [second], reading)) || [];
  if (column === undefined || typed?.constant === undefined) return UNKNOWN;
  if (typed.constant === null) return compared(column, COMPARISONS.COMPARE_EQUAL!, null);
  const text = Buffer.from(typed.constant.value as Uint8Array).toString("utf8");
  const wildcard = isLike ? text.search(/[%_]/) : text.length;
  const prefix = utf8(wildcard < 0 ? text : text.slice(0, wildcard))!;
  const predicate: Predicate =
    wildcard < 0
      ? compared(column, COMPARISONS.COMPARE_EQUAL!, typed.constant)
      : { kind: "prefix", column, prefix, isWhole: /^%*$/.test(text.slice(wildcard)) };
  return name === "!~~" ? negated(predicate) : predicate;
}

/** `x IS TRUE` casts x, which changes nothing where it is boolean. */
function columnFor(node: Tree | undefined, { columnOf }: Reading): PruneColumn | undefined {
  if (!isNode(node)) return undefined;
  if (node.class === "COLUMN_REF") return columnOf(node.column_names as string[]);
  if (node.class !== "CAST" || !isNode(node.child) || !isNode(node.cast_type)) return undefined;
  if (node.cast_type.id !== "BOOLEAN" || node.child.class !== "COLUMN_REF") return undefined;
  const column = columnOf(node.child.column_names as string[]);
  return column?.type === "boolean" ? column : undefined;
}

/** All of them as values of the column, or undefined. */
function constantsFor(
  column: PruneColumn | undefined,
  nodes: readonly (Tree | undefined)[],
  { constantOf }: Reading,
): TypedConstant[] | undefined {
  if (column === undefined || !nodes.every(isConstant)) return undefined;
  const typed = nodes.map((node) => constantOf({ node: node as TreeNode, column }));
  const known = typed.filter((one) => one !== undefined);
  return known.length === typed.length && agree(known, column.type) ? known : undefined;
}

function negated(predicate: Predicate): Predicate {
  return predicate.kind === "unknown" ? predicate : { kind: "not", part: predicate };
}
