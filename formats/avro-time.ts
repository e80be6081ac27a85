/** Avro's counts of days and of parts of a second as ISO 8601 text. */

import { outOfRange } from "./avro-fault.ts";

const DAY_MS = 86_400_000;
const FIRST_MS = Date.parse("0001-01-01T00:00:00Z");
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");
const BEYOND = "outside of the years 1 to 9999";
const TWO_DIGITS = Array.from({ length: 60 }, (_, i) => String(i).padStart(2, "0"));

/** Days since 1970 as YYYY-MM-DD. */
export function dateText(days: number): string {
  const ms = days * DAY_MS;
  if (!(ms >= FIRST_MS && ms <= LAST_MS)) throw outOfRange(`${days} days since 1970 is ${BEYOND}`);
  return calendarText(days);
}

/** Units of 10^-`digits` seconds since 1970 (3: ms, 6, 9) as YYYY-MM-DDTHH:MM:SS and that many decimals. */
export function timestampText(count: number | bigint, digits: 3 | 6 | 9): string {
  const { whole, rest } = divide(count, 10 ** (digits - 3));
  if (!(whole >= FIRST_MS && whole <= LAST_MS))
    throw outOfRange(`${count} units of 10^-${digits} seconds since 1970 is ${BEYOND}`);
  const days = Math.floor(whole / DAY_MS);
  const text = `${calendarText(days)}T${dayText(whole - days * DAY_MS)}`;
  return digits === 3 ? text : `${text}${String(rest).padStart(digits - 3, "0")}`;
}

/** Units since midnight as HH:MM:SS and that many decimals. */
export function clockText(count: number | bigint, digits: 3 | 6): string {
  const { whole, rest } = divide(count, 10 ** (digits - 3));
  if (whole < 0 || whole >= DAY_MS) throw outOfRange(`${count} is no time of day`);
  const text = dayText(whole);
  return digits === 3 ? text : `${text}${String(rest).padStart(3, "0")}`;
}

/** Months, days and milliseconds, which do not add up to each other, as an ISO 8601 duration. */
export function durationText(months: number, days: number, ms: number): string {
  const seconds = `${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, "0")}`;
  return `P${months}M${days}DT${seconds}S`;
}

/** 16 bytes in hexadecimal as a UUID is written. */
export function uuidText(hex: string): string {
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return parts.join("-");
}

/**
 * By hand, for a Date is slower by much and most records have times. Years begin with March here, so that the leap day is a year's last; a
 * cycle of 400 of them has 146097 days.
 */
function calendarText(days: number): string {
  const sinceYear0 = days + 719_468;
  const cycle = Math.floor(sinceYear0 / 146_097);
  const day = sinceYear0 - cycle * 146_097;
  const leapDays = Math.floor(day / 1460) - Math.floor(day / 36_524) + Math.floor(day / 146_096);
  const yearOfCycle = Math.floor((day - leapDays) / 365);
  const dayOfYear = day - (365 * yearOfCycle + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const dayOfMonth = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = cycle * 400 + yearOfCycle + (month <= 2 ? 1 : 0);
  return `${String(year).padStart(4, "0")}-${TWO_DIGITS[month]}-${TWO_DIGITS[dayOfMonth]}`;
}

/** Milliseconds since midnight as HH:MM:SS.mmm. */
function dayText(ms: number): string {
  const [hour, minute, second] = [
    Math.floor(ms / 3_600_000),
    Math.floor(ms / 60_000) % 60,
    Math.floor(ms / 1000) % 60,
  ];
  return `${TWO_DIGITS[hour]}:${TWO_DIGITS[minute]}:${TWO_DIGITS[second]}.${String(ms % 1000).padStart(3, "0")}`;
}

/** Rounded down, so that the rest is never negative. */
function divide(count: number | bigint, by: number): { whole: number; rest: number } {
  if (typeof count === "number") {
    const whole = Math.floor(count / by);
    return { whole, rest: count - whole * by };
  }
  const divisor = BigInt(by);
  let whole = count / divisor;
  if (whole * divisor > count) whole--;
  return { whole: Number(whole), rest: Number(count - whole * divisor) };
}
