/** A reader for the suite: keeps positions as an ingester does, and notes every breach of what a source promises. */

import type { TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { FetchedBatch, Kafka, RawRecord, Source, SourceOptions, TopicPartition } from "./ports.ts";

export type Reader = {
  source: Source;
  /** Batches whose `fetchedOffset` was the expected one, in order of arrival. */
  taken: FetchedBatch[];
  /** Batches from elsewhere. */
  refused: FetchedBatch[];
  assigned: { partitions: readonly TopicPartition[]; generation: number }[];
  /** Breaches of the source's promises: must stay empty. */
  breaches: string[];
  outages: Error[];
  fatals: Error[];
  /** Settles with `run`. */
  running: Promise<void>;
  records(partition: number): RawRecord[];
  values(partition: number): (string | null)[];
  position(partition: number): bigint | undefined;
  /** The partitions it has now. */
  partitions(): number[];
  moveTo(partition: number, nextOffset: bigint): void;
  untilPosition(partition: number, nextOffset: bigint): Promise<void>;
};

export type ReaderOptions = Omit<SourceOptions, "topics" | "group"> & {
  topic: string;
  group: string;
  /** Where a partition starts, asked at each assignment; absent: at 0, and then where this reader stood. */
  from?: (partition: number) => bigint;
  /** Awaited within the batch handler. */
  onBatch?: (batch: FetchedBatch) => Promise<void> | void;
  /** Reads this long after the assignment, as an ingester does that must look up positions first. */
  startAfterMs?: number;
};

/** Polls until `look` is true; fails after `deadlineMs` with what was waited for. */
export async function until(
  what: string,
  look: () => boolean | Promise<boolean>,
  deadlineMs = 30_000,
): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await look())) {
    if (Date.now() > end) throw new Error(`waited ${deadlineMs} ms for ${what}`);
    await delay(10);
  }
}

/** Runs a source until the test ends. Positions survive reassignments. */
export function openReader(t: TestContext, kafka: Kafka, options: ReaderOptions): Reader {
  const { topic, group, from, onBatch, startAfterMs = 0, ...rest } = options;
  const source = kafka.source({ topics: [topic], group, ...rest });
  const positions = new Map<number, bigint>();
  const inHand = new Set<string>();
  let current: number | null = null;
  let started: number | null = null;
  const breach = (what: string) => void reader.breaches.push(what);

  const reader: Reader = {
    source,
    taken: [],
    refused: [],
    assigned: [],
    breaches: [],
    outages: [],
    fatals: [],
    running: Promise.resolve(),
    records: (partition) =>
      reader.taken
        .filter((batch) => batch.partition === partition)
        .flatMap((batch) => batch.records.toArray()),
    values: (partition) => reader.records(partition).map(({ value }) => value?.toString() ?? null),
    position: (partition) => positions.get(partition),
    partitions: () =>
      current === null ? [] : reader.assigned.at(-1)!.partitions.map(({ partition }) => partition),
    moveTo(partition, nextOffset) {
      positions.set(partition, nextOffset);
      source.seek({ topic, partition, nextOffset });
    },
    async untilPosition(partition, nextOffset) {
      await until(
        `partition ${partition} at ${nextOffset}`,
        () => (positions.get(partition) ?? -1n) >= nextOffset,
      );
    },
  };

  reader.running = source.run({
    assigned(partitions, generation) {
      if (current !== null) breach(`generation ${generation} began before ${current} was revoked`);
      if (generation <= (reader.assigned.at(-1)?.generation ?? 0))
        breach(`generation ${generation} does not grow`);
      current = generation;
      reader.assigned.push({ partitions, generation });
      const start = () => {
        if (current === generation) started = generation;
        const places = partitions.map(({ partition }) => {
          const nextOffset = from?.(partition) ?? positions.get(partition) ?? 0n;
          positions.set(partition, nextOffset);
          return { topic, partition, nextOffset };
        });
        source.start(places, generation);
      };
      if (startAfterMs === 0) start();
      else setTimeout(start, startAfterMs);
    },
    revoked(generation) {
      if (generation !== current) breach(`generation ${generation} was revoked, ${current} runs`);
      current = null;
      started = null;
    },
    async batch(batch) {
      const { partition, generation, fetchedOffset, nextOffset } = batch;
      if (generation !== current || started !== generation)
        breach(`a batch of generation ${generation} came while ${current} runs and ${started} is started`);
      const hand = `${generation}/${partition}`;
      if (inHand.has(hand)) breach(`partition ${partition} was delivered while a batch of it was in hand`);
      if (fetchedOffset !== positions.get(partition)) {
        reader.refused.push(batch);
        return;
      }
      for (const { offset } of batch.records.toArray())
        if (offset < fetchedOffset || offset >= nextOffset) breach(`offset ${offset} is outside its batch`);
      inHand.add(hand);
      await onBatch?.(batch);
      inHand.delete(hand);
      if (generation !== current || fetchedOffset !== positions.get(partition)) return;
      positions.set(partition, nextOffset);
      reader.taken.push(batch);
    },
    outage: (error) => void reader.outages.push(error),
    fatal: (error) => void reader.fatals.push(error),
  });
  reader.running.catch(() => {});
  t.after(() => source.close());
  return reader;
}
