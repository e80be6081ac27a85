/** A calendar day of a time zone as instants: 23, 24 or 25 hours long, where clocks change. */

import { LabError } from "../core/errors.ts";

/** From `startMs` inclusive to `endMs` exclusive, in ms since 1970. */
export type Span = { startMs: number; endMs: number };

const DAY_MS = 86_400_000;
/** No zone was ever further from UTC than 16 hours; one day more for the end. */
const REACH_MS = 16 * 3_600_000;

/**
 * The day `date` (YYYY-MM-DD) in `zone`, an IANA name or UTC: from the first instant at which clocks there show that date to the first at which
 * they show a later one. USAGE for a date or a zone that there is not, and for a day that a zone left out.
 */
export function dayIn(zone: string, date: string): Span {
  const clock = localDates(zone);
  const midnight = Date.parse(`${date}T00:00:00Z`);
  if (!/^\d{4}-\d\d-\d\d$/.test(date) || Number.isNaN(midnight) || isoDate(midnight) !== date)
    throw new LabError("USAGE", `${JSON.stringify(date)} is no date`, {
      hint: "give it as 2026-11-29",
      details: { date },
    });
  const startMs = firstInstant(clock, date, midnight);
  const shown = clock(startMs);
  if (shown !== date)
    throw new LabError("USAGE", `there was no ${date} in ${zone}: its clocks went on to ${shown}`, {
      hint: "ask for the day before or after, or for another zone",
      details: { date, zone },
    });
  const next = isoDate(midnight + DAY_MS);
  return { startMs, endMs: firstInstant(clock, next, midnight + DAY_MS) };
}

/** The date that clocks in `zone` show at an instant; USAGE where there is no such zone. */
export function dateIn(zone: string, ms: number): string {
  return localDates(zone)(ms);
}

/** The day that somebody asks for: a date, `today`, or `yesterday`, the date before, however long the day was. USAGE as `dayIn`. */
export function dayAsked(zone: string, asked: string, nowMs: number): Span & { date: string } {
  const today = dateIn(zone, nowMs);
  const date =
    asked === "today"
      ? today
      : asked === "yesterday"
        ? isoDate(Date.parse(`${today}T00:00:00Z`) - DAY_MS)
        : asked;
  return { date, ...dayIn(zone, date) };
}

function localDates(zone: string): (ms: number) => string {
  let format: Intl.DateTimeFormat;
  try {
    const parts = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
    // Sweden writes dates as ISO 8601 does.
    format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, calendar: "gregory", ...parts });
  } catch {
    throw new LabError("USAGE", `there is no time zone ${JSON.stringify(zone)}`, {
      hint: "give an IANA name, such as Europe/Berlin, or UTC",
      details: { zone },
    });
  }
  return (ms) => format.format(ms);
}

/** The first instant at which clocks show `date` or a later one. */
function firstInstant(clock: (ms: number) => string, date: string, midnightUtc: number): number {
  let before = midnightUtc - REACH_MS;
  let at = midnightUtc + REACH_MS;
  while (at - before > 1) {
    const middle = Math.floor((before + at) / 2);
    if (clock(middle) >= date) at = middle;
    else before = middle;
  }
  return at;
}

const isoDate = (ms: number) => new Date(ms).toISOString().slice(0, 10);
