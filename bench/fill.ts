/** A topic of seeded events: what every contender of a benchmark reads. */

import { connectKafka } from "../kafka/client.ts";
import type { OutgoingRecord } from "../kafka/ports.ts";
import { type EventSize, eventSource, eventTimeMs } from "./events.ts";

export type Fill = {
  brokers: readonly string[];
  topic: string;
  partitions: number;
  messages: number;
  size: EventSize;
  seed: number;
};

/** Of one partition in one request, as a Java producer with a batch of 256 KiB sends. */
const BATCH_BYTES = 256 * 1024;

/**
 * Makes the topic and writes event `i` into partition `i mod partitions`, with the time of the event as the record's. Nothing of it is ever
 * taken away by age. Resolves with the bytes of all values.
 */
export async function fillTopic(
  { brokers, topic, partitions, messages, size, seed }: Fill,
  signal: AbortSignal,
): Promise<number> {
  const kafka = connectKafka({ brokers, clientId: "lab-bench", connectTimeoutMs: 30_000 });
  const admin = await kafka.admin();
  try {
    await admin.createTopic(topic, { partitions, config: { "retention.ms": "-1" } });
  } finally {
    await admin.close();
  }
  const event = eventSource(seed, size);
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  let [bytes, waiting] = [0, 0];
  let records: OutgoingRecord[] = [];
  let sending: Promise<unknown> = Promise.resolve();
  try {
    for (let index = 0; index < messages; index++) {
      const value = Buffer.from(event(index));
      records.push({ key: null, value, partition: index % partitions, timestampMs: eventTimeMs(index) });
      bytes += value.byteLength;
      waiting += value.byteLength;
      if (waiting < BATCH_BYTES * Math.min(partitions, 16) && index + 1 < messages) continue;
      // One request is on its way while the next is made.
      await sending;
      signal.throwIfAborted();
      sending = sink.send(topic, records);
      // Its failure is met where it is awaited.
      sending.catch(() => {});
      [records, waiting] = [[], 0];
    }
    await sending;
    return bytes;
  } finally {
    await sink.close();
  }
}
