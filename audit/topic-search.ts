/** Looks for messages in the topic itself: what is there, and not in the table, was lost behind the broker; what is not, before. */

import { randomUUID } from "node:crypto";
import { LabError } from "../core/errors.ts";
import type { FetchedBatch, Kafka, TopicPartition } from "../kafka/ports.ts";
import type { Place } from "./findings.ts";
import { AUDIT_HEADER, decodeStamp, type Stamp, windowOf } from "./header.ts";
import { type CellKey, cellKey } from "./seen.ts";

/** Offsets of a partition, from inclusive, to exclusive. */
export type OffsetRange = { from: bigint; to: bigint };

/**
 * Places of the stamped messages of `cells` in these ranges, by `cellKey`. Reads as a member of a group of its own. Outages are waited out; ends with the signal's
 * reason. OFFSET_EXPIRED where retention passes a range meanwhile.
 */
export async function searchTopic(
  kafka: Pick<Kafka, "source">,
  topic: string,
  ranges: ReadonlyMap<number, OffsetRange>,
  cells: readonly CellKey[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly Place[]>> {
  const found = new Map<string, Place[]>(cells.map((cell) => [cellKey(cell), []]));
  const next = new Map(
    [...ranges].filter(([, { from, to }]) => from < to).map(([id, { from }]) => [id, from]),
  );
  if (next.size === 0) return found;
  const source = kafka.source({ topics: [topic], group: `lab.audit.${randomUUID()}` });
  let finish: () => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const ended = new Promise<void>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  const onAbort = () => fail(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();

  async function take(batch: FetchedBatch): Promise<void> {
    const { partition, fetchedOffset, nextOffset, records } = batch;
    const expected = next.get(partition);
    if (expected === undefined) return;
    if (fetchedOffset !== expected) {
      if (records.length === 0 && fetchedOffset > expected) fail(expired(topic, partition, expected));
      else source.seek({ topic, partition, nextOffset: expected });
      return;
    }
    const { to } = ranges.get(partition)!;
    for (const { offset, headers } of records.toArray()) {
      const stamp = offset < to ? stampOf(headers) : null;
      if (stamp === null) continue;
      const key = cellKey({ ...stamp, windowMs: windowOf(stamp.eventTimeMs) });
      found.get(key)?.push({ sequence: stamp.windowSequence, partition, offset });
    }
    if (nextOffset >= to) next.delete(partition);
    else next.set(partition, nextOffset);
    if (next.size === 0) finish();
  }

  const running = source.run({
    assigned(partitions: readonly TopicPartition[], generation) {
      const positions = partitions.flatMap(({ partition }) => {
        const nextOffset = next.get(partition);
        return nextOffset === undefined ? [] : [{ topic, partition, nextOffset }];
      });
      source.start(positions, generation);
    },
    revoked() {},
    batch: take,
    outage() {},
    fatal: (error) => fail(error),
  });
  running.catch((error: unknown) => fail(error));
  try {
    await ended;
    return found;
  } finally {
    signal.removeEventListener("abort", onAbort);
    await source.close();
  }
}

function stampOf(headers: readonly (readonly [string, Uint8Array | null])[]): Stamp | null {
  const value = headers.find(([name]) => name === AUDIT_HEADER)?.[1];
  return value ? decodeStamp(value) : null;
}

function expired(topic: string, partition: number, position: bigint): LabError {
  return new LabError("OFFSET_EXPIRED", `${topic}-${partition} no longer has offset ${position}`, {
    hint: "ask again: what retention took cannot be searched",
    details: { topic, partition, position: String(position) },
  });
}
