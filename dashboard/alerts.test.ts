import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { parse } from "yaml";
import { silentLog } from "../core/log.ts";
import { until } from "../test/support/until.ts";
import { alertsOf, KEEP_SECONDS, LIMITS, RULES, type Sample, sampleOf } from "./alerts.ts";
import { alertsFile } from "./alerts-file.ts";
import { watchAlerts } from "./alerts-watch.ts";
import type { Part, StreamState } from "./control.ts";

const START = Date.parse("2026-11-30T00:00:00Z");

function stream(
  change: Partial<StreamState> & { letters?: number; rows?: number; lag?: string | null },
): StreamState {
  const { letters = 0, rows = 1_000, lag = "0", ...rest } = change;
  return {
    ...{ topic: "orders", table: "orders", tableUri: "file:///t/orders", state: "running", reason: null },
    ...{ version: 1, buffer: { rows: 0, bytes: 0 }, lastCommit: null, lastError: null },
    ...{ ratePerSecond: 1, secondsSinceProgress: 0 },
    partitions: [
      {
        partition: 0,
        settled: "1",
        position: "2",
        end: "2",
        lag,
        lagSeconds: lag === "0" ? 0 : 120,
        buffered: 0,
      },
    ],
    totals: { rows, letters, skipped: 0, commits: 1, conflicts: 0, rebalances: 1 },
    ...rest,
  };
}

const worker = (name: string, streams: StreamState[] | null, pid = 1): Part => ({
  ...{ name, kind: "ingest", pid, startedAt: null, alive: true, address: null },
  state: streams && { part: "ingest", pid, streams },
});

/** One look every 10 s; `at` says how the stream is that many seconds in. */
const looks = (seconds: number, at: (second: number) => Part[]): Sample[] =>
  Array.from({ length: seconds / 10 + 1 }, (_, n) => sampleOf(at(n * 10), START + n * 10_000));
const names = (samples: Sample[]) => alertsOf(samples).map(({ name }) => name);
const one = (change: Parameters<typeof stream>[0]) => [worker("ingest", [stream(change)])];

test("while all is well there is no alert, also with a backlog that shrinks", () => {
  assert.deepEqual(alertsOf([]), []);
  assert.deepEqual(names(looks(1_200, () => one({}))), []);
  assert.deepEqual(names(looks(1_200, (s) => one({ lag: String(100_000 - s) }))), []);
  // How far behind it is may be unknown: that is no lag that grows.
  assert.deepEqual(names(looks(1_200, () => one({ lag: null }))), []);
});

test("a failed stream is told at the first look, by its error", () => {
  const lastError = { code: "TOPIC_RESET", message: "made anew", at: "2026-11-30T00:00:00.000Z" };
  const [alert] = alertsOf(looks(0, () => one({ state: "failed", lastError, reason: "made anew" })));
  assert.deepEqual(
    [alert?.name, alert?.severity, alert?.topic, alert?.since],
    ["LabStreamFailed", "critical", "orders", "2026-11-30T00:00:00.000Z"],
  );
  assert.match(alert?.message ?? "", /TOPIC_RESET/);
});

test("no progress is told when records have waited too long, by one worker of several", () => {
  const at = (seconds: number) => [
    worker("ingest", [stream({})]),
    worker("ingest-2", [stream({ secondsSinceProgress: seconds })], 2),
  ];
  assert.deepEqual(names(looks(0, () => at(LIMITS.noProgress))), []);
  assert.deepEqual(names(looks(0, () => at(LIMITS.noProgress + 1))), ["LabNoProgress"]);
});

test("lag counts as growing when it is old, larger than a while ago, and stays so", () => {
  const growing = (seconds: number) => looks(seconds, (s) => one({ lag: String(1 + s) }));
  assert.deepEqual(names(growing(LIMITS.lagWindow + LIMITS.lagFor - 20)), []);
  const [alert] = alertsOf(growing(LIMITS.lagWindow + LIMITS.lagFor));
  assert.equal(alert?.name, "LabLagGrowing");
  assert.equal(Date.parse(alert?.since ?? ""), START + LIMITS.lagWindow * 1000);
  assert.match(alert?.message ?? "", /901 records behind, 600 more than 10 min ago/);
});

test("a pause is told once it lasts, and one that ended in between begins anew", () => {
  const paused = (seconds: number, gap = -1) =>
    looks(seconds, (s) => one(s === gap ? {} : { state: "paused", reason: "the store is away" }));
  assert.deepEqual(names(paused(LIMITS.pausedFor - 10)), []);
  assert.deepEqual(names(paused(LIMITS.pausedFor)), ["LabPaused"]);
  assert.deepEqual(names(paused(LIMITS.pausedFor, 100)), []);
});

test("letters are told by their share of what came in lately, across a restart of the worker", () => {
  const with_ = (letters: (second: number) => number) =>
    looks(600, (s) => one({ rows: 1_000 + s * 10, letters: letters(s) }));
  assert.deepEqual(names(with_(() => 5_000)), [], "old letters are no news");
  assert.deepEqual(names(with_((s) => s / 20)), [], "a share below the limit");
  assert.deepEqual(names(with_((s) => s)), ["LabLetters"]);
  assert.deepEqual(names(looks(600, (s) => one({ rows: 0, letters: s === 600 ? 9 : 0 }))), [], "too few");
  const restarted = looks(100, (s) => [
    worker("ingest", [stream({ rows: 0, letters: s < 50 ? 7 : 8 })], s < 50 ? 1 : 2),
  ]);
  assert.deepEqual(names(restarted), []);
});

test("a process that is silent or gone is told by name", () => {
  const silent = (seconds: number) => looks(seconds, () => [worker("ingest-a", null)]);
  assert.deepEqual(names(silent(LIMITS.downFor - 10)), []);
  const [alert] = alertsOf(silent(LIMITS.downFor));
  assert.deepEqual([alert?.name, alert?.part, alert?.topic], ["LabPartDown", "ingest-a", null]);
  const gone = looks(60, () => [{ ...worker("kafka", null), kind: "kafka", alive: false }]);
  assert.deepEqual(names(gone), ["LabPartDown"]);
});

test("compose/alerts.yml holds the same rules, and only metrics that the ingester serves", async () => {
  const written = await readFile(new URL("../compose/alerts.yml", import.meta.url), "utf8");
  assert.equal(written, alertsFile(), "write compose/alerts.yml anew from alertsFile()");
  const { groups } = parse(written) as { groups: { rules: { alert: string; expr: string }[] }[] };
  assert.deepEqual(
    groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)),
    RULES.map(({ name }) => name),
  );
  const served = await readFile(new URL("../ingest/metrics.ts", import.meta.url), "utf8");
  for (const { expr } of RULES)
    for (const [name] of expr.matchAll(/lab_\w+/g)) assert.ok(served.includes(`"${name}"`), name);
});

test("the watcher keeps what the rules need and no more, logs a new alert once, and ends", async () => {
  const lines: unknown[] = [];
  const log = Object.assign(Object.create(silentLog), { warn: (line: unknown) => lines.push(line) });
  const stopping = new AbortController();
  let nowMs = START;
  const control = {
    parts: async () => {
      nowMs += 30_000;
      return one({ state: "paused", reason: "the store is away" });
    },
  };
  const watch = watchAlerts({ control, log, now: () => nowMs, signal: stopping.signal, everyMs: 1 });
  const [alert] = await until("an alert", () => watch.alerts().length > 0 && watch.alerts());
  assert.equal(alert?.name, "LabPaused");
  await until("samples are let go", () => nowMs - START > 2 * KEEP_SECONDS * 1000);
  assert.ok(Date.parse(watch.alerts()[0]!.since) >= nowMs - (KEEP_SECONDS + 60) * 1000);
  assert.equal(lines.length, 1);
  stopping.abort();
  await watch.ended;
});
