import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { dateIn, dayIn } from "./day.ts";

const HOUR = 3_600_000;
const day = (zone: string, date: string) => {
  const { startMs, endMs } = dayIn(zone, date);
  return [new Date(startMs).toISOString(), (endMs - startMs) / HOUR];
};

test("a day has as many hours as its clocks show", () => {
  assert.deepEqual(day("UTC", "2026-11-29"), ["2026-11-29T00:00:00.000Z", 24]);
  assert.deepEqual(day("Europe/Berlin", "2026-03-29"), ["2026-03-28T23:00:00.000Z", 23]);
  assert.deepEqual(day("Europe/Berlin", "2026-10-25"), ["2026-10-24T22:00:00.000Z", 25]);
  assert.deepEqual(day("Australia/Lord_Howe", "2026-04-05"), ["2026-04-04T13:00:00.000Z", 24.5]);
  assert.deepEqual(day("Asia/Kathmandu", "2026-01-01"), ["2025-12-31T18:15:00.000Z", 24]);
});

test("a day whose clocks skip midnight begins when they show its date first", () => {
  // At 00:00 clocks in Havana went on to 01:00.
  assert.deepEqual(day("America/Havana", "2026-03-08"), ["2026-03-08T05:00:00.000Z", 23]);
  assert.equal(dateIn("America/Havana", Date.parse("2026-03-08T04:59:59.999Z")), "2026-03-07");
});

test("a day that a zone left out, a date and a zone that there are not are wrong usage, and named", () => {
  const usage = (pattern: RegExp) => (error: unknown) =>
    isLabError(error, "USAGE") && pattern.test(error.message);
  assert.throws(() => dayIn("Pacific/Apia", "2011-12-30"), usage(/no 2011-12-30 in Pacific\/Apia/));
  assert.deepEqual(day("Pacific/Apia", "2011-12-31")[1], 24);
  for (const date of ["2026-02-30", "yesterday", "26-01-01", "2026-1-1", ""])
    assert.throws(() => dayIn("UTC", date), usage(/is no date/), date);
  assert.throws(() => dayIn("Europe/Bärlin", "2026-01-01"), usage(/no time zone/));
});

test("days follow each other without a gap, in every zone, for two years", () => {
  for (const zone of ["Europe/London", "America/St_Johns", "Africa/Casablanca", "Pacific/Chatham"]) {
    let end = dayIn(zone, "2025-12-31").endMs;
    for (let ms = Date.UTC(2026, 0, 1); ms < Date.UTC(2027, 11, 31); ms += 24 * HOUR) {
      const { startMs, endMs } = dayIn(zone, new Date(ms).toISOString().slice(0, 10));
      assert.equal(startMs, end, zone);
      end = endMs;
    }
  }
});
