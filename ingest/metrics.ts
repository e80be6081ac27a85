/** The ingester's numbers for Prometheus, one registry a process, labelled by topic and table. */

import { Counter, Gauge, Histogram, type Registry } from "prom-client";

type Labels = { topic: string; table: string };

export type StreamMetrics = {
  rows(count: number): void;
  letters(count: number): void;
  skipped(count: number): void;
  buffered(rows: number, bytes: number): void;
  written(bytes: number, files: number): void;
  encoded(seconds: number): void;
  committed(seconds: number): void;
  conflict(): void;
  rebalance(): void;
  lag(partition: number, records: bigint, seconds: number): void;
  paused(isPaused: boolean): void;
  progress(nowMs: number): void;
};

const SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Registers the metrics once and gives each stream its own labelled view of them. */
export function createMetrics(registry: Registry, now: () => number): (labels: Labels) => StreamMetrics {
  const labelNames = ["topic", "table"] as const;
  const registers = [registry];
  const counter = (name: string, help: string) => new Counter({ name, help, labelNames, registers });
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames, registers });
  const histogram = (name: string, help: string) =>
    new Histogram({ name, help, labelNames, registers, buckets: SECONDS });

  const rows = counter("lab_ingest_rows_total", "Messages that became committed rows.");
  const letters = counter("lab_ingest_letters_total", "Messages that became committed dead letters.");
  const skipped = counter("lab_ingest_skipped_total", "Messages that a transform left out, committed.");
  const bufferedRows = gauge("lab_ingest_buffered_rows", "Messages read and not yet committed.");
  const bufferedBytes = gauge("lab_ingest_buffered_bytes", "Raw value bytes read and not yet committed.");
  const parquetBytes = counter("lab_ingest_parquet_bytes_total", "Bytes of committed data files.");
  const files = counter("lab_ingest_files_total", "Committed data files.");
  const encode = histogram("lab_ingest_encode_seconds", "Time to turn a chunk of messages into files.");
  const commit = histogram("lab_ingest_commit_seconds", "Time from encoded files to a committed version.");
  const conflicts = counter("lab_ingest_conflicts_total", "Commits that lost against another writer.");
  const rebalances = counter("lab_ingest_rebalances_total", "Assignments of partitions to this worker.");
  const paused = gauge("lab_ingest_paused", "1 while reading is paused at the byte budget.");
  const lagLabels = [...labelNames, "partition"] as const;
  const lagRecords = new Gauge({
    name: "lab_ingest_lag_records",
    help: "Offsets from the last settled one to the end that a reader can see; 0 when all is in.",
    labelNames: lagLabels,
    registers,
  });
  const lagSeconds = new Gauge({
    name: "lab_ingest_lag_seconds",
    help: "Age of the oldest record that waits to be settled; 0 when all is in.",
    labelNames: lagLabels,
    registers,
  });
  const progressAt = new Map<string, number>();
  new Gauge({
    name: "lab_ingest_seconds_since_progress",
    help: "Seconds since a position last moved.",
    labelNames,
    registers,
    collect() {
      for (const [key, at] of progressAt) {
        const [topic = "", table = ""] = key.split("\0");
        this.set({ topic, table }, (now() - at) / 1000);
      }
    },
  });

  return (labels) => ({
    rows: (count) => rows.inc(labels, count),
    letters: (count) => letters.inc(labels, count),
    skipped: (count) => skipped.inc(labels, count),
    buffered: (count, bytes) => {
      bufferedRows.set(labels, count);
      bufferedBytes.set(labels, bytes);
    },
    written: (bytes, count) => {
      parquetBytes.inc(labels, bytes);
      files.inc(labels, count);
    },
    encoded: (seconds) => encode.observe(labels, seconds),
    committed: (seconds) => commit.observe(labels, seconds),
    conflict: () => conflicts.inc(labels),
    rebalance: () => rebalances.inc(labels),
    lag: (partition, records, seconds) => {
      lagRecords.set({ ...labels, partition: String(partition) }, Number(records));
      lagSeconds.set({ ...labels, partition: String(partition) }, seconds);
    },
    paused: (isPaused) => paused.set(labels, isPaused ? 1 : 0),
    progress: (nowMs) => progressAt.set(`${labels.topic}\0${labels.table}`, nowMs),
  });
}
