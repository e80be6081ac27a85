/** Which pages of a Parquet checkpoint are to be decoded, and whether `checkpoint-columns` can. */

import { CHECKPOINT_ACTIONS } from "./checkpoint-row.ts";
import type { ColumnChunk, Footer, Node } from "./parquet/footer.ts";
import { listPages, type Page } from "./parquet/pages.ts";

/** Typed copies of what stands as text as well. */
export const COPIES = ["partitionValues_parsed", "stats_parsed"];

/** The pages of every column that is needed, by row group and column; nothing of them is decoded yet. */
export type Plan = Map<number, Page[]>[];

/** Undefined where some column has a form that is not read here. RangeError where the file is damaged. */
export function planOf(bytes: Uint8Array, { fields, rowGroups }: Footer): Plan | undefined {
  const wanted = fields.filter(({ name }) => CHECKPOINT_ACTIONS.includes(name));
  if (!wanted.every((field) => field.children.every((child) => isCopy(child) || isReadable(child))))
    return undefined;
  const add = wanted.find(({ name }) => name === "add");
  const groups: Plan = [];
  for (const { columns } of rowGroups) {
    if (add && !hasStatsAsText(add, columns)) return undefined;
    const group: Plan[number] = new Map();
    for (const leaf of wanted.flatMap(leavesOf)) {
      const pages = listPages(bytes, columns[leaf.column!]!, leaf);
      if (!pages) return undefined;
      group.set(leaf.column!, pages);
    }
    groups.push(group);
  }
  return groups;
}

function isCopy({ name }: Node): boolean {
  return COPIES.includes(name);
}

/** Structs of leaves, and lists and maps of them, are all that actions are made of. */
function isReadable(node: Node): boolean {
  const kind = kindOf(node);
  return kind === "struct" ? node.children.every(isReadable) : kind !== undefined;
}

export function kindOf(node: Node): "leaf" | "list" | "map" | "struct" | undefined {
  if (node.repetition === "repeated") return undefined;
  if (node.column !== undefined) return "leaf";
  const [first, ...others] = node.children;
  if (first?.repetition !== "repeated") return "struct";
  const isOfLeaves = others.length === 0 && first.children.every((child) => child.column !== undefined);
  if (!isOfLeaves || first.children.length > 2) return undefined;
  return first.children.length === 2 ? "map" : "list";
}

export function leavesOf(node: Node): Node[] {
  if (node.column !== undefined) return [node];
  return node.children.filter((child) => !isCopy(child)).flatMap(leavesOf);
}

/** Where a typed copy is there, the text must be too, for every file; the footer may not tell. */
function hasStatsAsText(add: Node, columns: readonly ColumnChunk[]): boolean {
  if (!add.children.some(({ name }) => name === "stats_parsed")) return true;
  const nulls = (name: string) => {
    const column = add.children.find((child) => child.name === name)?.column;
    return column === undefined ? undefined : columns[column]!.nulls;
  };
  return nulls("stats") !== undefined && nulls("stats") === nulls("path");
}
