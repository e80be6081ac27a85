/**
 * Dates and times of JSON as values of leaves: days and microseconds since 1970 in the Gregorian calendar, years 1 to 9999. Each function steps over
 * the text at the cursor and adds its value; false where there is none in the plain spelling.
 */

import { daysIn } from "../engine/json-time.ts";
import {
  CAPITAL_T,
  CAPITAL_Z,
  COLON,
  type JsonCursor,
  MINUS,
  PLUS,
  POINT,
  QUOTE,
  ZERO,
} from "./json-cursor.ts";
import { addWideInteger } from "./json-numbers.ts";
import type { LeafBuilder } from "./leaf-builder.ts";

const DAY_SECONDS = 86_400;
const MICROS = 1_000_000;
/** Seconds whose microseconds are exact in a double. */
const EXACT_SECONDS = 9_007_199_253;

/** "YYYY-MM-DD" */
export function addDate(cursor: JsonCursor, leaf: LeafBuilder, repetition: number): boolean {
  const days = readDay(cursor);
  if (days === NO_DAY || cursor.bytes[cursor.at++] !== QUOTE) return false;
  leaf.addInt32(repetition, days);
  return true;
}

/** "YYYY-MM-DDTHH:MM:SS" with up to six decimals, then Z or +HH:MM where `hasZone`; a zone other than Z not in the years 1 and 9999. */
export function addTimestamp(
  cursor: JsonCursor,
  leaf: LeafBuilder,
  repetition: number,
  hasZone: boolean,
): boolean {
  const days = readDay(cursor);
  if (days === NO_DAY) return false;
  const { bytes } = cursor;
  let { at } = cursor;
  if (bytes[at] !== CAPITAL_T || bytes[at + 3] !== COLON || bytes[at + 6] !== COLON) return false;
  const hour = twoDigits(bytes, at + 1);
  const minute = twoDigits(bytes, at + 4);
  const second = twoDigits(bytes, at + 7);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return false;
  at += 9;
  let micros = 0;
  if (bytes[at] === POINT) {
    const from = ++at;
    let digit = bytes[at]! - ZERO;
    for (; digit >= 0 && digit <= 9 && at - from < 6; digit = bytes[++at]! - ZERO)
      micros = micros * 10 + digit;
    if (at === from || (digit >= 0 && digit <= 9)) return false;
    for (let i = at - from; i < 6; i++) micros *= 10;
  }
  let offset = 0;
  if (hasZone) {
    const sign = bytes[at++];
    if (sign !== CAPITAL_Z) {
      if ((sign !== PLUS && sign !== MINUS) || bytes[at + 2] !== COLON) return false;
      const hours = twoDigits(bytes, at);
      const minutes = twoDigits(bytes, at + 3);
      if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59) return false;
      if (days < FIRST_ZONED || days >= END_ZONED) return false;
      offset = (hours * 60 + minutes) * (sign === PLUS ? 60 : -60);
      at += 5;
    }
  }
  cursor.at = at + 1;
  if (bytes[at] !== QUOTE) return false;
  addMicros(leaf, repetition, days * DAY_SECONDS + hour * 3600 + minute * 60 + second - offset, micros);
  return true;
}

/** So many microseconds after so many whole seconds since 1970. */
export function addMicros(leaf: LeafBuilder, repetition: number, seconds: number, micros: number): void {
  if (seconds < EXACT_SECONDS && seconds > -EXACT_SECONDS)
    leaf.addInt64(repetition, seconds * MICROS + micros);
  else addWideInteger(leaf, repetition, BigInt(seconds) * BigInt(MICROS) + BigInt(micros));
}

/** No day: far beyond all years. */
const NO_DAY = 1 << 30;

/** The days since 1970 of the opening quote and YYYY-MM-DD at the cursor; NO_DAY where that does not stand there. */
function readDay(cursor: JsonCursor): number {
  const { bytes, at } = cursor;
  if (bytes[at] !== QUOTE || bytes[at + 5] !== MINUS || bytes[at + 8] !== MINUS) return NO_DAY;
  const century = twoDigits(bytes, at + 1);
  const ofCentury = twoDigits(bytes, at + 3);
  const month = twoDigits(bytes, at + 6);
  const day = twoDigits(bytes, at + 9);
  if (century < 0 || ofCentury < 0 || month < 1 || month > 12) return NO_DAY;
  const year = century * 100 + ofCentury;
  if (year < 1 || day < 1 || day > daysIn(year, month)) return NO_DAY;
  cursor.at = at + 11;
  return daysSinceEpoch(year, month, day);
}

/** Days from 1970-01-01 to a day of the Gregorian calendar, year 0 or later. Years are counted from March, so that leap days end them. */
export function daysSinceEpoch(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const ofYear = (((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) | 0) + day - 1;
  return y * 365 + ((y / 4) | 0) - ((y / 100) | 0) + ((y / 400) | 0) + ofYear - 719_468;
}

/** The years 2 to 9998: no zone leads out of those that there are. */
const FIRST_ZONED = daysSinceEpoch(2, 1, 1);
const END_ZONED = daysSinceEpoch(9999, 1, 1);

/** Negative where there are other characters. */
function twoDigits(bytes: Uint8Array, at: number): number {
  const high = bytes[at]! - ZERO;
  const low = bytes[at + 1]! - ZERO;
  return high >= 0 && high <= 9 && low >= 0 && low <= 9 ? high * 10 + low : -1;
}
