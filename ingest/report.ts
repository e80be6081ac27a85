/** What a stream says of itself at /state: plain numbers for people and the dashboard. */

import type { LabError } from "../core/errors.ts";
import type { FetchedBatch } from "../kafka/ports.ts";
import { tableNameOfUri } from "./identity.ts";
import type { StreamOptions } from "./options.ts";
import type { State } from "./state.ts";

export type PartitionReport = {
  partition: number;
  /** Last settled offset; null before the first commit. */
  settled: string | null;
  /** Next offset to read. */
  position: string;
  /** One past the last visible offset; null while unknown. */
  end: string | null;
  lag: string | null;
  lagSeconds: number | null;
  /** Messages read and not yet committed. */
  buffered: number;
};

export type StreamReport = {
  topic: string;
  table: string;
  tableUri: string;
  state: "starting" | "joining" | "running" | "paused" | "stopping" | "stopped";
  reason: string | null;
  version: number | null;
  buffer: { rows: number; bytes: number };
  lastCommit: { version: number; at: string; rows: number; letters: number; durationMs: number } | null;
  lastError: { code: string; message: string; at: string } | null;
  partitions: PartitionReport[];
  totals: {
    rows: number;
    letters: number;
    skipped: number;
    commits: number;
    conflicts: number;
    rebalances: number;
  };
};

export type Lag = { partition: number; records: bigint; seconds: number };

type Committed = {
  /** Null where letters were written before there was a table. */
  version: number | null;
  rows: number;
  letters: number;
  skipped: number;
  durationMs: number;
  settled: ReadonlyMap<number, bigint>;
  counts: ReadonlyMap<number, { maxTimestampMs: number }>;
};

export type Report = {
  observe(state: State): void;
  /** The log was read at this version; null where there is no table yet. */
  opened(version: number | null): void;
  position(partition: number, next: bigint): void;
  fetched(batch: FetchedBatch): void;
  committed(commit: Committed): void;
  outage(error: LabError, pauseMs: number): void;
  conflict(): void;
  rebalanced(): void;
  ends(next: ReadonlyMap<number, bigint>): void;
  stopped(): void;
  lags(): Lag[];
  read(): StreamReport;
};

export function createReport(options: Pick<StreamOptions, "topic" | "tableUri">, now: () => number): Report {
  let state: State | null = null;
  let isStopped = false;
  /** An outage that nothing has contradicted yet. */
  let outage: string | null = null;
  let version: number | null = null;
  let lastCommit: StreamReport["lastCommit"] = null;
  let lastError: StreamReport["lastError"] = null;
  const totals = { rows: 0, letters: 0, skipped: 0, commits: 0, conflicts: 0, rebalances: 0 };
  const settled = new Map<number, bigint>();
  const ends = new Map<number, bigint>();
  /** Since when something waits, per partition: the time of the oldest record read and not settled, or when the end was first seen to be ahead. */
  const waitingSince = new Map<number, number>();
  const iso = () => new Date(now()).toISOString();

  function lagOf(partition: number): Lag | null {
    const end = ends.get(partition);
    const next = settled.get(partition);
    if (end === undefined || next === undefined) return null;
    const records = end > next ? end - next : 0n;
    const since = waitingSince.get(partition);
    return {
      partition,
      records,
      seconds: records === 0n || since === undefined ? 0 : Math.max(0, (now() - since) / 1000),
    };
  }

  function isBuffered(partition: number): boolean {
    const progress = state?.partitions.get(partition);
    return progress !== undefined && progress.next > (settled.get(partition) ?? progress.next);
  }

  function phase(): StreamReport["state"] {
    if (isStopped) return "stopped";
    if (!state || state.generation < 0) return "starting";
    if (state.phase === "idle" || state.phase === "assigning") return outage === null ? "joining" : "paused";
    if (state.phase === "draining") return "stopping";
    if (state.phase === "stopped") return "stopped";
    return outage !== null ? "paused" : "running";
  }

  function partitionReport(partition: number): PartitionReport {
    const progress = state?.partitions.get(partition);
    const next = settled.get(partition);
    const end = ends.get(partition);
    const lag = lagOf(partition);
    const read = progress?.next ?? next ?? 0n;
    return {
      partition,
      settled: next === undefined || next === 0n ? null : (next - 1n).toString(),
      position: read.toString(),
      end: end?.toString() ?? null,
      lag: lag?.records.toString() ?? null,
      lagSeconds: lag === null ? null : Math.round(lag.seconds * 10) / 10,
      buffered: progress ? Number(progress.next - progress.settled) : 0,
    };
  }

  return {
    observe(next) {
      state = next;
    },
    opened(at) {
      version = at;
    },
    position(partition, next) {
      outage = null;
      settled.set(partition, next);
    },
    fetched(batch) {
      const first = batch.records[0];
      if (first && !isBuffered(batch.partition)) waitingSince.set(batch.partition, first.timestampMs);
    },
    committed(commit) {
      outage = null;
      totals.rows += commit.rows;
      totals.letters += commit.letters;
      totals.skipped += commit.skipped;
      if (commit.version !== null) {
        version = commit.version;
        totals.commits++;
        lastCommit = {
          version,
          at: iso(),
          rows: commit.rows,
          letters: commit.letters,
          durationMs: Math.round(commit.durationMs),
        };
      }
      for (const [partition, next] of commit.settled) settled.set(partition, next);
      for (const [partition, counts] of commit.counts) {
        // What was read meanwhile is not older than the newest record of the commit.
        if (isBuffered(partition)) waitingSince.set(partition, counts.maxTimestampMs);
        else waitingSince.delete(partition);
      }
    },
    outage(error, pauseMs) {
      outage = `${error.message}${pauseMs > 0 ? `, retry in ${(pauseMs / 1000).toFixed(1)} s` : ""}`;
      lastError = { code: error.code, message: error.message, at: iso() };
    },
    conflict() {
      totals.conflicts++;
    },
    rebalanced() {
      totals.rebalances++;
    },
    ends(next) {
      for (const [partition, end] of next) {
        ends.set(partition, end);
        const isAhead = end > (settled.get(partition) ?? end);
        if (!isAhead) waitingSince.delete(partition);
        else if (!waitingSince.has(partition)) waitingSince.set(partition, now());
      }
    },
    stopped() {
      isStopped = true;
    },
    lags: () => (state ? [...state.partitions.keys()].flatMap((partition) => lagOf(partition) ?? []) : []),
    read: () => ({
      topic: options.topic,
      table: tableNameOfUri(options.tableUri),
      tableUri: options.tableUri,
      state: phase(),
      reason: outage ?? (state?.isPaused ? "byte budget reached: waiting for commits" : null),
      version,
      buffer: {
        rows: state?.chunks.reduce((sum, chunk) => sum + chunk.rows, 0) ?? 0,
        bytes: state?.chunks.reduce((sum, chunk) => sum + chunk.bytes, 0) ?? 0,
      },
      lastCommit,
      lastError,
      partitions: [...(state?.assigned ?? [])].sort((a, b) => a - b).map(partitionReport),
      totals: { ...totals },
    }),
  };
}
