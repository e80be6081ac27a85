/** What was produced, as an independent reader of the topic sees it: which offsets there are, and in which minute each was made. */

import type { TopicBatch } from "./control.ts";
import type { OffsetRange, Ranges } from "./offset-ranges.ts";

export type ProducedPartition = {
  /** Nothing below is counted: it was not in the topic any more when reading began. */
  start: bigint;
  /** All below is read. */
  next: bigint;
  offsets: Ranges;
  /** By the record's own time, newest last; `minute` in ms since the epoch. */
  minutes: readonly { minute: number; offsets: Ranges }[];
};

export type ProducedBook = {
  /** The partition is read from here on; what was known of it is dropped. */
  begins(partition: number, from: bigint): void;
  /** In offset order, without holes between batches. */
  took(batch: TopicBatch): void;
  partitions(): ReadonlyMap<number, ProducedPartition>;
};

const MINUTE_MS = 60_000;
const KEPT_MINUTES = 60;

type Page = {
  start: bigint;
  next: bigint;
  offsets: OffsetRange[];
  minutes: Map<number, OffsetRange[]>;
};

export function openProducedBook(): ProducedBook {
  const pages = new Map<number, Page>();
  return {
    begins(partition, from) {
      pages.set(partition, { start: from, next: from, offsets: [], minutes: new Map() });
    },
    took({ partition, nextOffset, records }) {
      const page = pages.get(partition);
      if (page === undefined) return;
      for (const { offset, timestampMs } of records) {
        append(page.offsets, offset);
        const minute = Math.floor(timestampMs / MINUTE_MS) * MINUTE_MS;
        let own = page.minutes.get(minute);
        if (own === undefined) {
          own = [];
          page.minutes.set(minute, own);
        }
        append(own, offset);
      }
      page.next = nextOffset;
      dropOld(page.minutes);
    },
    partitions: () =>
      new Map(
        [...pages].map(([partition, { minutes, ...page }]) => [
          partition,
          {
            ...page,
            minutes: [...minutes].sort(([a], [b]) => a - b).map(([minute, offsets]) => ({ minute, offsets })),
          },
        ]),
      ),
  };
}

function append(ranges: OffsetRange[], offset: bigint): void {
  const last = ranges.at(-1);
  if (last !== undefined && last.last + 1n === offset) last.last = offset;
  else ranges.push({ first: offset, last: offset });
}

function dropOld(minutes: Map<number, OffsetRange[]>): void {
  if (minutes.size <= 2 * KEPT_MINUTES) return;
  const oldest = [...minutes.keys()].sort((a, b) => a - b).slice(0, minutes.size - KEPT_MINUTES);
  for (const minute of oldest) minutes.delete(minute);
}
