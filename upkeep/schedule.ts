/** Upkeep at intervals: of all workers on a table one gets to each turn, by a transaction in the table's own log. */

import { isLabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { targetFileSize } from "../delta/table-properties.ts";
import { auditsOf } from "../engine/lab-info.ts";
import { packBins } from "./bins.ts";

export type Chore = "optimize" | "vacuum" | "cleanup" | "rollup";

/** Milliseconds between two turns; a chore that is absent is never done. */
export type Intervals = Readonly<Partial<Record<Chore, number>>>;

export type ScheduleOptions = {
  /** Null while the table is yet to be made. */
  openTable: (signal: AbortSignal) => Promise<Table | null>;
  /** Prefix of the transactions: workers of one app share the turns. */
  app: string;
  intervals: Intervals;
  /** Does a chore of the table; where it rejects, the next turn does it. */
  perform: (chore: Chore, signal: AbortSignal) => Promise<void>;
  /** A turn that failed, or could not be taken. */
  onFailure: (error: unknown, chore: Chore | null) => void;
  now: () => number;
  /** Number in [0, 1): workers that wait for the same turn wake apart. */
  random: () => number;
};

/** How often a table is looked for that is yet to be made, or whose store is away; more often where a chore is. */
const LOOK_MS = 60_000;
const MOST_SPREAD_MS = 5_000;

/** Runs until `signal` aborts, and never rejects. */
export async function runSchedule(options: ScheduleOptions, signal: AbortSignal): Promise<void> {
  const turns = createTurns(options);
  const lookMs = lookEvery(options.intervals);
  try {
    for (;;) {
      const waitMs = await turns(signal).catch((error: unknown) => {
        if (!signal.aborted) options.onFailure(error, null);
        return lookMs;
      });
      await sleep(waitMs + options.random() * Math.min(MOST_SPREAD_MS, waitMs), signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function lookEvery(intervals: Intervals): number {
  return Math.min(LOOK_MS, ...Object.values(intervals));
}

/**
 * Takes the turns that are due, one after the other, and says how long the next one is away, in ms. A turn is taken by moving the transaction
 * `<app>/upkeep/<chore>` to the present time; a worker that loses that race leaves the turn to the winner.
 */
export function createTurns(options: ScheduleOptions): (signal: AbortSignal) => Promise<number> {
  const { app, intervals, now } = options;
  const chores = Object.keys(intervals) as Chore[];
  let table: Table | null = null;
  /** Until when nothing is to be done, as far as is known here. */
  const idleUntil = new Map<Chore, number>();

  return async (signal) => {
    table ??= await options.openTable(signal);
    if (table === null) return lookEvery(intervals);
    for (const chore of chores) {
      const snapshot = await table.latest(signal);
      const nowMs = now();
      if (
        dueAt(snapshot, app, chore, intervals[chore]!, nowMs) > nowMs ||
        (idleUntil.get(chore) ?? 0) > nowMs
      )
        continue;
      idleUntil.set(chore, nowMs + intervals[chore]!);
      if (chore === "optimize" && !hasBins(snapshot)) continue;
      if (chore === "rollup" && !(await speaksOfAudit(table, signal))) continue;
      try {
        if (await takeTurn(table, snapshot, app, chore, nowMs, signal)) await options.perform(chore, signal);
      } catch (error) {
        signal.throwIfAborted();
        options.onFailure(error, chore);
        if (!isLabError(error, "NOT_A_TABLE")) continue;
        table = null;
        return lookEvery(intervals);
      }
    }
    const snapshot = await table.latest(signal);
    const waits = chores.map((chore) => {
      const due = dueAt(snapshot, app, chore, intervals[chore]!, now());
      return Math.max(due, idleUntil.get(chore) ?? 0) - now();
    });
    return Math.max(0, Math.min(...waits, 24 * 3_600_000));
  };
}

/**
 * When a chore is due, in ms since the epoch: an interval after its last turn, or after the table was made. A turn that lies in the future, of
 * a clock that was wrong, does not count.
 */
export function dueAt(
  snapshot: Snapshot,
  app: string,
  chore: Chore,
  intervalMs: number,
  nowMs: number,
): number {
  const turn = snapshot.txn(turnId(app, chore));
  const last = turn === undefined ? (snapshot.metadata.createdTime ?? 0) : Number(turn);
  return last > nowMs ? nowMs : last + intervalMs;
}

/** The transaction whose version is the time of a chore's last turn, in ms. */
export function turnId(app: string, chore: Chore): string {
  return `${app}/upkeep/${chore}`;
}

function hasBins(snapshot: Snapshot): boolean {
  const targetBytes = targetFileSize(snapshot.metadata.configuration);
  return packBins(snapshot.files(), { targetBytes, rule: "tiered" }).length > 0;
}

/** Commits that are looked at for a word to an audit. */
const LATEST = 100;

async function speaksOfAudit(table: Table, signal: AbortSignal): Promise<boolean> {
  for await (const { commitInfo } of table.history({ limit: LATEST, signal }))
    if (auditsOf(commitInfo).length > 0) return true;
  return false;
}

async function takeTurn(
  table: Table,
  readSnapshot: Snapshot,
  app: string,
  chore: Chore,
  nowMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const result = await table.commit(
    {
      readSnapshot,
      operation: "UPKEEP",
      operationParameters: { chore },
      txns: [{ appId: turnId(app, chore), version: BigInt(nowMs) }],
    },
    signal,
  );
  return result.kind === "committed";
}
