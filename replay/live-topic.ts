/** A topic read from given positions on, as batches that are asked for one at a time. */

import { randomUUID } from "node:crypto";
import { LabError } from "../core/errors.ts";
import type { FetchedBatch, Kafka } from "../kafka/ports.ts";

export type LiveTopicOptions = {
  kafka: Kafka;
  topic: string;
  /** The next offset of each partition; partitions that are made later begin at 0. */
  next: ReadonlyMap<number, bigint>;
  onOutage: (error: Error) => void;
  signal: AbortSignal;
};

type Waiting = { batch: FetchedBatch; taken: () => void };

/**
 * Batches end to end from the positions on, none twice, whatever the client does: it is alone in a group of its own. Outages are waited out. Ends with
 * the signal's reason. OFFSET_EXPIRED where a position is no longer in the topic.
 */
export async function* liveTopic(options: LiveTopicOptions): AsyncGenerator<FetchedBatch> {
  const { kafka, topic, signal } = options;
  const next = new Map(options.next);
  const source = kafka.source({ topics: [topic], group: `lab.replay.${randomUUID()}` });
  const waiting: Waiting[] = [];
  let wake = () => {};
  let failure: unknown;
  const fail = (error: unknown) => {
    failure ??= error;
    wake();
  };
  const onAbort = () => fail(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const release = () => {
    for (const { taken } of waiting.splice(0)) taken();
  };
  const running = source.run({
    assigned(partitions, generation) {
      const positions = partitions.map((one) => ({ ...one, nextOffset: next.get(one.partition) ?? 0n }));
      for (const { partition, nextOffset } of positions) next.set(partition, nextOffset);
      source.start(positions, generation);
    },
    // What waits was taken over already: it is not asked for again.
    revoked: () => {},
    batch(batch) {
      const { partition, fetchedOffset, nextOffset } = batch;
      const expected = next.get(partition);
      if (expected === undefined) return Promise.resolve();
      if (fetchedOffset !== expected) {
        // Such a batch also says that the topic no longer holds the position: then it is empty, and stands where the topic begins.
        if (batch.records.length === 0 && nextOffset === fetchedOffset && fetchedOffset > expected)
          fail(expired(topic, partition, expected, fetchedOffset));
        else source.seek({ topic, partition, nextOffset: expected });
        return Promise.resolve();
      }
      next.set(partition, nextOffset);
      return new Promise((taken) => {
        waiting.push({ batch, taken });
        wake();
      });
    },
    outage: options.onOutage,
    fatal: fail,
  });
  running.catch(fail);
  try {
    for (;;) {
      signal.throwIfAborted();
      const one = waiting.shift();
      if (one !== undefined) {
        yield one.batch;
        one.taken();
        continue;
      }
      if (failure !== undefined) throw failure;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    release();
    await source.close();
  }
}

export function expired(topic: string, partition: number, position: bigint, low: bigint): LabError {
  return new LabError(
    "OFFSET_EXPIRED",
    `${topic}-${partition} begins at offset ${low}, and ${position} is to be read next`,
    {
      hint: "retention took records that the table does not have yet: let the ingester catch up, keep the topic longer, or begin again at the table's start",
      details: { topic, partition, position: String(position), low: String(low) },
    },
  );
}
