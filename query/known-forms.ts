/** Statements that differ from one that was parsed before in their constants alone: what the parser says of them is known without asking it. */

import { LosslessNumber } from "lossless-json";
import { isNode, type Tree, type TreeNode } from "../engine/sql-tree.ts";
import type { Traits } from "./named-columns.ts";
import { positionOf, visit } from "./syntax-tree.ts";

export type KnownForms = {
  /** The tree that the parser gives for `sql`, the caller's own; undefined where no statement of its form is known. */
  find(sql: string): { tree: TreeNode; traits: Traits } | undefined;
  /** `tree` is what the parser gave for `sql`; it stays the caller's. */
  note(sql: string, tree: TreeNode, traits: Traits): void;
};

/** A constant as the text has it; `value` as the tree does. */
type Literal = { kind: "text" | "number"; start: number; end: number; value: string };

/** A statement that was parsed; `nodes` has for each of its literals the constant that it is in the tree, undefined where it is none. */
type Form = {
  tree: TreeNode;
  traits: Traits;
  literals: readonly Literal[];
  nodes: readonly (TreeNode | undefined)[];
};

/** Forms that are kept, and statements of one form whose literals stand for more than constants. */
const MOST_FORMS = 256;
const MOST_ALIKE = 4;
const LONGEST = 10_000;

/**
 * Where the text of a constant is not plainly its value: comments, other ways to quote, parameters. What is not ASCII has other places in the
 * tree than in the text.
 */
const NOT_PLAIN = /--|\/\*|[$?\\]|[^\t\n\r -~]/;
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_][\w$]*|\d[\w.]*|[\s\S]/g;
const WORD = /\w$/;
/** Of so many digits DuckDB makes whole numbers and decimals by the digits alone. */
const WHOLE = /^(?:0|[1-9]\d{0,17})$/;
const DECIMAL = /^(?:0|[1-9]\d{0,8})\.\d{1,9}$/;
const MOST_INTEGER = 2 ** 31 - 1;

/** Keeps none yet. */
export function knownForms(): KnownForms {
  const known = new Map<string, Form[]>();
  return {
    find(sql) {
      const read = readForm(sql);
      const form = read && known.get(read.key)?.find((one) => isAlike(one, read.literals));
      return form && { tree: treeWith(form, read.literals), traits: form.traits };
    },
    note(sql, tree, traits) {
      const read = readForm(sql);
      if (read === undefined || hasVersions(tree)) return;
      const { key, literals } = read;
      const alike = known.get(key) ?? [];
      const kept = copyOf(tree) as TreeNode;
      const form = { tree: kept, traits, literals, nodes: nodesOf(kept, literals) };
      known.delete(key);
      known.set(key, [form, ...alike].slice(0, MOST_ALIKE));
      const [oldest] = known.keys();
      if (known.size > MOST_FORMS) known.delete(oldest!);
    },
  };
}

/** The statement with a mark in the place of each literal, the same for all that the parser gives one type. */
function readForm(sql: string): { key: string; literals: Literal[] } | undefined {
  if (sql.length > LONGEST || NOT_PLAIN.test(sql)) return undefined;
  const literals: Literal[] = [];
  let [key, last, start] = ["", "", 0];
  for (const token of sql.match(TOKENS) ?? []) {
    const end = start + token.length;
    if (token[0] === "'") {
      // A letter before it gives it another meaning.
      if (token.length === 1 || WORD.test(last)) return undefined;
      key += "\0t";
      literals.push({ kind: "text", start, end, value: token.slice(1, -1).replaceAll("''", "'") });
    } else {
      const mark = numberMark(token);
      key += mark ?? token;
      if (mark !== undefined)
        literals.push({ kind: "number", start, end, value: String(BigInt(token.replace(".", ""))) });
    }
    [last, start] = [token, end];
  }
  return { key, literals };
}

function numberMark(token: string): string | undefined {
  if (WHOLE.test(token)) return Number(token) <= MOST_INTEGER ? "\0i" : "\0l";
  // How wide the decimal is stands in its digits.
  return DECIMAL.test(token) ? `\0d${token.length}.${token.indexOf(".")}` : undefined;
}

function nodesOf(tree: TreeNode, literals: readonly Literal[]): (TreeNode | undefined)[] {
  const constants = new Map<number, TreeNode[]>();
  visit(tree, (node) => {
    const position = node.class === "CONSTANT" ? positionOf(node) : undefined;
    if (position !== undefined) constants.set(position, [...(constants.get(position) ?? []), node]);
  });
  return literals.map((literal) => {
    const [node, another] = constants.get(literal.start) ?? [];
    return node !== undefined && another === undefined && isThat(literal, node.value) ? node : undefined;
  });
}

const NUMBERS = new Set<Tree | undefined>(["INTEGER", "BIGINT", "DECIMAL"]);

function isThat({ kind, value }: Literal, constant: Tree | undefined): boolean {
  if (!isNode(constant) || !isNode(constant.type) || constant.is_null !== false) return false;
  if (kind === "text") return constant.type.id === "VARCHAR" && constant.value === value;
  return NUMBERS.has(constant.type.id) && String(constant.value) === value;
}

/** Whether all that stands for more than a constant is the same. */
function isAlike(form: Form, literals: readonly Literal[]): boolean {
  return form.nodes.every(
    (node, at) => node !== undefined || form.literals[at]!.value === literals[at]!.value,
  );
}

function treeWith(form: Form, literals: readonly Literal[]): TreeNode {
  const values = new Map<TreeNode, Literal>();
  for (const [at, node] of form.nodes.entries()) if (node !== undefined) values.set(node, literals[at]!);
  /** What stood at `position` has moved with the ends of the literals before it. */
  const moved = (position: number): number => {
    let to = position;
    for (const [at, { start, end }] of form.literals.entries()) {
      if (start >= position) break;
      to = position + literals[at]!.end - end;
    }
    return to;
  };
  return copyOf(form.tree, (made, node) => {
    const position = positionOf(node);
    if (position !== undefined) made.query_location = new LosslessNumber(String(moved(position)));
    const literal = values.get(node);
    if (literal !== undefined && isNode(made.value))
      made.value.value = literal.kind === "text" ? literal.value : new LosslessNumber(literal.value);
  }) as TreeNode;
}

/** `change` is told each node that is made, and the one that it is a copy of. */
function copyOf(tree: Tree, change?: (made: TreeNode, node: TreeNode) => void): Tree {
  if (Array.isArray(tree)) return tree.map((item) => copyOf(item, change));
  if (!isNode(tree)) return tree;
  const made: TreeNode = {};
  for (const key in tree) made[key] = copyOf(tree[key]!, change);
  change?.(made, tree);
  return made;
}

/** AT clauses are computed, each time anew. */
function hasVersions(tree: TreeNode): boolean {
  let has = false;
  visit(tree, (node) => {
    if (isNode(node.at_clause)) has = true;
  });
  return has;
}
