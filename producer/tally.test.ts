import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { addChecksums, messageChecksum, WINDOW_MS, windowOf } from "../audit/header.ts";
import { createTally } from "./tally.ts";

const NOON = Date.UTC(2026, 10, 29, 12);
const tally = (isTimed = false) =>
  createTally({ topic: "orders", origin: "shop", epoch: NOON, host: "here", isTimed });

test("a window is stated with its totals, again when more of it is acknowledged, and before the heartbeat", () => {
  const counts = tally();
  counts.landed(counts.stamp(NOON + 1), "a");
  const [first, beat] = counts.heartbeat(NOON + 10_000, false);
  assert.deepEqual(
    [first?.stage, first?.window_start, first?.day, first?.count, first?.revision],
    ["produced", "2026-11-29T12:00:00.000Z", "2026-11-29", 1, 1],
  );
  assert.deepEqual(
    [beat?.stage, beat?.window_start, beat?.count],
    ["heartbeat", "2026-11-29T12:00:00.000Z", 0],
  );
  assert.deepEqual(
    counts.heartbeat(NOON + 20_000, false).map(({ stage }) => stage),
    ["heartbeat"],
  );
  counts.landed(counts.stamp(NOON + 2), "b");
  const [again] = counts.heartbeat(NOON + 30_000, true);
  assert.deepEqual(
    [again?.count, again?.first_sequence, again?.last_sequence, again?.revision, again?.closed],
    [2, 0, 1, 2, true],
  );
});

test("nothing earlier will come than what is on its way, or than now", () => {
  const counts = tally();
  const low = (nowMs: number) => Date.parse(counts.heartbeat(nowMs, false).at(-1)!.low_event_time);
  assert.equal(low(NOON + 5), NOON + 5);
  const [early, late] = [counts.stamp(NOON + 10), counts.stamp(NOON + 20)];
  assert.equal(low(NOON + 500), NOON + 10);
  counts.landed(early, null);
  assert.equal(low(NOON + 500), NOON + 20);
  counts.landed(late, null);
  assert.equal(low(NOON + 500), NOON + 500);
});

test("where messages bring their own times, the newest of them is as far as the run has come", () => {
  const counts = tally(true);
  const yesterday = NOON - 24 * 3_600_000;
  const low = (nowMs: number) => counts.heartbeat(nowMs, false).at(-1)?.low_event_time;
  assert.equal(low(NOON + 1), new Date(0).toISOString(), "nothing is known of what will come");
  counts.landed(counts.stamp(NOON + 7), "x");
  counts.landed(counts.stamp(yesterday), "late");
  const rows = counts.heartbeat(NOON + 1_000_000, false);
  assert.equal(rows.at(-1)?.low_event_time, new Date(NOON + 7).toISOString());
  assert.equal(low(NOON + 1_000_000 + WINDOW_MS - 1), new Date(NOON + 7).toISOString());
  assert.equal(low(NOON + 1_000_000 + WINDOW_MS), new Date(NOON + 1_000_000).toISOString(), "idle");
  const [late] = [counts.stamp(yesterday + 1)];
  assert.equal(
    low(NOON + 9_000_000),
    new Date(yesterday + 1).toISOString(),
    "what is on its way holds it back",
  );
  counts.landed(late!, "later");
  assert.deepEqual(
    rows.map(({ window_start }) => window_start),
    ["2026-11-28T12:00:00.000Z", "2026-11-29T12:00:00.000Z", "2026-11-29T12:15:00.000Z"],
  );
});

test("whatever lands in whatever order, counts, places and checksums are those of what landed", () => {
  const sendings = fc.array(
    fc.record({ at: fc.nat(3_000_000), value: fc.option(fc.string(), { nil: null }), lands: fc.nat(99) }),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(sendings, (messages) => {
      const counts = tally();
      const sent = messages.map((one) => ({ ...one, stamp: counts.stamp(NOON + one.at) }));
      const landing = sent.filter(({ lands }) => lands < 80).sort((a, b) => a.lands - b.lands);
      for (const { stamp, value } of landing) counts.landed(stamp, value);
      const rows = counts.heartbeat(NOON + 4_000_000, false).slice(0, -1);
      const starts = [...new Set(landing.map(({ stamp }) => windowOf(stamp.eventTimeMs)))].sort(
        (a, b) => a - b,
      );
      assert.deepEqual(
        rows.map(({ window_start, count, first_sequence, last_sequence, checksum }) => ({
          ...{ window_start, count, first_sequence, last_sequence, checksum },
        })),
        starts.map((start) => {
          const its = landing.filter(({ stamp }) => windowOf(stamp.eventTimeMs) === start);
          const places = its.map(({ stamp }) => stamp.windowSequence);
          return {
            ...{ window_start: new Date(start).toISOString(), count: its.length },
            ...{ first_sequence: Math.min(...places), last_sequence: Math.max(...places) },
            checksum: its.reduce(
              (sum, { stamp, value }) => addChecksums(sum, messageChecksum(stamp.windowSequence, value)),
              0,
            ),
          };
        }),
      );
    }),
  );
});
