/** JSON that keeps whole numbers beyond 2^53: they come as bigint, and bigints are written as plain digits. */

import { parse as parseLossless, stringify as stringifyLossless } from "lossless-json";

/** Sixteen digits in a row where a value may stand: only then can JSON.parse lose some. */
const LONG_DIGITS = /[:[,]\s*-?\d{16}/;
const WHOLE = /^-?\d+$/;

/** Whole numbers are number where that is exact and bigint elsewhere; fractions are number. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  return LONG_DIGITS.test(text) ? parseLossless(text, undefined, { parseNumber }) : JSON.parse(text);
}

/** As JSON.stringify, with bigints as digits. */
export function stringifyJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // JSON.stringify refuses bigints, which few values have: cheaper to try than to search each for one.
    if (!(error instanceof TypeError)) throw error;
    return stringifyLossless(value) ?? "null";
  }
}

function parseNumber(digits: string): number | bigint {
  const number = Number(digits);
  return WHOLE.test(digits) && !Number.isSafeInteger(number) ? BigInt(digits) : number;
}
