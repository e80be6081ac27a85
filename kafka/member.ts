/** One kafkajs consumer from its first join to its end: never restarted, never repositioned by itself without a word. */

import type { Consumer, EachBatchPayload } from "kafkajs";
import { LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import { announceJoins } from "./announced-joins.ts";
import { bySubscription } from "./assigner.ts";
import { newClient } from "./connection.ts";
import type { RawBatch } from "./fetched.ts";
import type { KafkaOptions, Position, SourceOptions, TopicPartition } from "./ports.ts";

/** Called at once, between the join and the first fetch after it; nothing here is awaited by the client but `batch`. */
export type MemberEvents = {
  joined(partitions: readonly TopicPartition[]): void;
  /** What was assigned is not any more. */
  lost(): void;
  batch(raw: RawBatch, step: BatchStep): Promise<void>;
  /** A range of aborted, control or compacted records alone, which the client passes over by itself. */
  passedOver(partition: TopicPartition): void;
  /** The position was out of range, and the client set it anew by itself. */
  strayed(partition: TopicPartition): void;
};

export type BatchStep = {
  /** False for a batch of a consumer that ends, or from before a seek. */
  isWanted(): boolean;
  /** Goes on after the batch. Without this call, the same offset is fetched again. */
  resolve(): void;
};

export type Member = {
  /** Finds the brokers and the topics; rejects with what the client says. */
  connect(): Promise<void>;
  /** Resolves at the first join. */
  join(): Promise<void>;
  /** Rejects with the client's error when it is over; pends for ever while it is well. */
  readonly crashed: Promise<never>;
  pause(partition: TopicPartition): void;
  resume(partition: TopicPartition): void;
  seek(position: Position): void;
  commit(positions: readonly Position[]): Promise<void>;
  /** Leaves the group. Waits for what is on its way first: to leave in the middle of a first join is to come back as a ghost. */
  leave(): Promise<void>;
};

/** Ticks of the watchdog without a heartbeat, join or fetch before a member counts as dead. In session timeouts. */
const SILENT_SESSIONS = 3;
/** Partitions of one fetch that are handed over at a time: more than one fetch ever brings. */
const CONCURRENCY = 256;
/**
 * What one fetch brings of a partition at most. Compaction keeps an empty batch for an idempotent producer, which kafkajs 2.2.4 does not move
 * past: where the record behind it does not fit beside it, the partition stands still. Brokers take records of 1 MiB unless told otherwise.
 */
const PARTITION_BYTES = 2 * 1024 * 1024;
/** kafkajs 2.2.4 says it in the log alone that it moved a position (consumerGroup.js, recoverFromOffsetOutOfRange). */
const MOVED = "Offset out of range, resetting to default offset";

export function createMember(kafka: KafkaOptions, options: SourceOptions, events: MemberEvents): Member {
  announceJoins();
  const sessionTimeout = options.sessionTimeoutMs ?? 6_000;
  const client = newClient(kafka, (message, fields) => {
    if (message !== MOVED || isOver) return;
    events.strayed({ topic: String(fields.topic), partition: Number(fields.partition) });
  });
  const consumer = client.consumer({
    groupId: options.group,
    sessionTimeout,
    rebalanceTimeout: 2 * sessionTimeout,
    heartbeatInterval: options.heartbeatMs ?? 500,
    maxWaitTimeInMs: options.maxWaitMs ?? 250,
    maxBytesPerPartition: PARTITION_BYTES,
    metadataMaxAge: options.metadataMaxAgeMs ?? 10_000,
    allowAutoTopicCreation: false,
    partitionAssigners: [bySubscription],
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 6, restartOnFailure: async () => false },
  });
  let isOver = false;
  let pending: Promise<unknown> = Promise.resolve();
  const { crashed, crash } = crashSignal();
  const watchdog = watchMember(consumer, SILENT_SESSIONS * sessionTimeout, crash);

  const listen = consumer.events;
  for (const event of [listen.REBALANCING, listen.STOP, listen.CRASH] as const)
    consumer.on(event, () => {
      if (!isOver) events.lost();
    });
  consumer.on(listen.CRASH, ({ payload }) => crash(payload.error));
  consumer.on(listen.GROUP_JOIN, ({ payload }) => {
    const partitions = Object.entries(payload.memberAssignment).flatMap(([topic, ids]) =>
      ids.map((partition) => ({ topic, partition })),
    );
    // Always by number: to pause a topic as a whole is undone by pausing any one partition of it.
    if (isOver) for (const partition of partitions) consumer.pause([named(partition)]);
    else events.joined(partitions);
  });
  consumer.on(listen.START_BATCH_PROCESS, ({ payload: { batchSize, topic, partition } }) => {
    if (batchSize === 0 && !isOver) events.passedOver({ topic, partition });
  });

  async function eachBatch({ batch, resolveOffset, isRunning, isStale }: EachBatchPayload): Promise<void> {
    if (isOver) return;
    await events.batch(batch as unknown as RawBatch, {
      isWanted: () => !isOver && isRunning() && !isStale(),
      resolve: () => resolveOffset(batch.lastOffset()),
    });
  }

  async function findTopics(): Promise<void> {
    await consumer.connect();
    if (!isOver) await consumer.subscribe({ topics: [...options.topics], fromBeginning: true });
  }

  async function connect(): Promise<void> {
    const found = findTopics();
    pending = found.catch(() => {});
    await found;
  }

  async function join(): Promise<void> {
    const run = consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: CONCURRENCY,
      eachBatch,
    });
    pending = run.catch(() => {});
    // A join that fails is told by CRASH; run() itself resolves then.
    await Promise.race([run, crashed]);
  }

  return {
    connect,
    join,
    crashed,
    pause: (partition) => consumer.pause([named(partition)]),
    resume: (partition) => consumer.resume([named(partition)]),
    seek: ({ topic, partition, nextOffset }) =>
      consumer.seek({ topic, partition, offset: String(nextOffset) }),
    commit: (positions) =>
      consumer.commitOffsets(
        positions.map(({ topic, partition, nextOffset }) => ({
          topic,
          partition,
          offset: String(nextOffset),
        })),
      ),
    async leave() {
      isOver = true;
      watchdog.stop();
      await pending;
      await consumer.disconnect();
    },
  };
}

function named({ topic, partition }: TopicPartition): { topic: string; partitions: number[] } {
  return { topic, partitions: [partition] };
}

function crashSignal(): { crashed: Promise<never>; crash(error: Error): void } {
  let crash: (error: Error) => void = () => {};
  const crashed = new Promise<never>((_, reject) => {
    crash = reject;
  });
  crashed.catch(() => {});
  return { crashed, crash };
}

/**
 * Ends a member that neither beats nor fetches. It counts its own ticks, not the clock: a process that was frozen as a whole has not been
 * let down by the client.
 */
export function watchMember(
  consumer: Pick<Consumer, "events" | "on">,
  limitMs: number,
  crash: (error: Error) => void,
): { stop(): void } {
  const controller = new AbortController();
  const { HEARTBEAT, GROUP_JOIN, CONNECT, FETCH } = consumer.events;
  const tickMs = Math.min(1_000, limitMs / 4);
  let silentMs = 0;
  let wallMs = Date.now();
  for (const sign of [HEARTBEAT, GROUP_JOIN, CONNECT, FETCH] as const)
    consumer.on(sign, () => {
      silentMs = 0;
    });
  const tick = async () => {
    for (;;) {
      await sleep(tickMs, controller.signal);
      silentMs += tickMs;
      // kafkajs 2.2.4 sends the next heartbeat when the wall clock says so (consumerGroup.js): set back, it would send none until that has
      // caught up, be expelled and not hear of it.
      const backMs = wallMs - Date.now();
      wallMs = Date.now();
      if (backMs > tickMs)
        return crash(
          new LabError("BROKER_UNREACHABLE", `the clock was set back by ${backMs} ms: joining anew`),
        );
      if (silentMs <= limitMs) continue;
      return crash(
        new LabError("BROKER_UNREACHABLE", `the group member gave no sign of life for ${silentMs} ms`),
      );
    }
  };
  tick().catch(() => {});
  return { stop: () => controller.abort() };
}
