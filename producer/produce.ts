/** Sends a source's messages to a topic: paced, in bounded flight, counted by what the broker acknowledged. */

import { sleep } from "../core/retry.ts";
import type { Kafka, Sink, SinkOptions } from "../kafka/ports.ts";
import { type Audited, type AuditOptions, audited } from "./audited.ts";
import { createFlight, type Flight, type ProduceTotals } from "./flight.ts";
import { nextIndex } from "./resume.ts";
import type { Message, MessageSource } from "./source.ts";
import { throttle } from "./throttle.ts";

export type ProduceOptions = {
  kafka: Kafka;
  topic: string;
  source: MessageSource;
  /** Messages a second; absent: the source's own pace, or as fast as the broker takes them. */
  rate?: number;
  /** Stop after so many messages. */
  count?: number;
  /** Take each message's key from this field of its JSON value. */
  key?: string;
  /** Partitions of a topic that has to be made. */
  partitions: number;
  acks: SinkOptions["acks"];
  /** Names this run in the `lab-seq` header of each message. */
  origin: string;
  /** Messages are stamped, and what was sent of which window is told to another topic. */
  audit?: AuditOptions;
  now: () => number;
  /** Ends the run in order: what was sent is waited for. */
  signal: AbortSignal;
  onProgress?: (totals: ProduceTotals) => void;
  /** Told of each failure that is waited out. */
  onOutage?: (error: Error) => void;
};

export type { ProduceTotals } from "./flight.ts";

/** Split over the partitions, so each gets a request of a size worth its trip. */
const BATCH_RECORDS = 3_000;
const BATCH_BYTES = 1024 * 1024;
/** How long a message waits for others before it goes, where a source is slow. */
const LINGER_MS = 50;

/**
 * Makes the topic if it is missing, and sends until the source ends, `count` is reached or the signal aborts. An endless source goes on
 * where the topic stands. Outages after the first contact are waited out; MESSAGE_TOO_LARGE names the message; BROKER_UNREACHABLE where a
 * stop came in an outage and not all was acknowledged in the time that a stop allows.
 */
export async function produce(options: ProduceOptions): Promise<ProduceTotals> {
  const totals: ProduceTotals = { sent: 0, acked: 0, bytes: 0, partitions: new Map() };
  await options.source.check?.();
  const from = await prepareTopics(options);
  const sink = await options.kafka.sink({
    acks: options.acks,
    idempotent: options.acks === "all",
    ...(options.onOutage ? { onOutage: options.onOutage } : {}),
  });
  try {
    const { kafka, topic, now, signal, audit } = options;
    const work = (how?: Audited) => run(options, sink, from, totals, how);
    await (audit ? audited(audit, { kafka, about: topic, now, signal }, work) : work());
  } finally {
    await sink.close();
  }
  return totals;
}

async function run(
  options: ProduceOptions,
  sink: Sink,
  from: number,
  totals: ProduceTotals,
  how?: Audited,
): Promise<void> {
  const flight = createFlight({
    ...{ sink, topic: options.topic, origin: options.origin, from, key: options.key, totals },
    audited: how,
    signal: options.signal,
    onProgress: (now) => options.onProgress?.(now),
  });
  await sendAll(options, flight, from, totals);
  // Waits a while for what is on its way, then gives it up: a stop must end, outage or not.
  if (options.signal.aborted) await sink.close();
  await flight.landed();
}

/** By the broker's time of a heartbeat a producer's clock is judged. */
const BROKERS_CLOCK = { "message.timestamp.type": "LogAppendTime" };

async function prepareTopics(options: ProduceOptions): Promise<number> {
  const { topic, source, partitions, audit, signal } = options;
  const admin = await options.kafka.admin();
  try {
    if ((await admin.partitions(topic)) === null) await admin.createTopic(topic, { partitions });
    if (audit && (await admin.partitions(audit.topic)) === null)
      await admin.createTopic(audit.topic, { partitions, config: BROKERS_CLOCK });
    return source.isEndless ? await nextIndex(admin, topic, signal) : 0;
  } finally {
    await admin.close();
  }
}

async function sendAll(
  options: ProduceOptions,
  flight: Flight,
  from: number,
  totals: ProduceTotals,
): Promise<void> {
  const { stop } = flight;
  const pace = options.rate === undefined ? options.source.pace : undefined;
  const gate = throttle(options.rate, options.now);
  let batch: Message[] = [];
  let batchBytes = 0;
  let isInRound = 0;

  function send(): void {
    const ready = batch;
    batch = [];
    batchBytes = 0;
    if (ready.length > 0) flight.send(ready);
  }

  /** Nothing more is taken from the source while there is no room: in an outage it has to wait. */
  async function flush(): Promise<void> {
    send();
    await flight.room();
  }

  // Without room messages wait in their batch, which ends at its full size like any other.
  const linger = setInterval(() => {
    if (!flight.isFull) send();
  }, LINGER_MS);
  try {
    for await (const message of options.source.messages(from, stop)) {
      if (stop.aborted) break;
      while (gate.take(1) === 0) {
        await flush();
        await sleep(gate.waitMs(), stop);
      }
      batch.push(message);
      totals.sent++;
      batchBytes += message.value?.length ?? 0;
      if (totals.sent === options.count) break;
      if (batch.length >= BATCH_RECORDS || batchBytes >= BATCH_BYTES) await flush();
      if (pace && ++isInRound === pace.every) {
        isInRound = 0;
        await flush();
        await sleep(pace.pauseMs, stop);
      }
    }
  } catch (error) {
    // A stop in the middle of a pause is an order, not a failure; what failed in flight is told when all have landed.
    if (!stop.aborted) throw error;
  } finally {
    clearInterval(linger);
  }
  await flush();
}
