/** SQL cut into tokens as DuckDB cuts it, as far as it matters for the white space between them. Pure. */

/**
 * `gap` is the white space before it. A "line" comment ends before its newline; a "mark" is one character of punctuation.
 * @typedef {{ kind: "word" | "text" | "name" | "line" | "block" | "mark", text: string, gap: string }} Token
 */

const GAP = /[ \t\n\r\f\v]*/y;
/** In this order: what begins a text or a comment is no punctuation. @type {readonly (readonly [Token["kind"], RegExp])[]} */
const KINDS = [
  ["line", /--[^\n\r]*/y],
  ["text", /[eE]'[^'\\]*(?:(?:''|\\[\s\S])[^'\\]*)*'/y],
  ["text", /'[^']*(?:''[^']*)*'/y],
  ["name", /"[^"]*(?:""[^"]*)*"/y],
  ["text", /\$([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$[\s\S]*?\$\1\$/y],
  ["word", /[\w\u0080-\uffff][\w$\u0080-\uffff]*/y],
];
/** What is left of a text or a comment that does not end. */
const UNENDED = /'|"|\/\*|\$[\w\u0080-\uffff]*\$/y;

/** Null where a text, a name or a comment does not end. @param {string} sql @returns {{ tokens: Token[], end: string } | null} */
export function tokensOf(sql) {
  /** @type {Token[]} */
  const tokens = [];
  for (let at = 0; ; ) {
    const gap = matchAt(GAP, sql, at) ?? "";
    at += gap.length;
    if (at >= sql.length) return { tokens, end: gap };
    const token = tokenAt(sql, at);
    if (token === null) return null;
    tokens.push({ ...token, gap });
    at += token.text.length;
  }
}

/** @param {string} sql @param {number} at @returns {Omit<Token, "gap"> | null} */
function tokenAt(sql, at) {
  const block = blockAt(sql, at);
  if (block !== null) return { kind: "block", text: block };
  for (const [kind, pattern] of KINDS) {
    const text = matchAt(pattern, sql, at);
    if (text !== null) return { kind, text };
  }
  if (matchAt(UNENDED, sql, at) !== null) return null;
  return { kind: "mark", text: String.fromCodePoint(sql.codePointAt(at) ?? 0) };
}

/** A comment that may hold others. @param {string} sql @param {number} at */
function blockAt(sql, at) {
  if (!sql.startsWith("/*", at)) return null;
  let depth = 1;
  for (const mark of sql.slice(at + 2).matchAll(/\/\*|\*\//g)) {
    depth += mark[0] === "/*" ? 1 : -1;
    if (depth === 0) return sql.slice(at, at + 2 + mark.index + 2);
  }
  return null;
}

/** @param {RegExp} pattern sticky @param {string} sql @param {number} at */
function matchAt(pattern, sql, at) {
  pattern.lastIndex = at;
  return pattern.exec(sql)?.[0] ?? null;
}
