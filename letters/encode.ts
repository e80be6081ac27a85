/** Letters as messages again, and what becomes of them this time. */

import { rm } from "node:fs/promises";
import type { Snapshot } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import type { BadRecord, EncodedFile } from "../engine/encoder.ts";
import { textList } from "../engine/instance.ts";
import { createRawBatch, type RawBatch } from "../engine/raw-batch.ts";
import type { Value } from "../engine/result.ts";
import { literalPath } from "../engine/scan.ts";
import { routesOfFiles } from "../ingest/publish-routed.ts";
import { type Route, routesOf } from "../ingest/routed-tables.ts";
import type { Desk } from "./desk.ts";

/** What became of a batch; `skipped` counts messages that a transform left out. */
export type EncodedLetters = {
  files: EncodedFile[];
  bad: readonly BadRecord[];
  skipped: number;
  /** Where messages held fields that the schema lacks: the schema the files were written with. */
  evolvedSchema: StructType | undefined;
};

/**
 * Makes files of messages of one topic, in `schema`: that of the table, or what earlier batches made of it. The same holds for the `routes` that
 * have a table.
 */
export type EncodeLetters = (
  batch: RawBatch,
  table: { topic: string; snapshot: Snapshot; schema: StructType; routes: readonly Route[] },
  signal: AbortSignal,
) => Promise<EncodedLetters>;

/** What a message needs and its letter does not say. */
export type Missing = {
  generation: (place: number) => number;
  timestampType: (topic: string, partition: number) => "create" | "append";
};

/** Files of all letters, by `place` what became of each, and the schema that the last file was written with. */
export type EncodedAll = {
  files: EncodedFile[];
  written: number[];
  /** Left out by a transform. */
  filtered: number[];
  bad: (Pick<BadRecord, "stage" | "code" | "message"> & { place: number })[];
  schema: StructType;
};

/** Messages of one topic; `places` are their numbers in table `chosen`. */
type LetterBatch = { topic: string; batch: RawBatch; places: number[] };

/** Messages of a batch some of which were left out: which, only its files tell. */
type Unsure = { files: readonly EncodedFile[]; records: Map<string, number> };

/** Encodes the letters of table `chosen` with these numbers. Files are in the staging folder of `encode`; whoever asked removes them. */
export async function encodeLetters(
  desk: Desk,
  places: readonly number[],
  options: {
    snapshot: Snapshot;
    encode: EncodeLetters;
    missing: Missing;
    /** Raw value bytes that are encoded together, about. */
    batchBytes: number;
    onProgress: (done: number) => void;
  },
  signal: AbortSignal,
): Promise<EncodedAll> {
  const { snapshot, encode, missing } = options;
  const all: EncodedAll = { files: [], written: [], filtered: [], bad: [], schema: snapshot.schema };
  if (places.length === 0) return all;
  await desk.numbers("todo", places, signal);
  const unsure: Unsure[] = [];
  let done = 0;
  try {
    for await (const { topic, batch, places } of readBatches(desk, missing, options.batchBytes, signal)) {
      const routes = [...new Set([...routesOf(snapshot), ...routesOfFiles(all.files)])];
      const encoded = await encode(batch, { topic, snapshot, schema: all.schema, routes }, signal);
      all.files.push(...encoded.files);
      all.schema = encoded.evolvedSchema ?? all.schema;
      const letters = new Set(encoded.bad.map(({ index }) => index));
      for (const { index, stage, code, message } of encoded.bad)
        all.bad.push({ place: places[index]!, stage, code, message });
      const others = places
        .map((place, index) => ({ place, index }))
        .filter(({ index }) => !letters.has(index));
      if (encoded.skipped === 0) all.written.push(...others.map(({ place }) => place));
      else {
        const records = others.map(({ place, index }) => [recordOf(batch, index), place] as const);
        unsure.push({ files: encoded.files, records: new Map(records) });
      }
      done += places.length;
      options.onProgress(done);
    }
    for (const one of unsure) await tellApart(desk, one, all, signal);
    return all;
  } catch (error) {
    await removeStaged(all.files);
    throw error;
  }
}

/** Takes staged files away; those that are gone already are fine. */
export async function removeStaged(files: readonly EncodedFile[]): Promise<void> {
  await Promise.allSettled(files.map(({ file }) => rm(file, { force: true })));
}

/** The letters of table `todo` (`place`), in batches of about `batchBytes` of values. */
async function* readBatches(
  desk: Desk,
  missing: Missing,
  batchBytes: number,
  signal: AbortSignal,
): AsyncIterable<LetterBatch> {
  const open = new Map<string, LetterBatch>();
  const content = `SELECT c.place, c.topic, c."partition", c."offset", epoch_ms(c."timestamp"), l."key", l."value", l.headers
    FROM lines AS l JOIN chosen AS c ON l."lab file" = c.file AND l."lab row" = c."row" JOIN todo ON todo.place = c.place`;
  for await (const [place, name, partition, offset, ms, key, value, headers] of desk.stream(
    content,
    signal,
  )) {
    const topic = name as string;
    const one = open.get(topic) ?? { topic, batch: createRawBatch(), places: [] };
    open.set(topic, one);
    one.places.push(place as number);
    one.batch.append({
      topic,
      partition: partition as number,
      offset: offset as bigint,
      // What no column could hold is no time here either, and makes a letter again.
      timestampMs: ms === null ? Number.NaN : Number(ms),
      timestampType: missing.timestampType(topic, partition as number),
      generation: missing.generation(place as number),
      key: key as Uint8Array | null,
      value: value as Uint8Array | null,
      headers: ((headers ?? []) as Value[][]).map(
        ([header, bytes]) => [header as string, bytes as Uint8Array | null] as const,
      ),
    });
    if (one.batch.bytes < batchBytes && one.places.length < MOST_MESSAGES) continue;
    open.delete(topic);
    yield one;
  }
  yield* open.values();
}

/** Messages may have no byte. */
const MOST_MESSAGES = 100_000;

async function tellApart(desk: Desk, { files, records }: Unsure, all: EncodedAll, signal: AbortSignal) {
  const paths = textList(files.map(({ file }) => literalPath(file)));
  const rows =
    files.length > 0
      ? desk.stream(
          `SELECT DISTINCT k."partition", k."offset", k.generation
           FROM (SELECT _kafka AS k FROM read_parquet(${paths}, hive_partitioning = false))`,
          signal,
        )
      : [];
  const left = new Map(records);
  for await (const [partition, offset, generation] of rows) {
    const key = `${partition}@${offset}#${generation}`;
    const place = left.get(key);
    if (place !== undefined) all.written.push(place);
    left.delete(key);
  }
  all.filtered.push(...left.values());
}

function recordOf(batch: RawBatch, index: number): string {
  return `${batch.partition(index)}@${batch.offset(index)}#${batch.generation(index)}`;
}
