/** Spark's time travel, `orders VERSION AS OF 3 o`, in DuckDB's words: `orders o AT (VERSION => 3)`. */

import { type Token, tokenize } from "./tokens.ts";

export type Rewritten = {
  sql: string;
  /** Where a character of the new text stands in the old one. */
  toOriginal(position: number): number;
};

type Edit = { start: number; end: number; text: string };

const UNITS: Readonly<Record<string, "VERSION" | "TIMESTAMP">> = {
  VERSION: "VERSION",
  SYSTEM_VERSION: "VERSION",
  TIMESTAMP: "TIMESTAMP",
  SYSTEM_TIME: "TIMESTAMP",
};

/** Words that go on with the statement after a table, so that none of them is taken for its alias. */
const NO_ALIAS = new Set(
  `ANTI ASOF CROSS EXCEPT FETCH FROM FULL GROUP HAVING INNER INTERSECT JOIN LATERAL LEFT LIMIT NATURAL OFFSET ON ORDER
   PIVOT POSITIONAL QUALIFY RIGHT SELECT SEMI TABLESAMPLE UNION UNPIVOT USING WHERE WINDOW`.split(/\s+/),
);

/** The statement with each `[FOR] VERSION|TIMESTAMP AS OF value` after a table turned into an AT clause; all else as it is. */
export function rewriteSpark(sql: string): Rewritten {
  // Most statements say none of it, and need not be taken apart.
  if (!/\bof\b/i.test(sql)) return { sql, toOriginal: (position) => position };
  const edits: Edit[] = [];
  const tokens = tokenize(sql);
  const word = (index: number) => {
    const token = tokens[index];
    return token?.kind === "word" ? sql.slice(token.start, token.end).toUpperCase() : undefined;
  };
  for (let index = 1; index < tokens.length; index++) {
    const isName = tokens[index - 1]!.kind === "word" || tokens[index - 1]!.kind === "name";
    const first = word(index) === "FOR" ? index + 1 : index;
    const unit = UNITS[word(first) ?? ""];
    if (!isName || unit === undefined || word(first + 1) !== "AS" || word(first + 2) !== "OF") continue;
    const value = endOfValue(sql, tokens, first + 3);
    if (value === undefined) continue;
    const alias = endOfAlias(sql, tokens, value);
    const text = (from: number, to: number) =>
      to > from ? sql.slice(tokens[from]!.start, tokens[to - 1]!.end) : "";
    const at = `AT (${unit} => ${text(first + 3, value)})`;
    edits.push({
      start: tokens[index]!.start,
      end: tokens[alias - 1]!.end,
      text: alias > value ? `${text(value, alias)} ${at}` : at,
    });
    index = alias - 1;
  }
  return apply(sql, edits);
}

/** Index after the value that begins at `index`: a literal, a call, a group in parentheses, or a sum of such and intervals. */
function endOfValue(sql: string, tokens: readonly Token[], index: number): number | undefined {
  const is = (at: number, mark: string) => tokens[at]?.kind === "mark" && sql[tokens[at].start] === mark;
  const operand = (at: number): number | undefined => {
    const token = tokens[at];
    if (token?.kind === "text") return at + 1;
    if (is(at, "(")) return endOfGroup(sql, tokens, at);
    if (token?.kind !== "word" || NO_ALIAS.has(sql.slice(token.start, token.end).toUpperCase()))
      return undefined;
    if (is(at + 1, "(")) return endOfGroup(sql, tokens, at + 1);
    if (tokens[at + 1]?.kind !== "text") return undefined;
    const isInterval = sql.slice(token.start, token.end).toUpperCase() === "INTERVAL";
    return isInterval && tokens[at + 2]?.kind === "word" && !sql.startsWith("'", tokens[at + 1]!.start)
      ? at + 3
      : at + 2;
  };
  let end = operand(index);
  while (end !== undefined && (is(end, "-") || is(end, "+"))) end = operand(end + 1);
  return end;
}

function endOfGroup(sql: string, tokens: readonly Token[], open: number): number | undefined {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    if (tokens[at]!.kind !== "mark") continue;
    const mark = sql[tokens[at]!.start];
    if (mark === "(") depth++;
    if (mark === ")" && --depth === 0) return at + 1;
  }
  return undefined;
}

/** Index after `[AS] alias [(columns)]`; `index` itself where none follows. */
function endOfAlias(sql: string, tokens: readonly Token[], index: number): number {
  const upper = (at: number) => sql.slice(tokens[at]?.start, tokens[at]?.end).toUpperCase();
  const isAs = tokens[index]?.kind === "word" && upper(index) === "AS";
  const at = isAs ? index + 1 : index;
  const kind = tokens[at]?.kind;
  const isAlias = kind === "name" || (kind === "word" && (isAs || !NO_ALIAS.has(upper(at))));
  if (!isAlias) return index;
  const isColumns = tokens[at + 1]?.kind === "mark" && sql[tokens[at + 1]!.start] === "(";
  return (isColumns ? endOfGroup(sql, tokens, at + 1) : undefined) ?? at + 1;
}

function apply(sql: string, edits: readonly Edit[]): Rewritten {
  let rewritten = "";
  let from = 0;
  const spots: { at: number; edit: Edit }[] = [];
  for (const edit of edits) {
    rewritten += sql.slice(from, edit.start);
    spots.push({ at: rewritten.length, edit });
    rewritten += edit.text;
    from = edit.end;
  }
  const toOriginal = (position: number) => {
    let shift = 0;
    for (const { at, edit } of spots) {
      if (position < at) break;
      if (position < at + edit.text.length) return edit.start;
      shift = edit.end - (at + edit.text.length);
    }
    return position + shift;
  };
  return { sql: rewritten + sql.slice(from), toOriginal };
}
