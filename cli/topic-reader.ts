/** A reader of a whole topic that shares nothing with the ingester: a group of its own, positions in memory only. */

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { TopicReader } from "../dashboard/control.ts";
import type { Kafka, Position, TopicPartition } from "../kafka/ports.ts";

/**
 * Tells `reader` of each record from the first that is there, until the signal aborts. A partition whose positions are gone, as of a topic
 * made anew, begins again. TOPIC_MISSING, BROKER_UNREACHABLE.
 */
export async function readWholeTopic(
  kafka: Kafka,
  topic: string,
  reader: TopicReader,
  signal: AbortSignal,
): Promise<void> {
  const source = kafka.source({ topics: [topic], group: `lab-ledger-${randomUUID()}` });
  const next = new Map<number, bigint>();
  let lows = new Map<number, bigint>();

  const begin = (partition: number, from: bigint) => {
    next.set(partition, from);
    reader.begins(partition, from);
  };
  const readLows = async () => {
    const admin = await kafka.admin();
    try {
      lows = new Map([...(await admin.watermarks(topic))].map(([partition, { low }]) => [partition, low]));
    } finally {
      await admin.close();
    }
  };
  const positionOf = ({ partition }: TopicPartition): Position => {
    if (!next.has(partition)) begin(partition, lows.get(partition) ?? 0n);
    return { topic, partition, nextOffset: next.get(partition)! };
  };

  const failed = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    void (async () => {
      signal.throwIfAborted();
      await readLows();
      await source.run({
        assigned: (partitions, generation) => source.start(partitions.map(positionOf), generation),
        revoked() {},
        async batch({ partition, fetchedOffset, nextOffset, records }) {
          const expected = next.get(partition);
          if (expected === undefined) return;
          if (fetchedOffset !== expected) {
            // Late batches have records; an empty one says where the topic begins now.
            if (records.length === 0) begin(partition, fetchedOffset);
            source.seek({ topic, partition, nextOffset: next.get(partition)! });
            return;
          }
          next.set(partition, nextOffset);
          reader.took({ partition, nextOffset, records: records.toArray() });
        },
        outage() {},
        fatal: reject,
      });
      if (!signal.aborted) await once(signal, "abort");
    })().catch(reject);
  });
  try {
    await failed;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await source.close().catch(() => undefined);
  }
}
