/** What a statement asks of each table that it names: the conditions that every row it uses must pass. */

import type { Engine } from "../engine/instance.ts";
import { type ColumnOf, columnAt, foldCase, hasColumn, type PruneTable } from "../engine/prune-columns.ts";
import type { Predicate } from "../engine/prune-predicate.ts";
import { type Condition, conjunctsOf, predicatesOf } from "../engine/prune-sql.ts";
import { isNode, type Tree, type TreeNode } from "../engine/sql-tree.ts";
import type { Resolved } from "./resolve.ts";
import type { Statement } from "./statement.ts";
import { isRelation, visit } from "./syntax-tree.ts";

/** One relation of a FROM clause, by the name that the statement knows it by. */
type Relation = {
  alias: string;
  node: TreeNode;
  /** WHERE may be asked of its rows before any join: no join makes up rows of it, and none takes them by place. */
  isFiltered: boolean;
};

/** A FROM clause: its relations, and the conditions of joins that hold for the rows of some of them. */
type Scope = {
  relations: Relation[];
  joined: { conjuncts: TreeNode[]; of: ReadonlySet<Relation> }[];
  /** Columns that USING merges: their bare names mean no one table. Null: any may be, as NATURAL finds them by itself. */
  merged: Set<string> | null;
};

/**
 * By view, a predicate that every row the statement uses of it passes; none where the statement may use all. Only conditions on a single
 * table count, of the SELECT that names it. Before `statement.over`, which gives tables other names.
 */
export async function filtersOf(
  engine: Engine,
  statement: Statement,
  { relations, views }: Resolved,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Predicate>> {
  const uses = statement.uses.filter((use) => views.has(use));
  const tables = new Map(
    uses.map((use) => [use.node, relations.find(({ view }) => view === views.get(use))?.snapshot]),
  );
  const ofUses = await predicatesOfUses(engine, statement.tree, (node) => tables.get(node), signal);
  const filters = new Map<string, Predicate>();
  for (const { view } of relations) {
    const parts = uses.filter((use) => views.get(use) === view).map((use) => ofUses.get(use.node));
    const known = parts.filter((part) => part !== undefined);
    if (known.length === parts.length) filters.set(view, { kind: "or", parts: known });
  }
  return filters;
}

/** By the node of a table in FROM. `tableOf` is undefined for whatever else stands there. */
async function predicatesOfUses(
  engine: Engine,
  tree: Tree,
  tableOf: (node: TreeNode) => PruneTable | undefined,
  signal: AbortSignal,
): Promise<ReadonlyMap<TreeNode, Predicate>> {
  const found: { node: TreeNode; condition: Condition }[] = [];
  visit(tree, (node) => {
    if (node.type !== "SELECT_NODE" || !isRelation(node) || !isNode(node.from_table)) return;
    // A sample is drawn before WHERE: from fewer rows it would be another one.
    if (isSampled(node) || isSampledFrom(node.from_table)) return;
    found.push(...conditionsOf(node, tableOf));
  });
  const predicates = await predicatesOf(
    engine,
    found.map(({ condition }) => condition),
    signal,
  );
  const filters = new Map<TreeNode, Predicate>();
  for (const [index, { node }] of found.entries()) {
    const [predicate, before] = [predicates[index]!, filters.get(node)];
    if (predicate.kind === "unknown") continue;
    filters.set(node, before === undefined ? predicate : { kind: "and", parts: [before, predicate] });
  }
  return filters;
}

function conditionsOf(
  select: TreeNode,
  tableOf: (node: TreeNode) => PruneTable | undefined,
): { node: TreeNode; condition: Condition }[] {
  const scope: Scope = { relations: [], joined: [], merged: new Set() };
  flatten(select.from_table as TreeNode, scope);
  const where = { conjuncts: conjunctsOf(select.where_clause), of: new Set(scope.relations) };
  return scope.relations.flatMap((relation) => {
    const table = tableOf(relation.node);
    if (table === undefined) return [];
    const columnOf = columnsOf(relation, table, scope, tableOf);
    return [...(relation.isFiltered ? [where] : []), ...scope.joined]
      .filter(({ of }) => of.has(relation))
      .flatMap(({ conjuncts }) => conjuncts)
      .map((node) => ({ node: relation.node, condition: { node, columnOf } }));
  });
}

/** Adds the relations of one part of FROM, and tells which of them WHERE and the conditions of outer joins may be asked of. */
function flatten(from: TreeNode, scope: Scope): Relation[] {
  if (from.type !== "JOIN") {
    const alias = from.alias === "" || from.alias === undefined ? (from.table_name ?? "") : from.alias;
    const relation = { alias: foldCase(String(alias)), node: from, isFiltered: true };
    scope.relations.push(relation);
    return [relation];
  }
  const left = flatten(from.left as TreeNode, scope);
  const right = flatten(from.right as TreeNode, scope);
  const isPlain = from.ref_type === "REGULAR" || from.ref_type === "CROSS" || from.ref_type === "NATURAL";
  const isInner = from.join_type === "INNER";
  const keepsLeft = isPlain && (isInner || ["LEFT", "SEMI", "ANTI"].includes(String(from.join_type)));
  const keepsRight = isPlain && (isInner || from.join_type === "RIGHT");
  const all = [...left, ...right];
  if (isPlain && isInner && isNode(from.condition)) {
    const of = new Set(all.filter(({ isFiltered }) => isFiltered));
    scope.joined.push({ conjuncts: conjunctsOf(from.condition), of });
  }
  if (!keepsLeft) for (const relation of left) relation.isFiltered = false;
  if (!keepsRight) for (const relation of right) relation.isFiltered = false;
  if (from.ref_type === "NATURAL") scope.merged = null;
  for (const name of from.using_columns as string[]) scope.merged?.add(foldCase(name));
  return all;
}

/**
 * What names mean, as far as they surely are columns of `relation`. A name that stands before a dot is a relation first, then a
 * struct; a bare one belongs to the one table that has it.
 */
function columnsOf(
  relation: Relation,
  table: PruneTable,
  scope: Scope,
  tableOf: (node: TreeNode) => PruneTable | undefined,
): ColumnOf {
  // Columns that are renamed here have other names in the table.
  if ((relation.node.column_name_alias as Tree[]).length > 0) return () => undefined;
  const isAlias = (name: string) => scope.relations.some(({ alias }) => alias === foldCase(name));
  const isAlone = scope.relations.filter(({ alias }) => alias === relation.alias).length === 1;
  const others = scope.relations.filter((other) => other !== relation).map(({ node }) => tableOf(node));
  return (names) => {
    const [first = "", ...rest] = names;
    if (rest.some(isAlias)) return undefined;
    if (isAlias(first)) {
      return isAlone && rest.length > 0 && foldCase(first) === relation.alias
        ? columnAt(table, rest)
        : undefined;
    }
    if (scope.merged === null || scope.merged.has(foldCase(first))) return undefined;
    return others.some((other) => other !== undefined && hasColumn(other, first))
      ? undefined
      : columnAt(table, names);
  };
}

function isSampled(node: TreeNode): boolean {
  return isNode(node.sample);
}

function isSampledFrom(from: TreeNode): boolean {
  if (isSampled(from)) return true;
  return from.type === "JOIN" && [from.left, from.right].some((side) => isSampledFrom(side as TreeNode));
}
