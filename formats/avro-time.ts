/** Avro's counts of days and of parts of a second as ISO 8601 text. */

import { malformed, outOfRange } from "./avro-fault.ts";

const DAY_MS = 86_400_000;
const FIRST_MS = Date.parse("0001-01-01T00:00:00Z");
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** Days since 1970 as YYYY-MM-DD. */
export function dateText(days: number): string {
  return instantText(days * DAY_MS, `${days} days since 1970`).slice(0, 10);
}

/** Units of 10^-`digits` seconds since 1970 (3: ms, 6, 9) as YYYY-MM-DDTHH:MM:SS and that many decimals. */
export function timestampText(count: number | bigint, digits: 3 | 6 | 9): string {
  const { whole, rest } = divide(count, 10 ** (digits - 3));
  const text = instantText(whole, `${count} units of 10^-${digits} seconds since 1970`).slice(0, -1);
  return digits === 3 ? text : `${text}${String(rest).padStart(digits - 3, "0")}`;
}

/** Units since midnight as HH:MM:SS and that many decimals. */
export function clockText(count: number | bigint, digits: 3 | 6): string {
  const { whole, rest } = divide(count, 10 ** (digits - 3));
  if (whole < 0 || whole >= DAY_MS) throw outOfRange(`${count} is no time of day`);
  const text = new Date(whole).toISOString().slice(11, -1);
  return digits === 3 ? text : `${text}${String(rest).padStart(3, "0")}`;
}

/** Months, days and milliseconds, which do not add up to each other, as an ISO 8601 duration. */
export function durationText(months: number, days: number, ms: number): string {
  const seconds = `${Math.floor(ms / 1000)}.${String(ms % 1000).padStart(3, "0")}`;
  return `P${months}M${days}DT${seconds}S`;
}

/** 16 bytes as a UUID is written. */
export function uuidText(hex: string): string {
  if (hex.length !== 32) throw malformed("a uuid has 16 bytes");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)];
  return parts.join("-");
}

function instantText(ms: number, what: string): string {
  if (!(ms >= FIRST_MS && ms <= LAST_MS)) throw outOfRange(`${what} is outside of the years 1 to 9999`);
  return new Date(ms).toISOString();
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
