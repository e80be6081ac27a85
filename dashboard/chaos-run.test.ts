import assert from "node:assert/strict";
import { test } from "node:test";
import { FAULTS, type FaultName } from "./chaos.ts";
import { type ChaosRun, firstSight, follow, type Seen } from "./chaos-run.ts";
import type { Flow, FlowIngester, FlowStream } from "./flow.ts";
import type { TableLedger } from "./ledger-watch.ts";

const START = Date.parse("2026-11-30T08:00:00.000Z");
const at = (seconds: number) => new Date(START + seconds * 1000).toISOString();
const target = { topic: "orders", table: "orders", ingester: "ingest" };

function ingester(change: Partial<FlowIngester> = {}): FlowIngester {
  return {
    ...{
      name: "ingest",
      pid: 1,
      startedAt: at(-60),
      status: "answering",
      lastAnswer: null,
      state: "running",
      reason: null,
      version: 7,
    },
    ...{ buffer: { rows: 0, bytes: 0 }, lastCommit: null, lastError: null },
    totals: { rows: 0, letters: 0, skipped: 0, commits: 0, conflicts: 0, rebalances: 0 },
    ...change,
  };
}

function flow(
  seconds: number,
  ingesters: FlowIngester[],
  change: Partial<FlowStream> = {},
  isDown = false,
): Flow {
  const partition = {
    partition: 0,
    start: "0",
    end: "10",
    settled: "1203",
    lag: "0",
    lagSeconds: 0,
    buffered: 0,
  };
  const stream: FlowStream = {
    ...{
      topic: "orders",
      table: "orders",
      producers: [],
      records: "10",
      producedPerSecond: 1,
      quietSince: null,
    },
    ...{ ingesters, ingestedPerSecond: 1, lag: "0", lagSeconds: 0 },
    partitions: [{ ...partition, owner: ingesters.at(-1)?.name ?? null }],
    ...change,
  };
  const problem = isDown ? { code: "BROKER_UNREACHABLE", message: "no broker" } : null;
  return { at: at(seconds), streams: [stream], parts: [], problem };
}

const counted = (seconds: number, verdict: TableLedger["verdict"] = "whole"): TableLedger => ({
  ...{ topic: "orders", table: "orders", verdict, why: null, checkedAt: at(seconds), version: 1 },
  ...{ lines: [], minutes: [], culprits: [], nameless: 0n, isMerged: false },
});

/** Follows a fault over these looks, each with the ledger that was counted by then. */
function watch(name: FaultName, looks: [Flow, TableLedger | null][], healsAfter: number | null = null) {
  const fault = FAULTS.find((one) => one.name === name)!;
  let run: ChaosRun = {
    ...{ id: 1, fault, target, startedAt: at(0), healsAt: healsAfter === null ? null : at(healsAfter) },
    ...{ lines: [], isOver: false, verdict: null },
  };
  let seen: Seen = firstSight(flow(0, [ingester()]), target);
  for (const [look, ledger] of looks) {
    if (run.isOver) break;
    ({ run, seen } = follow(run, seen, look, ledger));
  }
  return { ...run, texts: run.lines.map(({ text }) => text) };
}

test("a kill is told with both pids and where it resumes, and is over only when the ledger was counted afterwards", () => {
  const looks: [Flow, TableLedger | null][] = [
    [flow(1, [ingester()]), counted(1)],
    [flow(2, [ingester({ status: "gone" })]), counted(2)],
    [flow(4, [ingester({ pid: 2, state: "starting" })], { lag: "900", lagSeconds: 9 }), counted(4)],
    [flow(6, [ingester({ pid: 2 })]), counted(5)],
  ];
  const before = watch("kill-after-commit", looks);
  assert.equal(before.isOver, false, "a count from before it was well proves nothing");
  assert.deepEqual(before.texts, [
    "ingest ended, pid 1",
    "ingest is back as pid 2, was pid 1; resumes orders-0 at 1,204",
    "ingest is starting",
    "ingest is running",
    "caught up, lag at most 900",
  ]);
  const after = watch("kill-after-commit", [
    ...looks,
    [flow(8, [ingester({ pid: 2 })]), counted(7, "broken")],
  ]);
  assert.deepEqual([after.isOver, after.verdict], [true, "broken"]);
});

test("a kill shows where the next process has the same pid, as it has in a container", () => {
  const run = watch("kill-after-commit", [
    [flow(1, [ingester({ status: "silent" })]), counted(1)],
    [flow(3, [ingester({ startedAt: at(2) })]), counted(2)],
    [flow(5, [ingester({ startedAt: at(2) })]), counted(4)],
    [flow(9, [ingester({ startedAt: at(2) })]), counted(8)],
  ]);
  assert.deepEqual(run.texts, [
    "ingest does not answer, pid 1",
    `ingest is back as pid 1, as before, started ${at(2)}; resumes orders-0 at 1,204`,
    "caught up, lag at most 0",
  ]);
  assert.equal(run.isOver, true);
});

test("what comes anyway is no sign of a fault: a new version does not end a kill that did not happen yet", () => {
  const next = ingester({
    version: 8,
    lastCommit: { version: 8, at: at(1), rows: 90, letters: 0, durationMs: 1 },
  });
  const run = watch("kill-before-upload", [
    [flow(1, [next]), counted(1)],
    [flow(2, [next]), counted(3)],
    [flow(4, [next]), counted(5)],
  ]);
  assert.deepEqual([run.texts, run.isOver], [["version 8 by pid 1: 90 rows"], false]);
});

test("an outage is over when it is healed and both sides answer, not before", () => {
  const paused = ingester({ state: "paused", reason: "no broker answers" });
  const looks: [Flow, TableLedger | null][] = [
    [flow(2, [paused], { lag: null }, true), null],
    [flow(5, [ingester()]), counted(6)],
    [flow(7, [ingester()]), counted(8)],
  ];
  assert.equal(watch("stop-broker", looks, 10).isOver, false);
  const healed = watch(
    "stop-broker",
    [...looks, [flow(11, [ingester()]), null], [flow(13, [ingester()]), counted(12)]],
    10,
  );
  assert.deepEqual([healed.isOver, healed.verdict], [true, "whole"]);
  assert.deepEqual(healed.texts.slice(0, 4), [
    "the broker does not answer (BROKER_UNREACHABLE)",
    "ingest is paused: no broker answers",
    "the broker answers again",
    "ingest is running",
  ]);
});

test("a second worker is told with its pid and the partitions that move to it and back", () => {
  const worker = ingester({ name: "ingest-worker-2", pid: 9 });
  const run = watch(
    "second-worker",
    [
      [flow(2, [ingester(), worker]), null],
      [flow(31, [ingester()]), null],
    ],
    30,
  );
  assert.deepEqual(run.texts.slice(0, 4), [
    "ingest-worker-2 joins as pid 9",
    "orders-0 moved from ingest to ingest-worker-2",
    "ingest-worker-2 is gone",
    "orders-0 moved from ingest-worker-2 to ingest",
  ]);
});
