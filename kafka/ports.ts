/** Kafka in our words: what reads, what writes, what administers. The adapter and the fake fulfil these. */

import type { Log } from "../core/log.ts";

export type RawRecord = {
  offset: bigint;
  /** Milliseconds since the epoch. */
  timestampMs: number;
  key: Buffer | null;
  value: Buffer | null;
  headers: readonly (readonly [name: string, value: Buffer | null])[];
};

/**
 * Records in columns: no object for each. Numbers are in arrays of at least `length`, of bytes there are the places in `bytes`, starts
 * inclusive, ends exclusive; a start of -1 is null, and an end then means nothing. Read only. It keeps alive all that was fetched with it:
 * who keeps a part copies it.
 */
export type FetchedRecords = {
  readonly length: number;
  readonly bytes: Buffer;
  readonly offsets: BigInt64Array;
  /** Milliseconds since the epoch. */
  readonly timestampsMs: Float64Array;
  readonly keyStarts: Int32Array;
  readonly keyEnds: Int32Array;
  readonly valueStarts: Int32Array;
  readonly valueEnds: Int32Array;
  /** Headers as `core/record-headers.ts` reads them; none where start and end are the same. */
  readonly headerStarts: Int32Array;
  readonly headerEnds: Int32Array;
  /** Sums over all records. */
  readonly keyBytes: number;
  readonly valueBytes: number;
  readonly headerBytes: number;
  /** One of them, its bytes as views. RangeError where there is none. */
  at(index: number): RawRecord;
  toArray(): RawRecord[];
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
  records: FetchedRecords;
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
  /**
   * Joins and delivers until `close`, or until `fatal` was called. Rejects with BROKER_UNREACHABLE, TOPIC_MISSING, KAFKA_DENIED, KAFKA_TLS
   * if it cannot join at first; later these are outages: rights and certificates come back as brokers do. A rejection of `handlers.batch`
   * is fatal, and so is a batch that stays damaged (KAFKA_PROTOCOL) or cannot be unpacked (CODEC_UNSUPPORTED). A topic that was deleted and
   * made anew under its name is an outage with TOPIC_MISSING, after which it is joined as another (brokers of Kafka 3.1 and later).
   */
  run(handlers: SourceHandlers): Promise<void>;
  /**
   * Lets an assignment flow from these positions. Ignored when `generation` is over. A position the topic does not hold (any more, or yet)
   * brings one empty batch whose `fetchedOffset` and `nextOffset` are the lowest offset there is, and then nothing until `seek`; so does a
   * position that retention passes later.
   */
  start(positions: readonly Position[], generation: number): void;
  /** Moves one partition; the batches already fetched for it are dropped or arrive with another `fetchedOffset`. */
  seek(position: Position): void;
  /** Nothing more of these is delivered until `resume`, or until a new assignment is started. */
  pause(partitions: readonly TopicPartition[]): void;
  resume(partitions: readonly TopicPartition[]): void;
  /** Writes group offsets for lag tools. Best effort: never read back. */
  publishOffsets(positions: readonly Position[]): Promise<void>;
  /**
   * Ends the client that is there and joins with a new one: `revoked`, then `assigned` with a new generation, as in a rebalance. Resolves
   * when the old one is gone, within seconds whatever state it is in; does nothing before the first join and after `close`.
   */
  rejoin(): Promise<void>;
  /** Leaves the group at once, so that others need not wait for a timeout. */
  close(): Promise<void>;
};

export type OutgoingRecord = {
  key: Buffer | string | null;
  value: Buffer | string | null;
  /** A name with several values is sent that many times, in this order. */
  headers?: Readonly<Record<string, Buffer | string | readonly (Buffer | string)[]>>;
  partition?: number;
  timestampMs?: number;
};

/** Records of one partition with neighbouring offsets. `baseOffset` is -1 where `acks: "none"` keeps it unknown. */
export type Acked = { partition: number; baseOffset: bigint; count: number };

export type Sink = {
  /**
   * Resolves when the broker has the records (acks as configured). An outage is waited out, for as long as the sink is open; sends to one
   * partition keep their order. Records with a key go where Java's client puts them; those without share a partition per call.
   *
   * Rejects with MESSAGE_TOO_LARGE (`details`: `index` in `records`, `bytes`, and `acked` for the others, which are sent),
   * TOPIC_MISSING, KAFKA_DENIED, and BROKER_UNREACHABLE where `close` came during an outage.
   */
  send(topic: string, records: readonly OutgoingRecord[]): Promise<Acked[]>;
  /** What is on its way gets a moment to be acknowledged; what is not then is rejected. */
  close(): Promise<void>;
};

/** A record as it goes on the wire, with headers in their order, doubled names and null values among them. -1 is no time. */
export type ExactRecord = Omit<RawRecord, "offset"> & { partition: number };

export type TransactionOptions = {
  /** Who writes. Opening ends what an earlier holder of the id left open, and takes the right to write from it. */
  transactionalId: string;
  /** How long a transaction may stand open before the broker gives it up, in ms. Default 60 s. */
  timeoutMs?: number;
  signal: AbortSignal;
};

/**
 * Writes in transactions, one caller at a time: what is sent between two commits is seen by read-committed readers all at once or never.
 *
 * PRODUCER_FENCED where another opened the id since, or a transaction stood open too long. After a retryable rejection (an outage,
 * TRANSACTION_LOST) the sink is of no use, and nobody knows whether the last commit took place: close it, open another, and look.
 */
export type TransactionalSink = {
  /**
   * In order within a partition. Resolves when the records are taken over, which is before the broker has them: what it refuses is told by this call, a later
   * one, or `commit`. MESSAGE_TOO_LARGE, TOPIC_MISSING, KAFKA_DENIED.
   */
  send(topic: string, records: readonly ExactRecord[]): Promise<void>;
  /** Resolves when all that was sent is there to be read. Rejects as `send` does. */
  commit(): Promise<void>;
  /** What was not committed is never seen. */
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
  /** Settings that hold for the topic, by Kafka's names, defaults included. TOPIC_MISSING. */
  topicConfig(topic: string): Promise<ReadonlyMap<string, string>>;
  /** TOPIC_MISSING where it does not exist. */
  watermarks(topic: string): Promise<Map<number, Watermarks>>;
  /** The first offset whose record is not older than `timestampMs`, per partition; the high watermark where there is none. */
  offsetsAt(topic: string, timestampMs: number): Promise<Map<number, bigint>>;
  /** The first visible record at or after `offset`, or null at the end. Used to compare fingerprints. */
  recordAt(position: Position, signal: AbortSignal): Promise<RawRecord | null>;
  /** How many members a consumer group has now; 0 for one that does not exist. */
  groupMembers(group: string): Promise<number>;
  close(): Promise<void>;
};

/** Gives a token for SASL OAUTHBEARER; asked before each authentication, so it keeps what is still good. Rejects with a LabError. */
export type TokenSource = () => Promise<string>;

/** Who we are to the brokers. */
export type Sasl =
  | {
      mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";
      username: string;
      /** Secret: in no message, log line or `details`. */
      password: string;
    }
  /** AWS MSK IAM is this on the wire, with a token of its own kind. */
  | { mechanism: "OAUTHBEARER"; token: TokenSource };

/** Connections under TLS; every text is PEM. */
export type Tls = {
  /** Whom to trust instead of the authorities that Node knows. */
  ca?: string;
  /** Our own certificate with its key, for brokers that ask for one. */
  client?: { cert: string; key: string; passphrase?: string };
  /** False: any name in the broker's certificate will do. Its signature is checked all the same. */
  checkServerName: boolean;
};

export type KafkaOptions = {
  brokers: readonly string[];
  clientId: string;
  /** Absent: nobody. */
  sasl?: Sasl | undefined;
  /** Absent: in the clear. */
  tls?: Tls | undefined;
  /** How long the first contact may take, in ms, before BROKER_UNREACHABLE. Later outages are retried for ever. */
  connectTimeoutMs: number;
  /** Where the client's own lines go, each one level lower than it says; absent: nowhere. */
  log?: Log;
};

export type SourceOptions = {
  topics: readonly string[];
  group: string;
  sessionTimeoutMs?: number;
  heartbeatMs?: number;
  maxWaitMs?: number;
  /** How soon new partitions are noticed. */
  metadataMaxAgeMs?: number;
  /**
   * What the reader keeps of a batch is copied when the promise of `batch` resolves: from then on the bytes of its records may be those of
   * others. Default false: they stay as they are.
   */
  copiesRecords?: boolean;
};
export type SinkOptions = {
  acks: "all" | "leader" | "none";
  idempotent: boolean;
  compression?: "none" | "gzip";
  /** Told of each failed attempt of an outage that is being waited out. */
  onOutage?: (error: Error) => void;
};

/** One way into Kafka: the adapter over the client, or the fake in memory. */
export type Kafka = {
  source(options: SourceOptions): Source;
  sink(options: SinkOptions): Promise<Sink>;
  /** BROKER_UNREACHABLE, KAFKA_DENIED. Waits until an earlier holder's transaction is over. */
  transactionalSink(options: TransactionOptions): Promise<TransactionalSink>;
  admin(): Promise<Admin>;
};
