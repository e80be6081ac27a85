/**
 * Dates and times of JSON: days and microseconds since 1970 in the Gregorian calendar, years 1 to 9999. Functions answer with the place behind the
 * text at `at`; 0 where there is none in the plain spelling.
 */

import { Leaf } from "./leaf";
import { digitAt } from "./numbers";
import { QUOTE } from "./text";

const MINUS: u8 = 45;
const PLUS: u8 = 43;
const POINT: u8 = 46;
const COLON: u8 = 58;
const CAPITAL_T: u8 = 84;
const CAPITAL_Z: u8 = 90;
const MICROS: i64 = 1_000_000;
/** No day: far beyond all years. */
const NO_DAY: i32 = 1 << 30;
/** The years 2 to 9998: no zone leads out of those that there are. */
const FIRST_ZONED = -718_797;
const END_ZONED = 2_932_532;

/** "YYYY-MM-DD" */
export function addDate(at: usize, leaf: Leaf, repetition: i32): usize {
  const days = readDay(at);
  if (days === NO_DAY || load<u8>(at + 11) !== QUOTE) return 0;
  leaf.addInt32(repetition, days);
  return at + 12;
}

/** "YYYY-MM-DDTHH:MM:SS" with up to six decimals, then Z or +HH:MM where `hasZone`; a zone other than Z not in the years 1 and 9999. */
export function addTimestamp(at: usize, leaf: Leaf, repetition: i32, hasZone: bool): usize {
  const days = readDay(at);
  if (days === NO_DAY) return 0;
  at += 11;
  if (load<u8>(at) !== CAPITAL_T || load<u8>(at + 3) !== COLON || load<u8>(at + 6) !== COLON) return 0;
  const hour = twoDigits(at + 1);
  const minute = twoDigits(at + 4);
  const second = twoDigits(at + 7);
  if (hour > 23 || minute > 59 || second > 59) return 0;
  at += 9;
  let micros: i64 = 0;
  if (load<u8>(at) === POINT) {
    const from = ++at;
    let digit = digitAt(at);
    for (; digit <= 9 && at - from < 6; digit = digitAt(++at)) micros = micros * 10 + digit;
    if (at === from || digit <= 9) return 0;
    for (let i = at - from; i < 6; i++) micros *= 10;
  }
  let offset = 0;
  if (hasZone) {
    const sign = load<u8>(at++);
    if (sign !== CAPITAL_Z) {
      if ((sign !== PLUS && sign !== MINUS) || load<u8>(at + 2) !== COLON) return 0;
      const hours = twoDigits(at);
      const minutes = twoDigits(at + 3);
      if (hours > 14 || minutes > 59) return 0;
      if (days < FIRST_ZONED || days >= END_ZONED) return 0;
      offset = (hours * 60 + minutes) * (sign === PLUS ? 60 : -60);
      at += 5;
    }
  }
  if (load<u8>(at) !== QUOTE) return 0;
  const seconds = <i64>days * 86_400 + hour * 3600 + minute * 60 + second - offset;
  leaf.addInt64(repetition, seconds * MICROS + micros);
  return at + 1;
}

/** The days since 1970 of the opening quote and YYYY-MM-DD at `at`; NO_DAY where that does not stand there. */
function readDay(at: usize): i32 {
  if (load<u8>(at) !== QUOTE || load<u8>(at + 5) !== MINUS || load<u8>(at + 8) !== MINUS) return NO_DAY;
  const century = twoDigits(at + 1);
  const ofCentury = twoDigits(at + 3);
  const month = twoDigits(at + 6);
  const day = twoDigits(at + 9);
  if (century > 99 || ofCentury > 99 || month < 1 || month > 12) return NO_DAY;
  const year = century * 100 + ofCentury;
  if (year < 1 || day < 1 || day > daysIn(year, month)) return NO_DAY;
  return daysSinceEpoch(year, month, day);
}

function daysIn(year: i32, month: i32): i32 {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Days from 1970-01-01 to a day of the years 1 to 9999. Years are counted from March, so that leap days end them. */
function daysSinceEpoch(year: i32, month: i32, day: i32): i32 {
  const y = month <= 2 ? year - 1 : year;
  const ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return y * 365 + y / 4 - y / 100 + y / 400 + ofYear - 719_468;
}

/** Above 99 where there are other characters. */
function twoDigits(at: usize): i32 {
  const high = digitAt(at);
  const low = digitAt(at + 1);
  return high <= 9 && low <= 9 ? high * 10 + low : 100;
}
