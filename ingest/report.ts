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

/** What `lab status`, the dashboard and the alerts go by. */
export type StreamReport = {
  topic: string;
  table: string;
  tableUri: string;
  state: "starting" | "joining" | "running" | "paused" | "stopping" | "stopped" | "failed";
  /** Why it waits or ended, in words; null while it works. */
  reason: string | null;
  version: number | null;
  buffer: { rows: number; bytes: number };
  lastCommit: { version: number; at: string; rows: number; letters: number; durationMs: number } | null;
  lastError: { code: string; message: string; at: string } | null;
  partitions: PartitionReport[];
  /** Settled records per second, over the last half minute. */
  ratePerSecond: number;
  /** How long records wait without a position moving; 0 while nothing waits. */
  secondsSinceProgress: number;
  totals: {
    rows: number;
    letters: number;
    skipped: number;
    commits: number;
    conflicts: number;
    rebalances: number;
  };
};

type Lag = { records: bigint; seconds: number };

const RATE_WINDOW_MS = 30_000;
/** End offsets that were read longer ago than this say nothing about now. */
const ENDS_HOLD_MS = 30_000;

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
  /** The stream cannot go on, and does not. */
  failed(error: LabError): void;
  /** When the oldest message of the commit that is under way was read; null where none is. */
  commitOpenedMs(): number | null;
  read(): StreamReport;
};

export function createReport(options: Pick<StreamOptions, "topic" | "tableUri">, now: () => number): Report {
  let state: State | null = null;
  let isStopped = false;
  let isFailed = false;
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
  const startedMs = now();
  let progressMs = startedMs;
  let endsMs = Number.NEGATIVE_INFINITY;
  let commitOpenedMs: number | null = null;
  /** Records of the commits of the last seconds. */
  let recent: { atMs: number; records: number }[] = [];
  const iso = () => new Date(now()).toISOString();

  function lagOf(partition: number): Lag | null {
    const end = ends.get(partition);
    const next = settled.get(partition);
    if (end === undefined || next === undefined || now() - endsMs > ENDS_HOLD_MS) return null;
    const records = end > next ? end - next : 0n;
    const since = waitingSince.get(partition);
    return {
      records,
      seconds: records === 0n || since === undefined ? 0 : Math.max(0, (now() - since) / 1000),
    };
  }

  function isBuffered(partition: number): boolean {
    const progress = state?.partitions.get(partition);
    return progress !== undefined && progress.next > (settled.get(partition) ?? progress.next);
  }

  function isWaiting(): boolean {
    if (isFailed || isStopped) return false;
    const found = phase();
    if (found === "starting" || found === "joining") return true;
    return (state?.assigned ?? []).some((partition) => (lagOf(partition)?.records ?? 1n) > 0n);
  }

  function ratePerSecond(): number {
    const sinceMs = now() - RATE_WINDOW_MS;
    recent = recent.filter(({ atMs }) => atMs >= sinceMs);
    const seconds = Math.max(1_000, now() - Math.max(sinceMs, startedMs)) / 1000;
    return Math.round((recent.reduce((sum, { records }) => sum + records, 0) / seconds) * 10) / 10;
  }

  function phase(): StreamReport["state"] {
    if (isFailed) return "failed";
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
      const ids = next.commit?.chunks ?? [];
      const opened = next.chunks.flatMap(({ id, openedMs }) => (ids.includes(id) ? [openedMs] : []));
      commitOpenedMs = opened.length === 0 ? null : Math.min(...opened);
    },
    opened(at) {
      version = at;
    },
    position(partition, next) {
      outage = null;
      progressMs = now();
      settled.set(partition, next);
    },
    fetched(batch) {
      const first = batch.records.length > 0 ? batch.records.timestampsMs[0] : undefined;
      if (first !== undefined && !isBuffered(batch.partition)) waitingSince.set(batch.partition, first);
    },
    committed(commit) {
      outage = null;
      progressMs = now();
      recent.push({ atMs: progressMs, records: commit.rows + commit.letters + commit.skipped });
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
      endsMs = now();
      for (const [partition, end] of next) {
        ends.set(partition, end);
        const isAhead = end > (settled.get(partition) ?? end);
        if (!isAhead) waitingSince.delete(partition);
        else if (!waitingSince.has(partition)) waitingSince.set(partition, now());
      }
      if (!isWaiting()) progressMs = now();
    },
    stopped() {
      isStopped = true;
    },
    failed(error) {
      isFailed = true;
      outage = error.message;
      lastError = { code: error.code, message: error.message, at: iso() };
    },
    commitOpenedMs: () => commitOpenedMs,
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
      ratePerSecond: ratePerSecond(),
      secondsSinceProgress: isWaiting() ? Math.round((now() - progressMs) / 100) / 10 : 0,
      totals: { ...totals },
    }),
  };
}

/** Whether a process of these streams does its work: each has begun, or has failed for good and leaves the others to theirs. */
export function areReady(reports: readonly Pick<StreamReport, "state">[]): boolean {
  const works = ({ state }: Pick<StreamReport, "state">) => state === "running" || state === "paused";
  return reports.some(works) && reports.every((one) => works(one) || one.state === "failed");
}
