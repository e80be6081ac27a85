/** The port through which the dashboard sees the running lab; cli implements it from the run files. */

import type { LabError } from "../core/errors.ts";
import type { ChaosControl } from "./chaos.ts";
import type { WorkControl } from "./work.ts";

export type LabControl = {
  /**
   * Every process of the lab that has a run file, in a stable order. Never rejects because one part is silent:
   * that part is listed with `state: null`. One call is one look; the dashboard calls about once a second.
   */
  parts(signal: AbortSignal): Promise<Part[]>;
  /**
   * The topics that are streamed, with the broker's own end offsets (not the ingester's view of them).
   * Rejects with BROKER_UNREACHABLE in an outage.
   */
  topics(signal: AbortSignal): Promise<Topic[]>;
  /** What is streamed where: by configuration, whether it runs or not. */
  streams(): LabStream[];
  /**
   * Reads a topic from its first record on, read-committed, as a reader that shares nothing with the ingester. Resolves when the signal
   * aborts, rejects when the topic is not there or cannot be read any more.
   */
  readTopic(topic: string, reader: TopicReader, signal: AbortSignal): Promise<void>;
  /** Absent where nothing may be broken on purpose. */
  chaos?: ChaosControl;
  /** Absent where tables are only looked at. */
  work?: WorkControl;
};

export type LabStream = {
  topic: string;
  /** Name of the table that it fills. */
  table: string;
  /** Rows go to tables named after it as well. */
  isRouted: boolean;
};

export type TopicReader = {
  /** The partition is read from here on, whatever was told of it before. */
  begins(partition: number, from: bigint): void;
  /** In offset order, without holes between batches. */
  took(batch: TopicBatch): void;
  /** The broker does not answer; null: it does again. What was read stays. */
  outage(problem: LabError | null): void;
};

/** Records of one partition that a read-committed reader sees; all below `nextOffset` is read. */
export type TopicBatch = {
  partition: number;
  nextOffset: bigint;
  records: readonly { offset: bigint; timestampMs: number }[];
};

export type Part = {
  /** Name of the run file, such as `ingest-orders`: stays the same when the process is replaced. */
  name: string;
  /** `kafka`, `s3`, `produce`, `ingest`, `dashboard`, ... */
  kind: string;
  pid: number | null;
  /** ISO UTC. */
  startedAt: string | null;
  /** Whether the process exists at all: tells dead from frozen when `state` is null. */
  alive: boolean;
  /** Where others reach it, such as `localhost:9092`; null if that means nothing to a user. */
  address: string | null;
  /** Its /state document as it answered this time; null if it did not answer in time or has none. */
  state: IngestState | ProduceState | null;
};

/** Tells a process from those that had its name before it: pids come again, in a container at each start. */
export const processOf = ({ name, pid, startedAt }: Pick<Part, "name" | "pid" | "startedAt">): string =>
  `${name} ${pid} ${startedAt}`;

export type Topic = {
  topic: string;
  /** Offsets as decimal strings: the first that is still there, and the one the next record gets. */
  partitions: { partition: number; start: string; end: string }[];
};

export type PartError = { code: string; message: string; at: string };

/** /state of a producer. */
export type ProduceState = {
  part: "produce";
  pid: number;
  topic: string;
  source: string;
  acked: { total: string; partitions: Record<string, string> };
  bytes: string;
  ratePerSecond: number;
  lastError: PartError | null;
  done: boolean;
};

/** /state of an ingester. */
export type IngestState = { part: "ingest"; pid: number; streams: StreamState[] };

export type StreamState = {
  topic: string;
  table: string;
  tableUri: string;
  state: "starting" | "joining" | "running" | "paused" | "stopping" | "stopped" | "failed";
  /** Why it is paused or stopped, in words. */
  reason: string | null;
  /** Newest version this ingester knows. */
  version: number | null;
  buffer: { rows: number; bytes: number };
  lastCommit: { version: number; at: string; rows: number; letters: number; durationMs: number } | null;
  lastError: PartError | null;
  /** The partitions assigned to this process only. */
  partitions: PartitionState[];
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

/** Offsets as decimal strings; null where it is not known, which is not the same as 0. */
export type PartitionState = {
  partition: number;
  /** Last offset that a commit of the table answers for. */
  settled: string | null;
  /** Next offset to be read. */
  position: string;
  end: string | null;
  lag: string | null;
  lagSeconds: number | null;
  buffered: number;
};
