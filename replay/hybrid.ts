/** A topic's whole history and its present as one stream: the table up to the offset it has settled, then the live topic at the next one. */

import { LabError } from "../core/errors.ts";
import { retry, sleep } from "../core/retry.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { settledOffsets } from "../engine/settled-offsets.ts";
import type { Admin, FetchedBatch, Kafka } from "../kafka/ports.ts";
import { generationAt } from "./generation.ts";
import { type LakeRecord, type LakeWork, openLake } from "./lake.ts";
import { expired, liveTopic } from "./live-topic.ts";
import { comparePlaces, type Place } from "./place.ts";
import { moved, placeAt } from "./stream-table.ts";
import type { ValueForm } from "./value.ts";

/** Where a reader stands, as a plain value: keep it beside what was done with the records, and go on from it. */
export type HybridPosition = {
  tableId: string;
  /** Where the next record comes from. */
  phase: "table" | "topic";
  /** The version that is read, or was read last. */
  version: number;
  /** The last place of each partition that is behind the reader: records, letters and what was left out. */
  reached: ReadonlyMap<number, Place>;
};

export type HybridBatch = { records: LakeRecord[]; position: HybridPosition };

export type HybridOptions = {
  table: Table;
  kafka: Kafka;
  topic: string;
  /** Where to go on; default: at the table's start. */
  from?: HybridPosition;
  value?: ValueForm;
  work: LakeWork;
  signal: AbortSignal;
  /** How long the ingester may stand still while the topic no longer holds what comes next; ms, default 30 s. */
  patienceMs?: number;
  pollMs?: number;
  onOutage?: (error: Error) => void;
};

/**
 * Every record of the topic that is a row or still in the topic, each once, partitions in their order; goes on until the signal aborts, with its reason. Letters
 * and what a transform left out are in the topic only, so those before the switch are not seen, and those behind it are.
 *
 * OFFSET_EXPIRED where retention took what the table does not have, TOPIC_RESET where the topic is not the one that the table was made of, USAGE for a
 * position in another table, ORIGIN_MISSING, TOPIC_MISSING, DATA_FILE_MISSING.
 */
export async function* hybridRecords(options: HybridOptions): AsyncGenerator<HybridBatch> {
  const { table, kafka, topic, signal } = options;
  const admin = await kafka.admin();
  try {
    const { metadata, version } = await table.latest(signal);
    let position: HybridPosition = options.from ?? {
      ...{ tableId: metadata.id, phase: "table", version, reached: new Map() },
    };
    if (position.tableId !== metadata.id)
      throw new LabError("USAGE", `the position is one in table ${position.tableId}, not in this one`, {
        hint: "the table was made anew, or it is another one: begin at its start",
        details: { tableId: metadata.id, positionIn: position.tableId },
      });
    const generation = (await generationAt(table, { topic, version, signal }).catch(() => null)) ?? 0;
    if (position.phase === "table" || (await isBehind(admin, topic, position.reached))) {
      for await (const batch of readTable(options, admin, generation, position)) {
        position = batch.position;
        yield batch;
      }
    }
    const marks = await retry(() => admin.watermarks(topic), { signal });
    // A partition that the table knows nothing of begins where the topic has it.
    const next = new Map(
      [...marks].map(([partition, { low }]) => {
        const place = position.reached.get(partition);
        return [partition, place === undefined ? low : place.offset + 1n];
      }),
    );
    const onOutage = options.onOutage ?? (() => {});
    for await (const batch of liveTopic({ kafka, topic, next, onOutage, signal })) {
      const reached = new Map(position.reached);
      reached.set(batch.partition, placeAt(generation, batch.nextOffset - 1n));
      position = { ...position, phase: "topic", reached };
      yield { records: recordsOf(batch, generation), position };
    }
  } finally {
    await admin.close();
  }
}

/** Whether retention took what comes next in the topic, so that it is to be read of the table. */
async function isBehind(admin: Admin, topic: string, reached: HybridPosition["reached"]): Promise<boolean> {
  const marks = await admin.watermarks(topic);
  return [...reached].some(([partition, { offset }]) => (marks.get(partition)?.low ?? 0n) > offset + 1n);
}

/** The table's rows behind a position, version after version, until the topic holds all that comes next. */
async function* readTable(
  options: HybridOptions,
  admin: Admin,
  generation: number,
  from: HybridPosition,
): AsyncGenerator<HybridBatch> {
  const { table, topic, signal, value, work, patienceMs = 30_000, pollMs = 500 } = options;
  const last = new Map<number, LakeRecord>();
  let position: HybridPosition = { ...from, phase: "table" };
  for (let stoodMs = 0; ; ) {
    const snapshot = await retry(() => table.latest(signal), { signal });
    const lake = await openLake({
      ...{ table: snapshot, store: table.store, adds: snapshot.files(), topic, value, work, signal },
    });
    try {
      position = { ...position, version: snapshot.version };
      for await (const records of lake.records(position.reached, signal)) {
        for (const record of records) last.set(record.partition, record);
        position = { ...position, reached: moved(position.reached, records) };
        if (records.length > 0) yield { records, position };
      }
    } finally {
      await lake.close();
    }
    const reached = behindSettled(position.reached, settledOffsets(snapshot, topic), generation);
    position = { ...position, reached };
    const gap = await gapOf(admin, topic, reached);
    if (gap === null) {
      await requireSameTopic(admin, topic, last, signal);
      yield { records: [], position: { ...position, phase: "topic" } };
      return;
    }
    if (stoodMs >= patienceMs) throw expired(topic, gap.partition, gap.next, gap.low);
    stoodMs = (await untilNewer(table, snapshot, pollMs, signal)) ? 0 : stoodMs + pollMs;
  }
}

/** True where a newer version came within the pause. */
async function untilNewer(
  table: Table,
  { version }: Snapshot,
  pollMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  await sleep(pollMs, signal);
  return (await retry(() => table.latest(signal), { signal })).version > version;
}

/** What was settled without a row is behind the reader, too. */
function behindSettled(
  reached: HybridPosition["reached"],
  settled: ReadonlyMap<number, bigint>,
  generation: number,
): Map<number, Place> {
  const next = new Map(reached);
  for (const [partition, offset] of settled) {
    const [known, place] = [reached.get(partition), placeAt(generation, offset)];
    if (known === undefined || comparePlaces(known, place) < 0) next.set(partition, place);
  }
  return next;
}

/** A partition whose next record is no longer in the topic; null where there is none. TOPIC_RESET where the topic ends before what was settled. */
async function gapOf(admin: Admin, topic: string, reached: HybridPosition["reached"]) {
  for (const [partition, { low, high }] of await admin.watermarks(topic)) {
    const place = reached.get(partition);
    if (place === undefined) continue;
    const next = place.offset + 1n;
    if (next > high) throw reset(topic, partition, `it ends at offset ${high}, and ${next - 1n} was settled`);
    if (low > next) return { partition, next, low };
  }
  return null;
}

/** The last record read of each partition is looked up in the topic, where it still is. */
async function requireSameTopic(
  admin: Admin,
  topic: string,
  last: ReadonlyMap<number, LakeRecord>,
  signal: AbortSignal,
): Promise<void> {
  for (const [partition, record] of last) {
    const found = await admin.recordAt({ topic, partition, nextOffset: record.offset }, signal);
    if (found === null || found.offset !== record.offset) continue;
    const isSame = found.timestampMs === record.timestampMs && sameBytes(found.key, record.key);
    if (!isSame)
      throw reset(topic, partition, `its record ${record.offset} is not the one that the table has`);
  }
}

function sameBytes(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}

function reset(topic: string, partition: number, how: string): LabError {
  return new LabError(
    "TOPIC_RESET",
    `${topic}-${partition} is not the topic that the table was made of: ${how}`,
    {
      hint: "it was deleted and made anew: let the ingester go on first, lab ingest --on-topic-reset says how",
      details: { topic, partition },
    },
  );
}

function recordsOf(batch: FetchedBatch, generation: number): LakeRecord[] {
  const { topic, partition, records } = batch;
  return records.toArray().map((record) => ({
    ...record,
    ...{ topic, partition, ...placeAt(generation, record.offset), isOriginal: true },
  }));
}
