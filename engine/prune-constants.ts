/** Constants of SQL as values of the column that they are compared with: what is not plain, DuckDB computes and casts. */

import type { DataType } from "../delta/types.ts";
import type { Engine } from "./instance.ts";
import { plainConstant } from "./prune-literals.ts";
import type { PruneColumn } from "./prune-predicate.ts";
import { isLiteral, type TypedConstant, typedConstant } from "./prune-typing.ts";
import { isNode, rowOf, type Tree, type TreeNode } from "./sql-tree.ts";
import { sqlType } from "./sql-types.ts";

/** An expression without columns, and the column it is compared with. */
export type ConstantUse = { node: TreeNode; column: PruneColumn };

/** Functions and operators that give the same for the same arguments, and little of it. */
const FUNCTIONS = new Set(
  `+ - * / // % || trunc to_days to_hours to_minutes to_seconds to_weeks to_months to_years date_trunc make_date
   make_timestamp to_timestamp`.split(/\s+/),
);
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
 * Computes constants, those that are not plain in one query. What has no counterpart in its column's order is left out, and all that is asked
 * of DuckDB is where it cannot compute one: the statement itself will say so.
 */
export async function computeConstants(
  engine: Engine,
  uses: readonly ConstantUse[],
  signal: AbortSignal,
): Promise<(use: ConstantUse) => TypedConstant | undefined> {
  const others = uses.filter(({ node, column }) => plainConstant(node, column.type) === undefined);
  const computed = others.length === 0 ? () => undefined : await askFor(engine, others, signal);
  return (use) => plainConstant(use.node, use.column.type) ?? computed(use);
}

async function askFor(
  engine: Engine,
  uses: readonly ConstantUse[],
  signal: AbortSignal,
): Promise<(use: ConstantUse) => TypedConstant | undefined> {
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
      const own = isLiteral(node) ? "literal" : found[2 * index]!;
      const text = found[2 * index + 1];
      ofNode.set(column.type, text === null ? undefined : typedConstant(column.type, own, text!));
    }
    return ({ node, column }) => typed.get(node)?.get(column.type);
  } catch {
    signal.throwIfAborted();
    return () => undefined;
  }
}

/** DuckDB gives a bare text the type of what it is compared with; anything else keeps its own, or is cast to the column's float. */
function cast(name: string, node: TreeNode, type: DataType): string {
  if (type === "double") return `TRY_CAST(${name} AS DOUBLE)`;
  if (type === "float") {
    return `CASE typeof(${name}) WHEN 'DOUBLE' THEN TRY_CAST(${name} AS DOUBLE) ELSE TRY_CAST(TRY_CAST(${name} AS FLOAT) AS DOUBLE) END`;
  }
  return isLiteral(node) && type !== "string" ? `TRY_CAST(${name} AS ${sqlType(type)})` : name;
}
