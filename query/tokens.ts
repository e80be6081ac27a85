/** SQL text cut into tokens, as far as rewriting Spark's time travel needs it: literals and comments are never looked into. */

export type Token = {
  /** `word`: a bare name or keyword; `name`: a quoted name; `text`: a string or number; `mark`: one other character. */
  kind: "word" | "name" | "text" | "mark";
  /** Character positions in the text. */
  start: number;
  end: number;
};

const PATTERNS: readonly (readonly [Token["kind"] | "gap", RegExp])[] = [
  ["gap", /\s+|--[^\n]*/y],
  ["text", /[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|(\$(?:[A-Za-z_]\w*)?\$)[\s\S]*?\1|\d[\w.]*/y],
  ["name", /"(?:[^"]|"")*"/y],
  ["word", /[\p{L}_][\p{L}\p{N}_$]*/uy],
];

/** The tokens of `sql` without white space and comments. What is left open (a quote, a comment) ends with the text. */
export function tokenize(sql: string): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < sql.length; ) {
    const comment = sql.startsWith("/*", at) ? endOfComment(sql, at) : undefined;
    const [kind, end] = comment === undefined ? match(sql, at) : (["gap", comment] as const);
    if (kind !== "gap") tokens.push({ kind, start: at, end });
    at = end;
  }
  return tokens;
}

function match(sql: string, at: number): readonly [Token["kind"] | "gap", number] {
  for (const [kind, pattern] of PATTERNS) {
    pattern.lastIndex = at;
    const found = pattern.exec(sql);
    if (found !== null) return [kind, at + found[0].length];
  }
  const isOpenQuote = sql[at] === "'" || sql[at] === '"';
  return ["mark", isOpenQuote ? sql.length : at + 1];
}

/** DuckDB's comments nest. */
function endOfComment(sql: string, start: number): number {
  let depth = 0;
  for (let at = start; at < sql.length; at++) {
    if (sql.startsWith("/*", at)) {
      depth++;
      at++;
    } else if (sql.startsWith("*/", at)) {
      depth--;
      at++;
      if (depth === 0) return at + 1;
    }
  }
  return sql.length;
}
