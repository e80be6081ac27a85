/** Kafka in our words: what reads, what writes, what administers. The adapter and the fake fulfil these. */

export type RawRecord = {
  offset: bigint;
  /** Milliseconds since the epoch. */
  timestampMs: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: readonly (readonly [name: string, value: Buffer | null])[];
};

/** What one fetch brought of one partition, aborted and control records already left out. */
export type FetchedBatch = {
  topic: string;
  partition: number;
  /** The assignment it was fetched in; grows with each one. */
  generation: number;
  /** The offset that was asked for. Not equal to the expected position: a late batch, or a client that reset itself. */
  fetchedOffset: bigint;
  /** Position after this batch: one past the last offset scanned, gaps, aborted and control records included. */
  nextOffset: bigint;
  timestampType: "create" | "append";
  /** In offset order; may be empty where only aborted or control records were scanned. */
  records: readonly RawRecord[];
};

export type TopicPartition = { topic: string; partition: number };
export type Position = TopicPartition & { nextOffset: bigint };
/** First offset still there, and one past the last that a read-committed reader can see (the last stable offset). */
export type Watermarks = { low: bigint; high: bigint };

export type SourceHandlers = {
  /**
   * New partitions; all are paused and stay so until `start` is called with their positions. May be followed by another `assigned`
   * or `revoked` before it ends: then `generation` no longer matches and its `start` is ignored.
   */
  assigned(partitions: readonly TopicPartition[], generation: number): void;
  /** The assignment of `generation` is over, whatever the reason; nothing more of it will come. */
  revoked(generation: number): void;
  /** Awaited: while it waits nothing more of this partition is fetched, and heartbeats go on. */
  batch(batch: FetchedBatch): Promise<void>;
  /** The client fails and tries again by itself (an outage). */
  outage(error: Error): void;
  /** The client is dead and will not come back by itself. */
  fatal(error: Error): void;
};

/** A member of a consumer group that never commits group offsets to decide anything, and never resets a position by itself. */
export type Source = {
  /** Joins and delivers until `close`. Rejects with BROKER_UNREACHABLE, TOPIC_MISSING, KAFKA_DENIED if it cannot join at first. */
  run(handlers: SourceHandlers): Promise<void>;
  /** Lets an assignment flow from these positions. Ignored when `generation` is over. */
  start(positions: readonly Position[], generation: number): void;
  /** Moves one partition; the batches already fetched for it are dropped or arrive with another `fetchedOffset`. */
  seek(position: Position): void;
  pause(partitions: readonly TopicPartition[]): void;
  resume(partitions: readonly TopicPartition[]): void;
  /** Writes group offsets for lag tools. Best effort: never read back. */
  publishOffsets(positions: readonly Position[]): Promise<void>;
  /** Leaves the group at once, so that others need not wait for a timeout. */
  close(): Promise<void>;
};

export type OutgoingRecord = {
  key: Buffer | string | null;
  value: Buffer | string | null;
  headers?: Readonly<Record<string, Buffer | string>>;
  partition?: number;
  timestampMs?: number;
};

export type Acked = { partition: number; baseOffset: bigint; count: number };

export type Sink = {
  /** Resolves when the broker has the records (acks as configured). MESSAGE_TOO_LARGE, BROKER_UNREACHABLE, TOPIC_MISSING. */
  send(topic: string, records: readonly OutgoingRecord[]): Promise<Acked[]>;
  close(): Promise<void>;
};

export type Admin = {
  topics(): Promise<string[]>;
  /** Partition ids, or null where the topic does not exist. */
  partitions(topic: string): Promise<number[] | null>;
  /** True when it was made, false when it was there. */
  createTopic(
    topic: string,
    options: { partitions: number; config?: Record<string, string> },
  ): Promise<boolean>;
  deleteTopic(topic: string): Promise<void>;
  /** TOPIC_MISSING where it does not exist. */
  watermarks(topic: string): Promise<Map<number, Watermarks>>;
  /** The first offset whose record is not older than `timestampMs`, per partition; the high watermark where there is none. */
  offsetsAt(topic: string, timestampMs: number): Promise<Map<number, bigint>>;
  /** The first visible record at or after `offset`, or null at the end. Used to compare fingerprints. */
  recordAt(position: Position, signal: AbortSignal): Promise<RawRecord | null>;
  close(): Promise<void>;
};

export type KafkaOptions = {
  brokers: readonly string[];
  clientId: string;
  /** How long the first contact may take, in ms, before BROKER_UNREACHABLE. Later outages are retried for ever. */
  connectTimeoutMs: number;
};

export type SourceOptions = {
  topics: readonly string[];
  group: string;
  sessionTimeoutMs?: number;
  heartbeatMs?: number;
  maxWaitMs?: number;
};
export type SinkOptions = {
  acks: "all" | "leader" | "none";
  idempotent: boolean;
  compression?: "none" | "gzip";
};

/** One way into Kafka: the adapter over the client, or the fake in memory. */
export type Kafka = {
  source(options: SourceOptions): Source;
  sink(options: SinkOptions): Promise<Sink>;
  admin(): Promise<Admin>;
};
