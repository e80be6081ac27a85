/** A reader of a whole topic that shares nothing with the ingester: a group of its own, positions in memory only. */

import { randomUUID } from "node:crypto";
import { asLabError, isLabError, LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import type { TopicReader } from "../dashboard/control.ts";
import type { Kafka, Position, TopicPartition } from "../kafka/ports.ts";

const CHECK_EVERY_MS = 4_000;
/** Records are there and none comes: the connection is of a topic that is no more. */
const STUCK_MS = 10_000;
const CLOSE_MS = 3_000;

/**
 * Tells `reader` of each record from the first that is there, until the signal aborts. TOPIC_MISSING, BROKER_UNREACHABLE, NO_PROGRESS where
 * nothing more comes though there is more, and TOPIC_RESET where the topic was made anew: the next call begins again.
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
  let movedAt = performance.now();
  const ended = new AbortController();

  const begin = (partition: number, from: bigint) => {
    next.set(partition, from);
    reader.begins(partition, from);
  };
  const readMarks = async () => {
    const admin = await kafka.admin();
    return admin.watermarks(topic).finally(() => admin.close());
  };
  /** Rejects where what is read is not what is there. */
  const watch = async () => {
    const until = AbortSignal.any([signal, ended.signal]);
    for (;;) {
      await sleep(CHECK_EVERY_MS, until);
      const marks = await readMarks().catch((error: unknown) => {
        if (!isLabError(error, "BROKER_UNREACHABLE")) throw error;
        reader.outage(error);
        return null;
      });
      if (marks === null) continue;
      reader.outage(null);
      for (const [partition, { high }] of marks) {
        const at = next.get(partition);
        if (at !== undefined && at > high)
          throw new LabError("TOPIC_RESET", `${topic} was made anew: partition ${partition} ends at ${high}`);
        if (at !== undefined && at < high && performance.now() - movedAt > STUCK_MS)
          throw new LabError("NO_PROGRESS", `partition ${partition} of ${topic} cannot be read past ${at}`);
      }
    }
  };
  const positionOf = ({ partition }: TopicPartition): Position => {
    if (!next.has(partition)) begin(partition, lows.get(partition) ?? 0n);
    return { topic, partition, nextOffset: next.get(partition)! };
  };

  const failed = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true, signal: ended.signal });
    void (async () => {
      signal.throwIfAborted();
      lows = new Map([...(await readMarks())].map(([partition, { low }]) => [partition, low]));
      const reading = source.run({
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
          movedAt = performance.now();
          reader.took({ partition, nextOffset, records: records.toArray() });
        },
        outage: (error) => reader.outage(asLabError(error)),
        fatal: reject,
      });
      await Promise.race([reading, watch()]);
    })().catch(reject);
  });
  try {
    await failed;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    ended.abort();
    // A source that is about to join again may take its time: the next one need not wait for it.
    await Promise.race([
      source.close().catch(() => undefined),
      sleep(CLOSE_MS, new AbortController().signal),
    ]);
  }
}
