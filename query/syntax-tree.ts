/** The syntax tree of a statement: which tables it names, and what is put in their place. */

import { LosslessNumber } from "lossless-json";
import { LabError } from "../core/errors.ts";
import { isNode, type Tree, type TreeNode } from "../engine/sql-tree.ts";

/** A table of the catalog that a statement names; what its own WITH defines is none. */
export type TableUse = {
  /** As written, without schema and catalog. */
  name: string;
  /** What stands before the name, outermost first; empty for a bare name. */
  qualifiers: readonly string[];
  /** The AT clause, where there is one. */
  at: { unit: string; expression: TreeNode } | undefined;
  /** Byte position in the statement, undefined where the parser keeps none. */
  position: number | undefined;
  node: TreeNode;
};

/** Whether a node stands in FROM or is a whole query: expressions have a class, these do not. */
export function isRelation(node: TreeNode): boolean {
  return typeof node.type === "string" && node.class === undefined;
}

/** Every node once, parents first, with the names that WITH gives a meaning at its place (lower case). */
export function visit(tree: Tree, see: (node: TreeNode, scope: ReadonlySet<string>) => void): void {
  walk(tree, new Set(), see);
}

function walk(
  tree: Tree,
  scope: ReadonlySet<string>,
  see: (node: TreeNode, scope: ReadonlySet<string>) => void,
): void {
  if (Array.isArray(tree)) {
    for (const item of tree) walk(item, scope, see);
    return;
  }
  if (!isNode(tree)) return;
  see(tree, scope);
  let inner = scope;
  if (isNode(tree.cte_map)) {
    for (const entry of tree.cte_map.map as TreeNode[]) {
      const name = String(entry.key).toLowerCase();
      const definition = entry.value as TreeNode;
      // Only a recursive one sees itself; a plain one of a table's name reads that table.
      const query = definition.query as TreeNode;
      const isRecursive = isNode(query.node) && query.node.type === "RECURSIVE_CTE_NODE";
      walk(definition, isRecursive ? new Set([...inner, name]) : inner, see);
      inner = new Set([...inner, name]);
    }
  }
  // Most members are plain values, and the tree is walked several times for each statement.
  for (const key in tree) {
    const child = tree[key];
    if (typeof child === "object" && child !== null && key !== "cte_map") walk(child, inner, see);
  }
}

/** The tables that a statement reads, in the order in which it names them. */
export function tableUses(tree: Tree): TableUse[] {
  const uses: TableUse[] = [];
  visit(tree, (node, scope) => {
    if (node.type !== "BASE_TABLE" || !isRelation(node)) return;
    const name = String(node.table_name);
    const qualifiers = [node.catalog_name, node.schema_name].filter((part) => part !== "").map(String);
    const at = isNode(node.at_clause)
      ? { unit: String(node.at_clause.unit), expression: node.at_clause.expr as TreeNode }
      : undefined;
    if (qualifiers.length === 0 && at === undefined && scope.has(name.toLowerCase())) return;
    uses.push({ name, qualifiers, at, position: positionOf(node), node });
  });
  return uses;
}

/** Lets a use read the relation `view` instead, under the name that the statement knows it by. */
export function redirect(use: TableUse, view: string): void {
  if (use.node.alias === "") use.node.alias = use.name;
  use.node.at_clause = null;
  use.node.table_name = view;
  use.node.schema_name = "";
  use.node.catalog_name = "";
}

/** Byte position of a node; undefined where the parser keeps none (it says 2^64 - 1 then). */
export function positionOf(node: TreeNode): number | undefined {
  const at = node.query_location;
  if (!(at instanceof LosslessNumber)) return undefined;
  const position = Number(at.value);
  return Number.isSafeInteger(position) ? position : undefined;
}

/**
 * Finds in `original` the counterpart of the first node that stands at byte `position` in `edited`. Both come from one statement,
 * whose tables alone differ.
 */
export function counterpart(edited: Tree, original: Tree, position: number): number | undefined {
  if (Array.isArray(edited)) {
    if (!Array.isArray(original)) return undefined;
    for (const [index, item] of edited.entries()) {
      const found = counterpart(item, original[index] ?? null, position);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isNode(edited) || !isNode(original)) return undefined;
  if (positionOf(edited) === position) return positionOf(original);
  for (const [key, child] of Object.entries(edited)) {
    const found = counterpart(child, original[key] ?? null, position);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** What may stand in FROM, or be a query or one of its parts, in a statement from the network. */
const RELATIONS = new Set(
  `SELECT_NODE SET_OPERATION_NODE RECURSIVE_CTE_NODE CTE_NODE BASE_TABLE SUBQUERY JOIN TABLE_FUNCTION EMPTY EXPRESSION_LIST PIVOT
   SHOW_REF ORDER_MODIFIER LIMIT_MODIFIER LIMIT_PERCENT_MODIFIER DISTINCT_MODIFIER`.split(/\s+/),
);
const PARTS = /^ORDER_(DEFAULT|ASCENDING|DESCENDING)$|^(ASCENDING|DESCENDING)$|_TYPE_INFO$/;
const TABLE_FUNCTIONS = new Set(["range", "generate_series", "unnest"]);
/** Functions that tell of this machine or leave a mark, rather than compute. */
const REFUSED_FUNCTIONS = new Set(
  "getvariable getenv current_setting set_config write_log nextval currval pg_get_viewdef sleep_ms pg_sleep".split(
    " ",
  ),
);

/**
 * Lets a statement from the network pass only if it reads nothing but tables by bare names, what it defines itself, and table
 * functions that compute. Throws SQL_REFUSED with what stands in the way.
 */
export function checkUntrusted(tree: Tree): void {
  visit(tree, (node) => {
    if (node.class === "FUNCTION") {
      const name = String(node.function_name).toLowerCase();
      if (REFUSED_FUNCTIONS.has(name)) throw refused(`the function ${name}`, node);
      return;
    }
    if (!isRelation(node)) return;
    const type = String(node.type);
    if (!RELATIONS.has(type) && !PARTS.test(type))
      throw refused(type.toLowerCase().replaceAll("_", " "), node);
    if (type === "TABLE_FUNCTION") {
      const call = node.function as TreeNode;
      const name = String(call.function_name).toLowerCase();
      if (call.class !== "FUNCTION" || !TABLE_FUNCTIONS.has(name))
        throw refused(`the table function ${name}`, node);
    }
    if (type === "SHOW_REF" && !isNode(node.query)) throw refused(`SHOW ${String(node.table_name)}`, node);
    if (type === "BASE_TABLE" && (node.schema_name !== "" || node.catalog_name !== "")) {
      throw refused(`the table ${String(node.schema_name)}.${String(node.table_name)}`, node);
    }
  });
}

/** Functions that change what later statements in the same DuckDB give. A statement from the network has one to itself. */
const SETTING_FUNCTIONS = new Set(["setseed"]);

/** Whether a statement calls something that may be more than a computation: then nothing else may share its DuckDB. */
export function leavesTraces(tree: Tree): boolean {
  try {
    checkUntrusted(tree);
  } catch {
    return true;
  }
  let sets = false;
  visit(tree, (node) => {
    if (node.class === "FUNCTION" && SETTING_FUNCTIONS.has(String(node.function_name).toLowerCase()))
      sets = true;
  });
  return sets;
}

function refused(what: string, node: TreeNode): LabError {
  return new LabError("SQL_REFUSED", `${what} may not be used here`, {
    hint: "read tables of the store by name; range, generate_series and unnest are fine too",
    details: { bytePosition: positionOf(node) },
  });
}
