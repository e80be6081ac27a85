/** Whether SQL is row-local: each row becomes the same rows, whatever stands beside it and whenever it runs. */

import { type Engine, textList } from "./instance.ts";

/** A node of the syntax tree that DuckDB writes as JSON. */
type Tree = { readonly [key: string]: unknown };

export type RowLocal = {
  /** The statement in DuckDB's own spelling, without comments and semicolon. */
  sql: string;
  /** A row may become many rows. */
  isUnnesting: boolean;
};

const MODIFIERS: Readonly<Record<string, string>> = {
  ORDER_MODIFIER: "ORDER BY",
  LIMIT_MODIFIER: "LIMIT",
  LIMIT_PERCENT_MODIFIER: "LIMIT",
  DISTINCT_MODIFIER: "DISTINCT",
};
/** Words that read like columns and tell the time. */
const CLOCKS = /^(current_date|current_time|current_timestamp|localtime|localtimestamp)$/i;
/** Fails on purpose: the message becomes a letter. */
const FAILS_ON_PURPOSE = "error";

/** Why SQL is not row-local; callers say it in the words of what the SQL is for. */
export class NotRowLocal extends Error {}

/**
 * NotRowLocal with the reason where `sql` is more than a projection and a filter over `table`: aggregates, windows, joins,
 * subqueries in expressions, order, limit, distinct, sampling, functions whose value changes from call to call. CTEs and subqueries
 * in FROM are fine under the same rules, `unnest` is in the select list. `columns` are the names of the table's columns.
 */
export async function requireRowLocal(
  engine: Engine,
  sql: string,
  relation: { table: string; columns: readonly string[] },
  signal: AbortSignal,
): Promise<RowLocal> {
  const statements = await parse(engine, sql, signal);
  if (statements.length !== 1) throw refused(`it holds ${statements.length} statements, not one`);
  const names = new Set(relation.columns.map((name) => name.toLowerCase()));
  const functions = new Set<string>();
  checkNode(statements[0]!.node as Tree, new Set([relation.table]), names, functions);
  await checkFunctions(engine, functions, signal);
  const [row] = await engine.rows("SELECT json_deserialize_sql(json_serialize_sql(?::VARCHAR)) AS sql", {
    params: [sql],
    signal,
  });
  return { sql: row!.sql as string, isUnnesting: functions.has("unnest") };
}

function refused(reason: string): NotRowLocal {
  return new NotRowLocal(reason);
}

async function parse(engine: Engine, sql: string, signal: AbortSignal): Promise<Tree[]> {
  const [row] = await engine.rows("SELECT json_serialize_sql(?::VARCHAR) AS tree", { params: [sql], signal });
  const tree = JSON.parse(row!.tree as string) as {
    error: boolean;
    error_message?: string;
    statements?: Tree[];
  };
  if (tree.error) throw refused(tree.error_message ?? "it cannot be parsed");
  return tree.statements ?? [];
}

/** A query: a plain SELECT whose tables are `tables`, the one that is given first. */
function checkNode(
  node: Tree,
  tables: ReadonlySet<string>,
  names: ReadonlySet<string>,
  functions: Set<string>,
): void {
  if (node.type !== "SELECT_NODE") throw refused(`${words(node.type)} is not row-local`);
  for (const modifier of node.modifiers as Tree[])
    throw refused(`${MODIFIERS[String(modifier.type)] ?? words(modifier.type)} is not row-local`);
  const known = new Set(tables);
  for (const { key, value } of (node.cte_map as { map: { key: string; value: Tree }[] }).map) {
    checkNode((value.query as Tree).node as Tree, known, names, functions);
    known.add(key.toLowerCase());
  }
  if ((node.group_expressions as unknown[]).length > 0 || node.aggregate_handling !== "STANDARD_HANDLING")
    throw refused("GROUP BY is not row-local");
  if (node.having !== null) throw refused("HAVING is not row-local");
  if (node.qualify !== null) throw refused("QUALIFY is not row-local");
  checkFrom(node.from_table as Tree, known, names, functions);
  if (node.sample !== null) throw refused("sampling is not row-local");
  checkExpressions(node.select_list, names, functions);
  checkExpressions(node.where_clause, names, functions);
}

function checkFrom(
  from: Tree,
  tables: ReadonlySet<string>,
  names: ReadonlySet<string>,
  functions: Set<string>,
): void {
  if (from.sample) throw refused("sampling is not row-local");
  if (from.type === "SUBQUERY") {
    checkNode((from.subquery as Tree).node as Tree, tables, names, functions);
    return;
  }
  if (from.type === "JOIN") throw refused("joins are not row-local (unnest belongs in the select list)");
  if (from.type === "EMPTY") throw refused(`it does not read from ${[...tables][0]}`);
  if (from.type !== "BASE_TABLE")
    throw refused(`it reads from ${words(from.type)}, not from ${[...tables][0]}`);
  const name = String(from.table_name);
  const isQualified = from.schema_name !== "" || from.catalog_name !== "";
  if (isQualified || !tables.has(name.toLowerCase()))
    throw refused(`it reads from ${name}, not from ${[...tables][0]}`);
}

/** Any part of the tree that holds expressions. */
function checkExpressions(part: unknown, names: ReadonlySet<string>, functions: Set<string>): void {
  if (Array.isArray(part)) {
    for (const item of part) checkExpressions(item, names, functions);
    return;
  }
  if (typeof part !== "object" || part === null) return;
  const tree = part as Tree;
  if (tree.class === "SUBQUERY") throw refused("a subquery in an expression is not row-local");
  if (tree.class === "WINDOW") throw refused(`the window function ${tree.function_name} is not row-local`);
  if (tree.class === "PARAMETER") throw refused("it has parameters");
  if (tree.class === "FUNCTION") {
    const name = String(tree.function_name).toLowerCase();
    // With one argument it counts to today, which its description does not say.
    if (name === "age" && (tree.children as Tree[]).length === 1)
      throw refused("age() of one time gives another value each day");
    functions.add(name);
  }
  if (tree.class === "COLUMN_REF") {
    const path = tree.column_names as string[];
    if (path.length === 1 && CLOCKS.test(path[0]!) && !names.has(path[0]!.toLowerCase()))
      throw refused(`${path[0]} gives another value each time`);
  }
  for (const value of Object.values(tree)) checkExpressions(value, names, functions);
}

/** Aggregates and functions that change from call to call; a macro is as good as what it stands for. */
async function checkFunctions(
  engine: Engine,
  functions: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  const seen = new Set<string>(["unnest", FAILS_ON_PURPOSE]);
  let left = [...functions].filter((name) => !seen.has(name));
  while (left.length > 0) {
    const known = await engine.rows(
      `SELECT lower(function_name) AS name, function_type AS kind, stability, macro_definition AS macro
       FROM duckdb_functions() WHERE lower(function_name) IN (SELECT unnest(${textList(left)}))`,
      { signal },
    );
    const inside = new Set<string>();
    for (const { name, kind, stability, macro } of known) {
      if (kind === "aggregate") throw refused(`the aggregate ${name} is not row-local`);
      if (kind === "scalar" && stability !== "CONSISTENT")
        throw refused(`${name}() gives another value each time`);
      if (kind !== "macro" || typeof macro !== "string") continue;
      const [statement] = await parse(engine, `SELECT ${macro}`, signal);
      checkExpressions((statement!.node as Tree).select_list, new Set(), inside);
    }
    for (const name of left) seen.add(name);
    left = [...inside].filter((name) => !seen.has(name));
  }
}

function words(type: unknown): string {
  return String(type)
    .replace(/_NODE$/, "")
    .replaceAll("_", " ")
    .toLowerCase();
}
