/** Spark SQL expressions cut into tokens (SqlBaseLexer.g4, as far as constraints of tables need it). */

/** A Spark expression that cannot be said in DuckDB's SQL with the same meaning; the message says which part of it. */
export class Untranslatable extends Error {}

export type Token =
  /** A bare name or keyword. */
  | { kind: "word"; text: string }
  /** A name in backticks, without them. */
  | { kind: "name"; text: string }
  /** A string constant, with its escapes undone. */
  | { kind: "string"; text: string }
  /** `suffix` in upper case: L, S, Y, D, F, BD or none. */
  | { kind: "number"; text: string; suffix: string }
  | { kind: "mark"; text: string }
  | { kind: "end"; text: "" };

const GAP = /\s+/y;
const WORD = /[\p{L}_][\p{L}\p{N}_]*/uy;
const NAME = /`(?:[^`]|``)+`/y;
const STRING = /'(?:[^'\\]|\\[\s\S])*'/y;
const NUMBER = /(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)(BD|[LSYDF])?(?![\p{L}\p{N}_])/iuy;
const MARK = /<=>|<=|>=|<>|!=|==|\|\||->|::|[-+*/%<>=!().,[\]]/y;
/** `--` and `/*` begin comments. */
const COMMENT = /--|\/\*/y;

const ESCAPES: Readonly<Record<string, string>> = {
  b: "\b",
  n: "\n",
  r: "\r",
  t: "\t",
  // Spark keeps these as they are, for LIKE.
  "%": "\\%",
  _: "\\_",
};

/** Untranslatable for what versions of Spark read in several ways: double quotes, quotes in quotes, codes of characters. */
export function tokenizeSpark(sql: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(sql);
    if (found) at += found[0].length;
    return found;
  };
  while (at < sql.length) {
    if (take(GAP)) continue;
    const comment = take(COMMENT);
    if (comment) throw new Untranslatable(`the comment at ${comment[0]}`);
    const number = take(NUMBER);
    if (number) {
      tokens.push({ kind: "number", text: number[1]!, suffix: (number[2] ?? "").toUpperCase() });
      continue;
    }
    const word = take(WORD);
    if (word) {
      tokens.push({ kind: "word", text: word[0] });
      continue;
    }
    const name = take(NAME);
    if (name) {
      tokens.push({ kind: "name", text: name[0].slice(1, -1).replaceAll("``", "`") });
      continue;
    }
    const string = take(STRING);
    if (string) {
      // Newer versions read a doubled quote as one, older ones as the end of a string and the begin of the next.
      if (tokens.at(-1)?.kind === "string") throw new Untranslatable("a string right after another one");
      tokens.push({ kind: "string", text: unescaped(string[0].slice(1, -1)) });
      continue;
    }
    if (sql[at] === '"')
      throw new Untranslatable("double quotes: some engines read a name there, others a text");
    const mark = take(MARK);
    if (!mark) throw new Untranslatable(`the character ${String.fromCodePoint(sql.codePointAt(at)!)}`);
    tokens.push({ kind: "mark", text: mark[0] });
  }
  return [...tokens, { kind: "end", text: "" }];
}

function unescaped(text: string): string {
  return text.replace(/\\([\s\S])/g, (written, character: string) => {
    if (/[0-9uUZ]/.test(character)) throw new Untranslatable(`the escape ${written} in a string`);
    return ESCAPES[character] ?? character;
  });
}
