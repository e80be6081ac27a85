/** JSON that keeps whole numbers beyond 2^53: they come as bigint, and bigints are written as plain digits. */

import { randomUUID } from "node:crypto";

/** Sixteen digits in a row where a value may stand: only then can JSON.parse lose some. */
const LONG_DIGITS = /[:[,]\s*-?\d{16}/;
/** Texts, which are left alone, and numbers. Once begun a text always matches, so that damaged ones cost no second look. */
const TOKEN = /"(?:[^"\\]|\\[\s\S]?)*"?|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const WHOLE = /^-?\d+$/;
/** What stands for a number until the text is parsed or written; nobody can know it beforehand, so no text of the log begins with it. */
const MARK = `number ${randomUUID()} `;
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");

/** Whole numbers are number where that is exact and bigint elsewhere; fractions are number. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  if (!LONG_DIGITS.test(text)) return JSON.parse(text);
  const isLong = (token: string) => WHOLE.test(token) && !Number.isSafeInteger(Number(token));
  return parseMarked(text, isLong, BigInt);
}

/** Numbers are what `make` makes of how they are spelled. Throws SyntaxError. */
export function parseSpelled(text: string, make: (spelling: string) => unknown): unknown {
  return parseMarked(text, (token) => !token.startsWith('"'), make);
}

function parseMarked(
  text: string,
  isMarked: (token: string) => boolean,
  make: (spelling: string) => unknown,
): unknown {
  const marked = text.replace(TOKEN, (token) => (isMarked(token) ? `"${MARK}${token}"` : token));
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(MARK) ? make(value.slice(MARK.length)) : value,
  );
}

/** As JSON.stringify, with bigints as digits. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // JSON.stringify refuses bigints, which few values have: cheaper to try than to search each for one.
    if (!(error instanceof TypeError)) throw error;
    const marked = JSON.stringify(value, (_, one: unknown) =>
      typeof one === "bigint" ? `${MARK}${one}` : one,
    );
    return marked.replace(MARKED, "$1");
  }
}
