/** Kafka in memory, with switches for what goes wrong in life. It passes the adapter's own suite (kafka.suite.ts). */

import { LabError } from "../core/errors.ts";
import { RAISE_LIMIT } from "./failures.ts";
import { createFakeCluster, type FakeTopic } from "./fake-cluster.ts";
import type { NewRecord, Transaction } from "./fake-log.ts";
import { createFakeSource, type FakeSource, type Silence } from "./fake-source.ts";
import { createFakeTransactions } from "./fake-transactional-sink.ts";
import { placeOf } from "./partitioner.ts";
import type {
  Acked,
  Admin,
  Kafka,
  OutgoingRecord,
  Position,
  Sink,
  SinkOptions,
  TopicPartition,
} from "./ports.ts";

export type FakeTransaction = {
  append(partition: number, records: readonly OutgoingRecord[]): void;
  commit(): void;
  abort(): void;
};

/** All of it takes effect at once; readers hear of it in a later turn of the event loop. */
export type FakeControls = {
  createTopic(topic: string, partitions: number, config?: Record<string, string>): void;
  /** The offset of the first of them. */
  append(topic: string, partition: number, records: readonly OutgoingRecord[]): bigint;
  /** Headers as they are on the wire, null values and any order. */
  appendRaw(topic: string, partition: number, record: NewRecord): bigint;
  transaction(topic: string): FakeTransaction;
  /** Retention removes what is below. */
  trim(topic: string, partition: number, before: bigint): void;
  /** Compaction removes these. */
  compact(topic: string, partition: number, offsets: readonly bigint[]): void;
  addPartitions(topic: string, total: number): void;
  /** Switches the broker off or on again. */
  outage(isDown: boolean): void;
  /** Makes every member of a group join anew. */
  rebalance(group: string): void;
  /** The partition's reader gets what is at this offset, whatever it expects, and as if of `generation` where given. */
  misdeliver(position: Position, generation?: number): Promise<void>;
  /** The reader's client goes on from here, without a word, as one does that resets itself. */
  drift(position: Position): void;
  /** The clients of the partition's readers die without a word. */
  silence(partition: TopicPartition, how: Silence): void;
  /** What was published for the group. */
  groupOffset(group: string, partition: TopicPartition): bigint | null;
};

export type FakeKafka = Kafka & FakeControls;

const DEFAULT_LIMIT = 1_048_588;
const RECORD_OVERHEAD = 70;
const DEFAULT_CONFIG = {
  "cleanup.policy": "delete",
  "max.message.bytes": String(DEFAULT_LIMIT),
  "message.timestamp.type": "CreateTime",
  "retention.ms": "604800000",
};

export function fakeKafka(options: { now?: () => number; mostRecordsPerBatch?: number } = {}): FakeKafka {
  const cluster = createFakeCluster(options.now ?? Date.now);
  const sources = new Set<FakeSource>();
  const readersOf = (partition: TopicPartition) => {
    const owners = cluster.owner(partition);
    return [...sources].filter((source) => owners.includes(source.member));
  };

  const controls: FakeControls = {
    createTopic: (topic, partitions, config = {}) => void cluster.create(topic, partitions, config),
    append(topic, partition, records) {
      const found = cluster.topic(topic);
      const base = logOf(found, partition).append(records.map((record) => cluster.stamp(found, record)));
      cluster.wakeAll();
      return base;
    },
    appendRaw(topic, partition, record) {
      const base = logOf(cluster.topic(topic), partition).append([record]);
      cluster.wakeAll();
      return base;
    },
    transaction(topic) {
      const found = cluster.topic(topic);
      const transaction: Transaction = { state: "open" };
      const touched = new Set<number>();
      const finish = (state: Transaction["state"]) => {
        transaction.state = state;
        for (const partition of touched) logOf(found, partition).mark(transaction);
        cluster.wakeAll();
      };
      return {
        append(partition, records) {
          touched.add(partition);
          const stamped = records.map((record) => cluster.stamp(found, record));
          logOf(found, partition).append(stamped, transaction);
        },
        commit: () => finish("committed"),
        abort: () => finish("aborted"),
      };
    },
    trim(topic, partition, before) {
      logOf(cluster.topic(topic), partition).trim(before);
      cluster.wakeAll();
    },
    compact: (topic, partition, offsets) => logOf(cluster.topic(topic), partition).compact(offsets),
    addPartitions: cluster.addPartitions,
    outage: cluster.setDown,
    rebalance: cluster.rebalance,
    async misdeliver(position, generation) {
      await Promise.all(readersOf(position).map((source) => source.misdeliver(position, generation)));
    },
    drift(position) {
      for (const source of readersOf(position)) source.drift(position);
    },
    silence(partition, how) {
      for (const source of readersOf(partition)) source.silence(how);
    },
    groupOffset: cluster.committed,
  };

  return {
    ...controls,
    source: (source) =>
      createFakeSource(cluster, source, {
        mostRecords: options.mostRecordsPerBatch ?? 500,
        joined: (joined) => void sources.add(joined),
        left: (left) => void sources.delete(left),
      }),
    async sink(sink) {
      cluster.requireUp();
      return fakeSink(sink);
    },
    transactionalSink: createFakeTransactions(cluster, DEFAULT_LIMIT),
    async admin() {
      cluster.requireUp();
      return fakeAdmin();
    },
  };

  function fakeSink(sink: SinkOptions): Sink {
    const closing = new AbortController();
    let turn = 0;
    async function whenUp(): Promise<void> {
      try {
        cluster.requireUp();
      } catch (error) {
        sink.onOutage?.(error as Error);
        await cluster.whenUp(closing.signal);
      }
    }
    return {
      async send(name, records) {
        if (closing.signal.aborted) throw new LabError("INTERNAL", "the sink is closed");
        await new Promise(setImmediate);
        await whenUp();
        const topic = cluster.topic(name);
        const limit = Number(topic.config["max.message.bytes"] ?? DEFAULT_LIMIT);
        const acked = new Map<number, Acked>();
        let tooLarge: number | null = null;
        turn += 1;
        records.forEach((record, index) => {
          if (sizeOf(record) > limit) {
            tooLarge ??= index;
            return;
          }
          const partition = placeOf(record, topic.logs.length, turn);
          const baseOffset = logOf(topic, partition).append([cluster.stamp(topic, record)]);
          const range = acked.get(partition);
          if (range === undefined) acked.set(partition, { partition, baseOffset, count: 1 });
          else range.count += 1;
        });
        cluster.wakeAll();
        if (tooLarge === null) return [...acked.values()];
        const bytes = sizeOf(records[tooLarge]!) - RECORD_OVERHEAD;
        throw new LabError("MESSAGE_TOO_LARGE", `the broker does not take a message of ${bytes} bytes`, {
          hint: RAISE_LIMIT,
          details: { index: tooLarge, bytes, acked: [...acked.values()] },
        });
      },
      async close() {
        closing.abort(
          new LabError(
            "BROKER_UNREACHABLE",
            "the sink was closed before the broker acknowledged what was sent",
          ),
        );
      },
    };
  }

  function fakeAdmin(): Admin {
    const ask = async <T>(call: () => T): Promise<T> => {
      await new Promise(setImmediate);
      cluster.requireUp();
      return call();
    };
    const each = <T>(topic: string, look: (log: FakeTopic["logs"][number]) => T) =>
      new Map(cluster.topic(topic).logs.map((log, partition) => [partition, look(log)]));
    return {
      topics: () => ask(cluster.names),
      partitions: (topic) => ask(() => cluster.find(topic)?.logs.map((_, partition) => partition) ?? null),
      createTopic: (topic, { partitions, config = {} }) =>
        ask(() => cluster.create(topic, partitions, config)),
      deleteTopic: (topic) => ask(() => cluster.remove(topic)),
      topicConfig: (topic) =>
        ask(() => new Map(Object.entries({ ...DEFAULT_CONFIG, ...cluster.topic(topic).config }))),
      watermarks: (topic) => ask(() => each(topic, ({ low, stableEnd }) => ({ low, high: stableEnd }))),
      offsetsAt: (topic, timestampMs) =>
        ask(() =>
          each(topic, (log) => {
            const { records = [] } = log.read(log.low, Number.MAX_SAFE_INTEGER) ?? {};
            return records.find((record) => record.timestampMs >= timestampMs)?.offset ?? log.stableEnd;
          }),
        ),
      recordAt: ({ topic, partition, nextOffset }) =>
        ask(() => {
          const log = logOf(cluster.topic(topic), partition);
          const from = nextOffset < log.low ? log.low : nextOffset;
          return log.read(from, Number.MAX_SAFE_INTEGER)?.records[0] ?? null;
        }),
      groupMembers: (group) => ask(() => cluster.members(group)),
      close: async () => {},
    };
  }
}

function logOf(topic: FakeTopic, partition: number): FakeTopic["logs"][number] {
  const log = topic.logs[partition];
  if (log === undefined)
    throw new LabError("TOPIC_MISSING", `topic ${topic.name} has no partition ${partition}`);
  return log;
}

function sizeOf({ key, value }: OutgoingRecord): number {
  return RECORD_OVERHEAD + Buffer.byteLength(key ?? "") + Buffer.byteLength(value ?? "");
}
