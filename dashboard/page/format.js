/** Numbers, times and message content as text. Longs come as decimal strings and are never made floats. */

import { nestedText } from "./nested.js";

/** Groups the digits of a count: "1204" becomes "1,204"; null is a question mark, never 0. @param {string | number | bigint | null | undefined} n */
export function count(n) {
  if (n === null || n === undefined) return "?";
  return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** "1 row", "1,204 rows". @param {string | number | null} n @param {string} word */
export const many = (n, word) => `${count(n)} ${word}${String(n) === "1" ? "" : "s"}`;

/** A rate with its unit; one decimal below 10. @param {number | null} perSecond */
export function rate(perSecond) {
  if (perSecond === null) return "?";
  return `${perSecond > 0 && perSecond < 9.95 ? perSecond.toFixed(1) : count(Math.round(perSecond))}/s`;
}

/** Bytes in binary units. @param {string | number | null} n */
export function bytes(n) {
  if (n === null) return "?";
  let value = Number(n);
  if (value < 1024) return many(value, "byte");
  let unit = -1;
  for (; value >= 1023.95 && unit < 4; unit++) value /= 1024;
  return `${value.toFixed(1)} ${["KiB", "MiB", "GiB", "TiB", "PiB"][unit]}`;
}

/** How long, in the largest fitting unit. @param {number} ms */
export function duration(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s > 0 && s < 1) return `${Math.round(ms)} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 129_600) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86_400)} days`;
}

/** Time of day in UTC, with the date if it is not `today`. @param {string} iso @param {number} [today] */
export function clock(iso, today = Date.now()) {
  const time = iso.slice(11, 19);
  return iso.slice(0, 10) === new Date(today).toISOString().slice(0, 10)
    ? `${time}Z`
    : `${iso.slice(0, 10)} ${time}Z`;
}

/** Characters that hide or reorder text: controls, zero-width, bidi marks. */
const HIDDEN = /[\p{Cc}\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** What a message holds, on one line, with characters that would not show written as code points. @param {string} text */
export const visible = (text) =>
  text.replace(
    HIDDEN,
    (c) => `\u27e8U+${c.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}\u27e9`,
  );

/** A value of a result for a cell; null stays null so that it can look different from the text "NULL". @param {unknown} value @param {string} type */
export function cell(value, type) {
  if (value === null || value === undefined) return null;
  return visible(typeof value === "object" ? nestedText(value, type) : String(value));
}

const NUMBERS =
  /^(byte|short|int|integer|uinteger|u?(tiny|small|big|huge)int|long|float|double|real|decimal|numeric)\b/i;

/** Whether a column's values line up on the right. @param {string} type */
export const isNumeric = (type) => NUMBERS.test(type) && !type.endsWith("[]");
