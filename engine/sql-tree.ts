/** SQL as the syntax tree that DuckDB's `json_serialize_sql` gives, and back. */

import { LosslessNumber, parse, stringify } from "lossless-json";
import { LabError } from "../core/errors.ts";
import { type Engine, quoteText } from "./instance.ts";

/** Numbers are kept as text: places in the tree are 64 bits wide, and so may constants be. */
export type Tree = null | boolean | string | LosslessNumber | Tree[] | TreeNode;
export type TreeNode = { [key: string]: Tree };

/** `error: true` and why, or `statements`. Nothing is bound: names need not exist. SQL_ERROR for the character 0, at which DuckDB would stop to read. */
export async function parseSql(engine: Engine, sql: string, signal: AbortSignal): Promise<TreeNode> {
  const position = sql.indexOf("\0");
  if (position >= 0)
    throw new LabError("SQL_ERROR", "a statement cannot hold the character 0", {
      hint: "write it as chr(0)",
      details: { position },
    });
  return readTree(await engine.ask("SELECT json_serialize_sql($1::VARCHAR)", sql, { signal }));
}

/** The statement of a tree as `parseSql` gives it, with constants of the same types. */
export async function printSql(engine: Engine, tree: Tree, signal: AbortSignal): Promise<string> {
  const text = quoteText(writeTree(withExactDoubles(tree)));
  const [row] = await engine.rows(`SELECT json_deserialize_sql(${text}) AS text`, { signal });
  return String(row!.text);
}

/** What stands in FROM for a row of expressions that name no table. */
export async function rowOf(
  engine: Engine,
  expressions: readonly TreeNode[],
  signal: AbortSignal,
): Promise<string> {
  const template = await parseSql(engine, "SELECT 1", signal);
  const [statement] = template.statements as [{ node: TreeNode } & TreeNode];
  statement.node.select_list = expressions.map((expression) => ({ ...expression, alias: "" }));
  return `json_execute_serialized_sql(${quoteText(writeTree(template))})`;
}

function readTree(json: string): TreeNode {
  return parse(json) as TreeNode;
}

function writeTree(tree: Tree): string {
  return stringify(tree) as string;
}

export function isNode(tree: Tree | undefined): tree is TreeNode {
  return (
    typeof tree === "object" && tree !== null && !Array.isArray(tree) && !(tree instanceof LosslessNumber)
  );
}

/** DuckDB prints `1e0` as `1.0`, which it reads back as a decimal. */
function withExactDoubles(tree: Tree): Tree {
  if (Array.isArray(tree)) return tree.map(withExactDoubles);
  if (!isNode(tree)) return tree;
  const { value } = tree;
  if (tree.class === "CONSTANT" && isNode(value) && isNode(value.type) && value.type.id === "DOUBLE") {
    const type: TreeNode = { id: "VARCHAR", type_info: null };
    const text: TreeNode = { type, is_null: false, value: String(value.value) };
    const child: TreeNode = { ...tree, alias: "", value: text };
    const { value: _, ...place } = tree;
    return { ...place, class: "CAST", type: "OPERATOR_CAST", child, cast_type: value.type, try_cast: false };
  }
  return Object.fromEntries(Object.entries(tree).map(([key, child]) => [key, withExactDoubles(child)]));
}
