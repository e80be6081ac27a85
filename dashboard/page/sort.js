/** Rows of a result in the order of a column, by what its values are: longs and decimals exactly, NULL last. Pure. */

import { isNumeric } from "./format.js";

/**
 * @param {readonly (readonly unknown[])[]} rows @param {number} column @param {string} type @param {1 | -1} direction
 * @returns {(readonly unknown[])[]}
 */
export function sortRows(rows, column, type, direction) {
  const compare = isNumeric(type) ? compareNumbers : compareTexts;
  // The order they came in decides between equals, whichever the direction.
  return [...rows].sort((a, b) => {
    const [x, y] = [a[column], b[column]];
    if (x === null || x === undefined || y === null || y === undefined)
      return Number(x === null || x === undefined) - Number(y === null || y === undefined);
    return direction * compare(x, y);
  });
}

/** @param {unknown} a @param {unknown} b */
function compareTexts(a, b) {
  const [x, y] = [a, b].map((value) => (typeof value === "object" ? JSON.stringify(value) : String(value)));
  return /** @type {string} */ (x) < /** @type {string} */ (y) ? -1 : x === y ? 0 : 1;
}

/** Numbers, or long and decimal ones as text; NaN after all others. @param {unknown} a @param {unknown} b */
function compareNumbers(a, b) {
  const [x, y] = [partsOf(a), partsOf(b)];
  if (x === null || y === null) return Number(x === null) - Number(y === null) || compareTexts(a, b);
  const places = Math.max(x.decimals.length, y.decimals.length);
  const scaled = (
    /** @type {{ sign: string, whole: string, decimals: string }} */ { sign, whole, decimals },
  ) => BigInt(`${sign}${whole}${decimals.padEnd(places, "0")}`);
  const [n, m] = [scaled(x), scaled(y)];
  return n < m ? -1 : n === m ? 0 : 1;
}

/** @param {unknown} value */
function partsOf(value) {
  const text =
    typeof value === "number" && Math.abs(value) >= 1e-6 && Math.abs(value) < 1e21
      ? String(value)
      : plain(value);
  const found = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  return found === null ? null : { sign: found[1] ?? "", whole: found[2] ?? "0", decimals: found[3] ?? "" };
}

/** A float without an exponent. @param {unknown} value */
function plain(value) {
  const number = Number(value);
  return typeof value === "number" && Number.isFinite(number)
    ? number.toFixed(20).replace(/0+$/, "").replace(/\.$/, "")
    : String(value);
}
