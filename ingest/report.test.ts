import assert from "node:assert/strict";
import { test } from "node:test";
import { LabError } from "../core/errors.ts";
import { LIMITS } from "../test/support/machine-limits.ts";
import { areReady, createReport } from "./report.ts";
import { initialState, type State } from "./state.ts";

/** A report of a stream that has partition 0, on a clock that is set by hand. */
function running() {
  let nowMs = Date.parse("2026-11-30T12:00:00Z");
  const report = createReport({ topic: "t", tableUri: "file:///tables/t" }, () => nowMs);
  const state: State = {
    ...initialState(LIMITS),
    ...{ phase: "running", generation: 0, assigned: [0] },
    partitions: new Map([[0, { next: 0n, settled: 0n }]]),
  };
  report.observe(state);
  report.opened(0);
  report.position(0, 0n);
  const settle = (next: bigint, rows: number) =>
    report.committed({
      ...{ version: 1, rows, letters: 0, skipped: 0, durationMs: 5 },
      settled: new Map([[0, next]]),
      counts: new Map([[0, { maxTimestampMs: nowMs }]]),
    });
  const ends = (next: bigint) => report.ends(new Map([[0, next]]));
  const wait = (seconds: number) => {
    nowMs += seconds * 1000;
  };
  return { report, settle, ends, wait };
}

test("the rate is of the last half minute, and 0 once nothing comes any more", () => {
  const { report, settle, wait } = running();
  wait(10);
  settle(100n, 100);
  assert.equal(report.read().ratePerSecond, 10);
  wait(20);
  settle(200n, 100);
  assert.equal(report.read().ratePerSecond, 6.7);
  wait(11);
  assert.equal(report.read().ratePerSecond, 3.3);
  wait(60);
  assert.equal(report.read().ratePerSecond, 0);
});

test("time without progress counts while records wait, from the last position that moved", () => {
  const { report, settle, ends, wait } = running();
  ends(0n);
  wait(100);
  ends(0n);
  assert.equal(report.read().secondsSinceProgress, 0, "a quiet topic");
  wait(5);
  ends(10n);
  assert.equal(report.read().secondsSinceProgress, 5, "since the last look at which nothing waited");
  wait(40);
  ends(10n);
  assert.equal(report.read().secondsSinceProgress, 45);
  settle(5n, 5);
  wait(1);
  assert.equal(report.read().secondsSinceProgress, 1, "some are in, others wait");
  settle(10n, 5);
  assert.equal(report.read().secondsSinceProgress, 0);
});

test("a lag is not known for longer than the brokers have answered, and then counts as records that wait", () => {
  const { report, ends, wait } = running();
  ends(3n);
  assert.deepEqual([report.read().partitions[0]?.lag, report.read().partitions[0]?.lagSeconds], ["3", 0]);
  wait(31);
  assert.deepEqual([report.read().partitions[0]?.lag, report.read().partitions[0]?.lagSeconds], [null, null]);
  assert.equal(report.read().secondsSinceProgress, 31);
});

test("a stream that failed says so, with its error, and waits no more", () => {
  const { report, ends, wait } = running();
  ends(3n);
  report.failed(new LabError("TOPIC_RESET", "made anew"));
  wait(500);
  const { state, lastError, secondsSinceProgress } = report.read();
  assert.deepEqual([state, lastError?.code, secondsSinceProgress], ["failed", "TOPIC_RESET", 0]);
});

test("a process is ready when each stream has begun or failed, and one works", () => {
  const ready = (...states: Parameters<typeof areReady>[0][number]["state"][]) =>
    areReady(states.map((state) => ({ state })));
  assert.equal(ready("running", "paused", "failed"), true);
  assert.equal(ready("running", "joining"), false);
  assert.equal(ready("failed"), false);
  assert.equal(ready(), false);
});
