/** Sends a source's messages to a topic: paced, in bounded flight, counted by what the broker acknowledged. */

import { encodeSequence, SEQUENCE_HEADER } from "../audit/header.ts";
import { isLabError, LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import type { Acked, Kafka, OutgoingRecord, Sink, SinkOptions } from "../kafka/ports.ts";
import { keyFrom } from "./key.ts";
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
  now: () => number;
  /** Ends the run in order: what was sent is waited for. */
  signal: AbortSignal;
  onProgress?: (totals: ProduceTotals) => void;
  /** Told of each failure that is waited out. */
  onOutage?: (error: Error) => void;
};

export type ProduceTotals = {
  sent: number;
  /** Acknowledged by the broker. */
  acked: number;
  /** Value bytes acknowledged. */
  bytes: number;
  /** Acknowledged, per partition. */
  partitions: Map<number, number>;
};

const BATCH_RECORDS = 1_000;
const BATCH_BYTES = 256 * 1024;
/** Value bytes and batches on their way to the broker at a time. */
const FLIGHT = { bytes: 8 * 1024 * 1024, batches: 64 };

/**
 * Makes the topic if it is missing, and sends until the source ends, `count` is reached or the signal aborts. An endless source goes on
 * where the topic stands. Outages after the first contact are waited out; MESSAGE_TOO_LARGE names the message.
 */
export async function produce(options: ProduceOptions): Promise<ProduceTotals> {
  const { kafka, topic, source } = options;
  const totals: ProduceTotals = { sent: 0, acked: 0, bytes: 0, partitions: new Map() };
  const from = await prepareTopic(options);
  const sink = await kafka.sink({
    acks: options.acks,
    idempotent: options.acks === "all",
    ...(options.onOutage ? { onOutage: options.onOutage } : {}),
  });
  try {
    await sendAll(options, sink, source.messages(from, options.signal), totals);
  } finally {
    await sink.close();
  }
  return totals;

  async function prepareTopic({ partitions }: ProduceOptions): Promise<number> {
    const admin = await kafka.admin();
    try {
      if ((await admin.partitions(topic)) === null) await admin.createTopic(topic, { partitions });
      if (!source.isEndless) return 0;
      const ends = await admin.watermarks(topic);
      return Number([...ends.values()].reduce((sum, { high }) => sum + high, 0n));
    } finally {
      await admin.close();
    }
  }
}

async function sendAll(
  options: ProduceOptions,
  sink: Sink,
  messages: AsyncIterable<Message> | Iterable<Message>,
  totals: ProduceTotals,
): Promise<void> {
  const { signal } = options;
  const pace = options.rate === undefined ? options.source.pace : undefined;
  const gate = throttle(options.rate, options.now);
  const flight = createFlight(options, sink, totals);
  let batch: Message[] = [];
  let batchBytes = 0;
  let isInRound = 0;

  async function flush(): Promise<void> {
    const ready = batch;
    batch = [];
    batchBytes = 0;
    if (ready.length > 0) await flight.send(ready);
  }

  try {
    for await (const message of messages) {
      if (signal.aborted || (options.count !== undefined && totals.sent >= options.count)) break;
      while (gate.take(1) === 0) {
        await flush();
        await sleep(gate.waitMs(), signal);
      }
      batch.push(message);
      totals.sent++;
      batchBytes += message.value?.length ?? 0;
      if (batch.length >= BATCH_RECORDS || batchBytes >= BATCH_BYTES) await flush();
      if (pace && ++isInRound === pace.every) {
        isInRound = 0;
        await flush();
        await sleep(pace.pauseMs, signal);
      }
    }
  } catch (error) {
    // A stop in the middle of a pause is an order, not a failure.
    if (!signal.aborted) throw error;
  }
  await flush();
  await flight.landed();
}

type Flight = { send(batch: readonly Message[]): Promise<void>; landed(): Promise<void> };

/** Batches on their way: at most so many at a time, and the first failure ends the run. */
function createFlight(options: ProduceOptions, sink: Sink, totals: ProduceTotals): Flight {
  const { topic } = options;
  const flying = new Set<Promise<void>>();
  let bytesInFlight = 0;
  let n = 0;
  let failure: unknown;

  function record(message: Message): OutgoingRecord {
    const sequence = encodeSequence({ origin: options.origin, n: n++ });
    const key = options.key === undefined ? message.key : keyFrom(options.key, message);
    return { key, value: message.value, headers: { [SEQUENCE_HEADER]: sequence } };
  }

  function count(acked: readonly Acked[]): void {
    for (const { partition, count } of acked) {
      totals.acked += count;
      totals.partitions.set(partition, (totals.partitions.get(partition) ?? 0) + count);
    }
    options.onProgress?.(totals);
  }

  async function fly(batch: readonly Message[], bytes: number, first: number): Promise<void> {
    try {
      count(await sink.send(topic, batch.map(record)));
      totals.bytes += bytes;
    } catch (error) {
      if (isLabError(error)) count((error.details.acked as Acked[] | undefined) ?? []);
      failure ??= named(error, batch, first);
    } finally {
      bytesInFlight -= bytes;
    }
  }

  return {
    async send(batch) {
      const bytes = batch.reduce(
        (sum, { value }) => sum + (value === null ? 0 : Buffer.byteLength(value)),
        0,
      );
      const first = totals.sent - batch.length;
      bytesInFlight += bytes;
      const flown = fly(batch, bytes, first).finally(() => flying.delete(flown));
      flying.add(flown);
      while (flying.size >= FLIGHT.batches || bytesInFlight >= FLIGHT.bytes) {
        if (flying.size === 0) break;
        await Promise.race(flying);
      }
      if (failure !== undefined) throw failure;
    },
    async landed() {
      await Promise.all(flying);
      if (failure !== undefined) throw failure;
    },
  };
}

/** Says which message is too large: a batch of many hides it. */
function named(error: unknown, batch: readonly Message[], first: number): unknown {
  if (!isLabError(error, "MESSAGE_TOO_LARGE")) return error;
  const sizes = batch.map(({ value }) => (value === null ? 0 : Buffer.byteLength(value)));
  const largest = sizes.indexOf(Math.max(...sizes));
  return new LabError(
    "MESSAGE_TOO_LARGE",
    `message ${first + largest + 1} has ${sizes[largest]} bytes: ${error.message}`,
    {
      ...(error.hint === undefined ? {} : { hint: error.hint }),
      details: { ...error.details, message: first + largest + 1, bytes: sizes[largest] },
      cause: error,
    },
  );
}
