/** A chunk's messages as changes, and what becomes of those that are none. */

import type { BadRecord } from "../engine/encoder.ts";
import type { Fault } from "../engine/json-exact.ts";
import { createRawBatch, type RawBatch } from "../engine/raw-batch.ts";
import { type DecodeOptions, decodeMessages } from "../ingest/decode.ts";
import type { Change, Truncate } from "./change.ts";
import type { ChangeDecoder } from "./decoder.ts";
import { areSeveral, joinedTables } from "./source-tables.ts";

export type ChunkChanges = {
  changes: Change[];
  truncates: Truncate[];
  bad: BadRecord[];
  /** Places of messages that are not of rows. */
  skipped: { index: number; kind: string }[];
  /** Snapshots have ended that do not say where they stand or of which table they are: what goes with them is not known. */
  isUnswept: boolean;
  /** Of the source, that the changes are of. */
  tables: ReadonlySet<string>;
};

/**
 * Every message of the batch is in one of the first four, by its place or by where Kafka has it. `known`: tables of the source that were told before; a
 * truncate of one of several is bad. Outages of what decoding takes reject.
 */
export async function changesOf(
  raw: RawBatch,
  decoder: ChangeDecoder,
  { decoding, known }: { decoding: DecodeOptions; known: readonly string[] },
  signal: AbortSignal,
): Promise<ChunkChanges> {
  const tables = new Set<string>();
  const found: ChunkChanges = { changes: [], truncates: [], bad: [], skipped: [], isUnswept: false, tables };
  const truncated: { index: number; truncate: Truncate }[] = [];
  const values = await jsonValues(raw, decoding, found.bad, signal);
  const keyAt = await jsonKeys(raw, decoding, signal);
  for (let index = 0; index < raw.length; index++) {
    const value = values(index);
    if (value === undefined) continue;
    const decoded = decoder.decode({
      ...{ partition: raw.partition(index), offset: raw.offset(index), generation: raw.generation(index) },
      ...{ timestampMs: raw.timestampMs(index), key: keyAt(index), headers: raw.headers(index), value },
    });
    if ("table" in decoded && decoded.table != null) tables.add(decoded.table);
    if ("changes" in decoded) {
      found.changes.push(...decoded.changes);
      if (decoded.sweep === "unknown") found.isUnswept = true;
      else if (decoded.sweep) found.truncates.push(decoded.sweep);
    } else if ("truncate" in decoded) truncated.push({ index, truncate: decoded.truncate });
    else if ("skipped" in decoded) found.skipped.push({ index, kind: decoded.skipped });
    else found.bad.push({ index, ...decoded.bad });
  }
  const all = joinedTables(known, tables);
  for (const { index, truncate } of truncated)
    if (areSeveral(all)) found.bad.push({ index, ...truncateOfOne(all) });
    else found.truncates.push(truncate);
  return found;
}

function truncateOfOne(tables: readonly string[]): Fault {
  return {
    ...{ stage: "schema", code: "CDC_TRUNCATE" },
    message: `a table was truncated, and the rows here are of several (${tables.join(", ")}), of which they do not say which`,
  };
}

/** The value at a place as JSON: null of a tombstone, undefined of what cannot be decoded, which is in `bad` then. */
async function jsonValues(
  raw: RawBatch,
  decoding: DecodeOptions,
  bad: BadRecord[],
  signal: AbortSignal,
): Promise<(index: number) => Uint8Array | null | undefined> {
  if (!decoding.decoder && !decoding.mayBeGzip) return (index) => raw.value(index);
  const told = createRawBatch();
  const places: number[] = [];
  const values: (Uint8Array | null | undefined)[] = new Array(raw.length).fill(undefined);
  for (let index = 0; index < raw.length; index++) {
    if (raw.value(index) === null) values[index] = null;
    else {
      told.append(raw.message(index));
      places.push(index);
    }
  }
  for (let from = 0; from < told.length; ) {
    const part = await decodeMessages(told, { ...decoding, keepRaw: false }, from, signal);
    for (let i = 0; i < part.batch.length; i++) values[places[part.placeOf(i)]!] = part.batch.value(i);
    for (const one of part.bad) bad.push({ ...one, index: places[one.index]! });
    from = part.end;
  }
  return (index) => values[index];
}

/** A registry's wire format: a zero, the schema's id, and what it says. */
const isFramed = (key: Uint8Array | null) => key !== null && key.length > 4 && key[0] === 0;

/** The key at a place: as JSON where it came in the format of the values, else as it is. */
async function jsonKeys(
  raw: RawBatch,
  { decoder }: DecodeOptions,
  signal: AbortSignal,
): Promise<(index: number) => Uint8Array | null> {
  if (!decoder) return (index) => raw.key(index);
  const framed: Uint8Array[] = [];
  for (let index = 0; index < raw.length; index++) {
    const key = raw.key(index);
    if (key !== null && isFramed(key)) framed.push(key);
  }
  if (framed.length > 0) await decoder.prepare(framed, signal);
  return (index) => {
    const key = raw.key(index);
    if (!isFramed(key)) return key;
    const decoded = decoder.decode(key);
    return "objects" in decoded && decoded.objects.length === 1 ? decoded.objects[0]! : key;
  };
}
