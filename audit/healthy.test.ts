import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CommitInfo } from "../delta/actions.ts";
import { auditInfos, createAuditCounts } from "../ingest/audit-counts.ts";
import { createTally, type Tally } from "../producer/tally.ts";
import { auditAlerts } from "./alerts.ts";
import { answerFor } from "./answer.ts";
import { type Beat, SILENT_MS, type Statement, type TopicFacts } from "./findings.ts";
import { AUDIT_HEADER, encodeStamp, type Stamp } from "./header.ts";
import { settledSums } from "./settled.ts";

const DAY = Date.UTC(2026, 10, 29);
const SPAN = { startMs: DAY, endMs: DAY + 24 * 3_600_000 };
const PARTITIONS = 2;
/** Commits come at least as often. */
const MOST_LAG_MS = 8 * 60_000;

type Sent = { stamp: Stamp; value: string; atMs: number };

/** A topic, its producers and its table in memory: what they say is what the real ones say, and nothing is lost or doubled. */
function healthyLab() {
  let nowMs = DAY + 9 * 3_600_000;
  const partitions: Sent[][] = Array.from({ length: PARTITIONS }, () => []);
  const next = partitions.map(() => 0);
  const commits: CommitInfo[] = [];
  const statements = new Map<string, Statement & { revision: number }>();
  const beats = new Map<string, Beat>();
  const producers = new Map<string, { tally: Tally; waiting: Sent[] }>();
  let rolledTo = 0;
  let committedMs = nowMs;

  function startRun(origin: string): void {
    nowMs++;
    const tally = createTally({ topic: "t", origin, epoch: nowMs, host: "h", isTimed: false });
    producers.set(origin, { tally, waiting: [] });
  }

  function beat(origin: string, isClosed = false): void {
    for (const row of producers.get(origin)!.tally.heartbeat(nowMs, isClosed)) {
      const run = { origin, epoch: row.epoch, sentAtMs: nowMs };
      if (row.stage === "produced") {
        const windowMs = Date.parse(row.window_start);
        const { count, checksum, revision, first_sequence: first, last_sequence: last } = row;
        const said = { ...run, windowMs, count, checksum, revision, first, last };
        statements.set(`${origin}/${row.epoch}/${windowMs}`, said);
      } else
        beats.set(`${origin}/${row.epoch}`, {
          ...{ ...run, host: row.host, receivedAtMs: nowMs + 30, isClosed: row.closed },
          lowEventTimeMs: Date.parse(row.low_event_time),
        });
    }
  }

  /** What was sent before is acknowledged now. */
  function acknowledge(origin: string): void {
    const { tally, waiting } = producers.get(origin)!;
    for (const { stamp, value } of waiting.splice(0)) tally.landed(stamp, value);
  }

  function commit(which: readonly number[], most: number): void {
    const counts = createAuditCounts();
    for (const partition of which) {
      const from = next[partition]!;
      const some = partitions[partition]!.slice(from, from + most);
      next[partition] = from + some.length;
      for (const { stamp, value, atMs } of some)
        counts.received({
          headers: [[AUDIT_HEADER, encodeStamp(stamp)]],
          ...{ value: Buffer.from(value), timestampMs: atMs },
        });
    }
    commits.push({
      lab: { v: 1, partitions: [], audit: auditInfos("t", [counts]) },
    } as unknown as CommitInfo);
    committedMs = nowMs;
  }

  const acts = {
    send(origin: string, n: number) {
      const { tally, waiting } = producers.get(origin)!;
      for (let i = 0; i < n; i++) {
        const sent = { stamp: tally.stamp(nowMs), value: `${origin} ${i}`, atMs: nowMs };
        partitions[(n + i) % PARTITIONS]!.push(sent);
        waiting.push(sent);
      }
    },
    /** In order: its last word says so. */
    restart(origin: string) {
      acknowledge(origin);
      beat(origin, true);
      startRun(origin);
    },
    /** The broker has what was not acknowledged. */
    kill: (origin: string) => startRun(origin),
    commit: (_: string, n: number) => commit([0, 1], n),
    /** One worker has one partition. */
    rebalance: (_: string, n: number) => commit([n % PARTITIONS], n),
    optimize: () => void commits.push({ operation: "OPTIMIZE" } as CommitInfo),
    rollUp() {
      rolledTo = commits.length;
    },
  };

  for (const origin of ["a", "b"]) startRun(origin);
  return {
    act(what: keyof typeof acts, origin: string, n: number, waitMs: number) {
      nowMs += waitMs;
      for (const one of producers.keys()) acknowledge(one);
      acts[what](origin, n);
      for (const one of producers.keys()) beat(one);
      if (nowMs - committedMs > MOST_LAG_MS) commit([0, 1], 1e9);
    },
    end() {
      for (const origin of producers.keys()) {
        acknowledge(origin);
        beat(origin, true);
      }
      commit([0, 1], 1e9);
      nowMs = SPAN.endMs + SILENT_MS;
    },
    look() {
      const sums = settledSums();
      const rolled = settledSums();
      for (const info of commits.slice(0, rolledTo)) rolled.addCommit(info);
      for (const one of rolled.all) sums.add(one);
      for (const info of commits.slice(rolledTo)) sums.addCommit(info);
      const waiting = partitions.flatMap((all, partition) => all.slice(next[partition]));
      const facts: TopicFacts = {
        ...{ topic: "t", table: "t", statements: [...statements.values()], beats: [...beats.values()] },
        ...{ settled: sums.all, expected: ["a", "b"], retired: [], gone: 0, forgottenMs: undefined },
        lag: waiting.length,
        waitingSinceMs: waiting.length > 0 ? Math.min(...waiting.map(({ atMs }) => atMs)) : undefined,
      };
      const answer = answerFor(facts, SPAN, nowMs);
      return {
        answer,
        sent: partitions.flat().length,
        alerts: auditAlerts({ atMs: nowMs, answers: [answer], skews: [], late: [], rollUps: [] }),
      };
    },
  };
}

const acts = fc.array(
  fc.record({
    what: fc.constantFrom(
      ...([
        "send",
        "send",
        "send",
        "restart",
        "kill",
        "commit",
        "commit",
        "rebalance",
        "optimize",
        "rollUp",
      ] as const),
    ),
    origin: fc.constantFrom("a", "b"),
    n: fc.integer({ min: 1, max: 6 }),
    waitMs: fc.integer({ min: 0, max: SILENT_MS - 1_000 }),
  }),
  { maxLength: 60 },
);

test("a thousand healthy runs with restarts, kills, rebalances, optimizes and roll-ups raise no alarm at any moment, and end complete", () => {
  fc.assert(
    fc.property(acts, (all) => {
      const lab = healthyLab();
      const passing = new Set(["running", "lagging", "in flight"]);
      for (const { what, origin, n, waitMs } of all) {
        lab.act(what, origin, n, waitMs);
        const { answer, alerts } = lab.look();
        assert.deepEqual(alerts, []);
        assert.deepEqual(
          answer.findings.filter(({ cause }) => !passing.has(cause)),
          [],
        );
        assert.notEqual(answer.percent, 100);
      }
      lab.end();
      const { answer, sent, alerts } = lab.look();
      assert.deepEqual([answer.answer, answer.percent, answer.settled], ["yes", 100, sent]);
      assert.deepEqual([answer.findings, alerts], [[], []]);
    }),
    { numRuns: 1_000 },
  );
});
