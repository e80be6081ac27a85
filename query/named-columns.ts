/** What of a statement can be seen before it runs: which columns it may mean, whether tables may stand before it as a WITH, whether it gives one row. */

import { foldCase } from "../engine/prune-columns.ts";
import { isNode, type Tree, type TreeNode } from "../engine/sql-tree.ts";
import { isRelation, leavesTraces, visit } from "./syntax-tree.ts";

/** What is true of a statement whatever its constants are. */
export type Traits = {
  /** See `leavesTraces`. */
  leavesTraces: boolean;
  /** See `givesOneRow`. */
  isOneRow: boolean;
  /** See `mayFollowWith`. */
  mayFollowWith: boolean;
};

export function traitsOf(tree: TreeNode): Traits {
  return {
    leavesTraces: leavesTraces(tree),
    isOneRow: givesOneRow(tree),
    mayFollowWith: mayFollowWith(tree),
  };
}

/** What may stand in a query that a WITH is put before: nothing that has its own names for tables, or asks for a table as such. */
const PLAIN = new Set(
  `SELECT_NODE SET_OPERATION_NODE BASE_TABLE SUBQUERY JOIN TABLE_FUNCTION EMPTY EXPRESSION_LIST
   ORDER_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER DISTINCT_MODIFIER`.split(/\s+/),
);
const PARTS = /^ORDER_(DEFAULT|ASCENDING|DESCENDING)$|^(ASCENDING|DESCENDING)$|_TYPE_INFO$/;

/** Whether the text of a statement may follow `WITH name AS (...)`, which gives the name to a table in all of it. */
export function mayFollowWith(tree: Tree): boolean {
  let isPlain = true;
  visit(tree, (node) => {
    if (isNode(node.cte_map) && (node.cte_map.map as Tree[]).length > 0) isPlain = false;
    if (isRelation(node) && !PLAIN.has(String(node.type)) && !PARTS.test(String(node.type))) isPlain = false;
  });
  return isPlain;
}

/**
 * Each name that stands anywhere in a statement, with the case of letters folded: no other column of a table is looked at. Undefined where all
 * may be, as by `*`, by the name of a table that stands for its rows, and by a join that finds the columns itself.
 */
export function namesIn(tree: Tree): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  const tables = new Set<string>();
  const alone = new Set<string>();
  let isAll = false;
  visit(tree, (node) => {
    const renamed = node.column_name_alias as Tree[] | undefined;
    if (node.class === "STAR" || node.ref_type === "NATURAL" || (renamed?.length ?? 0) > 0) isAll = true;
    if (isRelation(node))
      for (const name of [node.alias, node.table_name]) tables.add(foldCase(String(name)));
    if (node.class === "COLUMN_REF") {
      const [name = "", ...more] = node.column_names as string[];
      if (more.length === 0) alone.add(foldCase(name));
    }
    // Kinds of nodes are words of the parser.
    for (const key in node) if (key !== "class" && key !== "type") collect(node[key], names);
  });
  return isAll || [...alone].some((name) => tables.has(name)) ? undefined : names;
}

/** Of each group they give one value; there are more of them, which are not known here. */
const AGGREGATES = new Set(["count", "count_star", "sum", "avg", "min", "max"]);

/** Whether a statement surely gives one row or none: it aggregates all that it reads. */
export function givesOneRow(tree: TreeNode): boolean {
  const [statement] = (tree.statements ?? []) as TreeNode[];
  const node = statement?.node;
  if (!isNode(node) || node.type !== "SELECT_NODE" || node.aggregate_handling !== "STANDARD_HANDLING")
    return false;
  const isGrouped = [node.group_expressions, node.group_sets].some((part) => (part as Tree[]).length > 0);
  return !isGrouped && (node.select_list as Tree[]).every(aggregates);
}

/** Through casts, which give one value for each. */
function aggregates(tree: Tree | undefined): boolean {
  if (!isNode(tree)) return false;
  if (tree.class === "CAST") return aggregates(tree.child);
  return tree.class === "FUNCTION" && AGGREGATES.has(String(tree.function_name).toLowerCase());
}

function collect(value: Tree | undefined, names: Set<string>): void {
  if (typeof value === "string") names.add(foldCase(value));
  else if (Array.isArray(value)) for (const item of value) collect(item, names);
}
