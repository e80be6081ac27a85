import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { dayIn } from "../audit/day.ts";
import { auditDay, auditedTopic } from "../test/support/audit-day.ts";
import type { AuditDay } from "./audit.ts";

// The page's modules are plain JavaScript; their own types are checked with the page's.
const words = await import(new URL("./page/audit-words.js", import.meta.url).href);

const NOON = Date.UTC(2026, 4, 4, 12);
const inZone = (timeZone: string, date: string): AuditDay => {
  const { startMs, endMs } = dayIn(timeZone, date);
  const [from, to] = [startMs, endMs].map((ms) => new Date(ms).toISOString()) as [string, string];
  return { date, timeZone, from, to, answer: "yes", auditLag: 0, brokersClock: true, topics: [] };
};

test("a day has as many hours as its zone gave it, each with the time that clocks showed", () => {
  const labels = (zone: string, date: string) => {
    const day = inZone(zone, date);
    return words
      .heatOf(day, auditedTopic("t", day, { completeTo: day.to }), Date.parse(day.to))
      .map(({ label }: { label: string }) => label);
  };
  assert.equal(labels("Europe/Berlin", "2026-03-29").length, 23);
  const long = labels("Europe/Berlin", "2026-10-25");
  assert.deepEqual([long.length, long.slice(1, 5)], [25, ["01:00", "02:00", "02:00", "03:00"]]);
  assert.deepEqual(labels("Asia/Kathmandu", "2026-05-04").slice(0, 2), ["00:00", "01:00"]);
  assert.equal(labels("Australia/Lord_Howe", "2026-04-05").length, 25, "24 hours and a half");
});

test("every window is in exactly one hour, whatever the zone", () => {
  const zones = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Havana"];
  fc.assert(
    fc.property(fc.constantFrom(...zones), fc.integer({ min: 1, max: 360 }), (zone, n) => {
      const day = inZone(zone, new Date(Date.UTC(2026, 0, n)).toISOString().slice(0, 10));
      const topic = auditedTopic("t", day, { completeTo: day.to });
      const hours = words.heatOf(day, topic, Date.parse(day.to));
      const sum = hours.reduce((all: number, { produced }: { produced: number }) => all + produced, 0);
      assert.equal(sum, topic.produced);
      const opened = hours.flatMap((hour: unknown, at: number) =>
        words.windowsOf(topic, hour, at === 0, zone),
      );
      assert.equal(opened.length, topic.windows?.length);
    }),
    { numRuns: 50 },
  );
});

test("an hour is what is worst in it, and what is yet to come is not called open", () => {
  const day = auditDay(NOON);
  const states = (n: number, nowMs: number) =>
    words.heatOf(day, day.topics[n], nowMs).map(({ state }: { state: string }) => state);
  assert.deepEqual(states(1, NOON).slice(3, 14), [
    ...["whole", "bad", "whole", "whole", "whole", "whole", "open", "open", "open", "future", "future"],
  ]);
  assert.equal(states(2, NOON)[11], "waiting");
  const idle = auditedTopic("t", day, { completeTo: day.to, windows: [] });
  assert.deepEqual(
    new Set(words.heatOf(day, idle, Date.parse(day.to)).map(({ state }: { state: string }) => state)),
    new Set(["empty"]),
  );
});

test("the clock tells how far the day is, and how far it is complete for the last of the topics", () => {
  const day = auditDay(NOON);
  assert.deepEqual(words.clockOf(day, NOON), {
    now: 0.5,
    complete: 9 / 24,
    completeMs: NOON - 3 * 3_600_000,
  });
  assert.equal(words.clockOf({ ...day, topics: [] }, NOON + 1e9).now, 1);
  assert.equal(words.clockOf({ ...day, topics: [] }, NOON).complete, 0, "of nobody nothing is known");
});

test("an address and what it stands for are each other's inverse", () => {
  const some = fc.option(fc.string({ minLength: 1, unit: "grapheme" }));
  const route = fc.record(
    { date: fc.string({ minLength: 1 }), zone: fc.string({ minLength: 1 }), topic: some, hour: some },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(route, (one) => {
      assert.deepEqual(words.parseAuditAddress(words.formatAuditAddress(one)), one);
    }),
  );
  assert.equal(words.formatAuditAddress({ date: "today", zone: "UTC", topic: null, hour: null }), "/audit");
  assert.equal(words.shiftDate("2026-03-01", -1), "2026-02-28");
});
