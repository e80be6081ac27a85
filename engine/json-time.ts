/** Times in JSON messages: ISO 8601 text, exact to the microsecond, in one spelling that DuckDB reads. */

import { withoutEndZeros } from "./json-number.ts";

export type IsoTime = { kind: "time"; text: string } | { kind: "fault"; reason: string };

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const TIMESTAMP =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?$/;
const MICROS_DIGITS = 6;

/**
 * A point in time: date, time, and with `zone` a zone, which must then be there, or else must not. Seconds may lack. More than six
 * decimals are a fault where they say something, for they would be rounded.
 */
export function isoTimestamp(text: string, options: { zone: boolean }): IsoTime {
  const found = TIMESTAMP.exec(text);
  if (found === null) return fault("is not an ISO 8601 time");
  const [, day, hour, minute, second = "00", decimals = "", utc, sign, zoneHours, zoneMinutes = "00"] = found;
  if (isoDate(day!).kind === "fault" || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59)
    return fault("is no point in time");
  const hasZone = utc !== undefined || sign !== undefined;
  if (hasZone !== options.zone) return fault(hasZone ? "has a zone" : "has no zone");
  if (sign !== undefined && (Number(zoneHours) > 14 || Number(zoneMinutes) > 59))
    return fault("has a zone that does not exist");
  const fraction = withoutEndZeros(decimals);
  if (fraction.length > MICROS_DIGITS) return fault("is finer than microseconds");
  const zone = sign === undefined ? "Z" : `${sign}${zoneHours}:${zoneMinutes}`;
  const clock = `${hour}:${minute}:${second}${fraction === "" ? "" : `.${fraction}`}`;
  if (sign !== undefined && /^(0001|9999)/.test(day!)) {
    const year = new Date(`${day}T${hour}:${minute}:00${zone}`).getUTCFullYear();
    if (year < 1 || year > 9999) return fault("is outside of the years 1 to 9999 in UTC");
  }
  return { kind: "time", text: `${day}T${clock}${options.zone ? zone : ""}` };
}

/** A day as YYYY-MM-DD, years 1 to 9999. */
export function isoDate(text: string): IsoTime {
  const found = DATE.exec(text);
  if (found === null) return fault("is not a date as YYYY-MM-DD");
  const [year, month, day] = [Number(found[1]), Number(found[2]), Number(found[3])];
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month))
    return fault("is no day of the calendar");
  return { kind: "time", text };
}

/** Days of a month, counted from 1, in the Gregorian calendar. */
export function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function fault(reason: string): IsoTime {
  return { kind: "fault", reason };
}
