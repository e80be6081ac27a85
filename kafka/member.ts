/**
 * One kafkajs consumer from its first join to its end, as a member of its group and nothing else: all of its partitions are paused, so that
 * it fetches nothing. It finds new partitions, beats, and commits offsets for lag tools; records come by fetch/.
 */

import type { Consumer } from "kafkajs";
import { LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import { announceJoins } from "./announced-joins.ts";
import { bySubscription } from "./assigner.ts";
import { newClient } from "./connection.ts";
import type { KafkaOptions, Position, SourceOptions, TopicPartition } from "./ports.ts";

/** Called at once; nothing here is awaited by the client. */
export type MemberEvents = {
  joined(partitions: readonly TopicPartition[]): void;
  /** What was assigned is not any more. */
  lost(): void;
};

export type Member = {
  /** Finds the brokers and the topics; rejects with what the client says. */
  connect(): Promise<void>;
  /** Resolves at the first join. */
  join(): Promise<void>;
  /** Rejects with the client's error when it is over; pends for ever while it is well. */
  readonly crashed: Promise<never>;
  commit(positions: readonly Position[]): Promise<void>;
  /** Leaves the group. Waits for what is on its way first: to leave in the middle of a first join is to come back as a ghost. */
  leave(): Promise<void>;
};

/** Ticks of the watchdog without a heartbeat, join or fetch before a member counts as dead. In session timeouts. */
const SILENT_SESSIONS = 3;
const LOOK_MS = 250;

export function createMember(kafka: KafkaOptions, options: SourceOptions, events: MemberEvents): Member {
  announceJoins();
  const sessionTimeout = options.sessionTimeoutMs ?? 6_000;
  const consumer = newClient(kafka).consumer({
    groupId: options.group,
    sessionTimeout,
    rebalanceTimeout: 2 * sessionTimeout,
    heartbeatInterval: options.heartbeatMs ?? 500,
    // With all partitions paused this is its pause between two looks at whether a heartbeat is due.
    maxWaitTimeInMs: LOOK_MS,
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
    // At each join: what was paused before stays so, and what is new is not.
    const assigned = Object.entries(payload.memberAssignment);
    consumer.pause(assigned.map(([topic, partitions]) => ({ topic, partitions: [...partitions] })));
    if (isOver) return;
    events.joined(assigned.flatMap(([topic, ids]) => ids.map((partition) => ({ topic, partition }))));
  });

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
    const run = consumer.run({ autoCommit: false, eachBatch: neverCalled });
    pending = run.catch(() => {});
    // A join that fails is told by CRASH; run() itself resolves then.
    await Promise.race([run, crashed]);
  }

  return {
    connect,
    join,
    crashed,
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

async function neverCalled(): Promise<never> {
  throw new LabError("INTERNAL", "the member fetched records, though all of its partitions are paused");
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
 * Ends a member that neither beats nor looks for its topics. It counts its own ticks, not the clock: a process that was frozen as a whole has not been
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
