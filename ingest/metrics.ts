/** The ingester's numbers for Prometheus, one registry a process, labelled by topic and table. */

import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { StreamReport } from "./report.ts";

type Labels = { topic: string; table: string };

/** How many of something, by error code. */
export type ByCode = ReadonlyMap<string, number>;

/** What happens to one stream. What it is at the moment is told by its report (`exposeReports`). */
export type StreamMetrics = {
  /** Messages taken from Kafka, those included that are read again after a restart or rebalance. */
  read(count: number): void;
  /** A chunk became files and letters. */
  encoded(chunk: { seconds: number; transformed: number; failed: ByCode }): void;
  /** A version is in: rows, letters and positions of these messages are final. */
  committed(commit: {
    seconds: number;
    /** Since the first of its messages was read. */
    flushSeconds: number;
    rows: number;
    skipped: number;
    letters: ByCode;
    files: number;
    bytes: number;
  }): void;
  conflict(): void;
  rebalance(): void;
  /** The group was joined anew as nothing came. */
  rejoin(): void;
  /** One try that failed because the broker or the store is away. */
  outage(code: string): void;
};

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const NAMES = ["topic", "table"] as const;
const WITH_CODE = [...NAMES, "code"] as const;

/** Registers counters and durations once, and gives each stream its own labelled view of them. */
export function createMetrics(registry: Registry): (labels: Labels) => StreamMetrics {
  const registers = [registry];
  const counter = (name: string, help: string) => new Counter({ name, help, labelNames: NAMES, registers });
  const byCode = (name: string, help: string) =>
    new Counter({ name, help, labelNames: WITH_CODE, registers });
  const histogram = (name: string, help: string) =>
    new Histogram({ name, help, labelNames: NAMES, registers, buckets: SECONDS });

  const read = counter("lab_ingest_messages_read_total", "Messages read, repeats after a restart included.");
  const transformed = counter(
    "lab_ingest_messages_transformed_total",
    "Messages that became rows or were left out by the transform; not yet committed.",
  );
  const failed = byCode("lab_ingest_messages_failed_total", "Messages that are no rows; not yet committed.");
  const rows = counter("lab_ingest_rows_total", "Messages that became committed rows.");
  // Not by code alone: the first letter of a code would begin its series, and be no increase of it.
  const letters = counter("lab_ingest_letters_total", "Messages that became committed dead letters.");
  const lettersByCode = byCode(
    "lab_ingest_letters_by_code_total",
    "The same by error code; EARLIER: written before a restart.",
  );
  const skipped = counter("lab_ingest_skipped_total", "Messages that a transform left out, committed.");
  const bytes = counter("lab_ingest_parquet_bytes_total", "Bytes of committed data files.");
  const files = counter("lab_ingest_files_total", "Committed data files.");
  const commits = counter("lab_ingest_commits_total", "Committed versions.");
  const conflicts = counter("lab_ingest_conflicts_total", "Commits that lost against another writer.");
  const rebalances = counter("lab_ingest_rebalances_total", "Assignments of partitions to this worker.");
  const rejoins = counter(
    "lab_ingest_rejoins_total",
    "Clients made anew as records were there and none came.",
  );
  const outages = byCode("lab_ingest_outages_total", "Tries that failed as broker or store are away.");
  const flush = histogram(
    "lab_ingest_flush_seconds",
    "Time from the first message of a commit to its version.",
  );
  const encode = histogram("lab_ingest_encode_seconds", "Time to turn a chunk of messages into files.");
  const commit = histogram("lab_ingest_commit_seconds", "Time from encoded files to a committed version.");

  return ({ topic, table }) => {
    const labels = { topic, table };
    const add = (to: typeof failed, counts: ByCode) => {
      for (const [code, count] of counts) to.inc({ topic, table, code }, count);
    };
    // From 0 on, so that the first increase is seen as one.
    for (const one of [
      read,
      transformed,
      rows,
      skipped,
      letters,
      bytes,
      files,
      commits,
      conflicts,
      rebalances,
      rejoins,
    ])
      one.inc(labels, 0);
    return {
      read: (count) => read.inc(labels, count),
      encoded(chunk) {
        encode.observe(labels, chunk.seconds);
        transformed.inc(labels, chunk.transformed);
        add(failed, chunk.failed);
      },
      committed(done) {
        commits.inc(labels);
        commit.observe(labels, done.seconds);
        flush.observe(labels, done.flushSeconds);
        rows.inc(labels, done.rows);
        skipped.inc(labels, done.skipped);
        add(lettersByCode, done.letters);
        for (const count of done.letters.values()) letters.inc(labels, count);
        files.inc(labels, done.files);
        bytes.inc(labels, done.bytes);
      },
      conflict: () => conflicts.inc(labels),
      rebalance: () => rebalances.inc(labels),
      rejoin: () => rejoins.inc(labels),
      outage: (code) => outages.inc({ topic, table, code }),
    };
  };
}

/**
 * Gauges that are read from the streams' reports at each scrape: a partition that was revoked is gone from the next one, and what is not
 * known has no sample.
 */
export function exposeReports(registry: Registry, reports: () => StreamReport[]): void {
  function gauge<L extends string>(
    name: string,
    help: string,
    label: L | null,
    samples: (report: StreamReport) => readonly (readonly [label: string, value: number | null])[],
  ): void {
    new Gauge<string>({
      name,
      help,
      labelNames: label === null ? NAMES : [...NAMES, label],
      registers: [registry],
      collect() {
        this.reset();
        for (const report of reports()) {
          for (const [value, number] of samples(report)) {
            if (number === null) continue;
            const { topic, tableUri: table } = report;
            this.set(label === null ? { topic, table } : { topic, table, [label]: value }, number);
          }
        }
      },
    });
  }
  /** Whoever reads no more knows no lag any more. */
  const read = ({ state, partitions }: StreamReport) =>
    state === "failed" || state === "stopped" ? [] : partitions;
  const one = (value: (report: StreamReport) => number | null) => (report: StreamReport) =>
    [["", value(report)]] as const;

  gauge(
    "lab_ingest_buffered_rows",
    "Messages read and not yet committed.",
    null,
    one(({ buffer }) => buffer.rows),
  );
  gauge(
    "lab_ingest_buffered_bytes",
    "Raw value bytes read and not yet committed.",
    null,
    one(({ buffer }) => buffer.bytes),
  );
  gauge(
    "lab_ingest_paused",
    "1 while the stream waits: for the store or broker, or for commits at the byte budget.",
    null,
    one(({ state, reason }) => (state !== "failed" && reason !== null ? 1 : 0)),
  );
  gauge(
    "lab_ingest_failed",
    "1 when the stream ended by an error that waiting does not heal.",
    null,
    one(({ state }) => (state === "failed" ? 1 : 0)),
  );
  gauge(
    "lab_ingest_seconds_since_progress",
    "Seconds that records wait without a position moving; 0 while nothing waits.",
    null,
    one(({ secondsSinceProgress }) => secondsSinceProgress),
  );
  gauge(
    "lab_ingest_table_version",
    "Newest version of the table that the stream knows.",
    null,
    one(({ version }) => version),
  );
  gauge(
    "lab_ingest_lag_records",
    "Offsets from the last settled one to the end that a reader can see; 0 when all is in.",
    "partition",
    (report) =>
      read(report).map(({ partition, lag }) => [String(partition), lag === null ? null : Number(lag)]),
  );
  gauge(
    "lab_ingest_lag_seconds",
    "Age of the oldest record that waits to be settled; 0 when all is in.",
    "partition",
    (report) => read(report).map(({ partition, lagSeconds }) => [String(partition), lagSeconds]),
  );
}
