/** The column `_kafka` as vectors: where each row's message came from. No object is made for a message. */

import { isStruct } from "../delta/schema.ts";
import type { StructField, StructType } from "../delta/types.ts";
import { kafkaField } from "../engine/kafka-column.ts";
import type { RawBatch } from "../engine/raw-batch.ts";
import type { LeafBuilder } from "./leaf-builder.ts";

const NO_BYTES = new Uint8Array(0);
const TWO_TO_32 = 4_294_967_296;

/** Undefined where the column of a table has a member of another form than ours; members may lack. */
export function kafkaMembers(field: StructField): StructType | undefined {
  const { type } = field;
  if (!isStruct(type)) return undefined;
  const ours = kafkaField(true).type as StructType;
  const isOurs = type.fields.every((member) => {
    const own = ours.fields.find(({ name }) => name === member.name);
    return own !== undefined && JSON.stringify(own.type) === JSON.stringify(member.type) && member.nullable;
  });
  return isOurs && field.nullable ? type : undefined;
}

/**
 * Fills `leaves`, those of the column in the form of `kafkaMembers`, with one row for each of `places`, which are places of the batch. Without
 * `keepRaw` a member `value` is null.
 */
export function fillKafka(
  members: StructType,
  leaves: readonly LeafBuilder[],
  batch: RawBatch,
  places: Uint32Array,
  keepRaw: boolean,
): void {
  const next = leaves.values();
  const leaf = () => next.next().value!;
  for (const { name } of members.fields) {
    if (name === "headers") fillHeaders(leaf(), leaf(), batch, places);
    else if (name !== "value") FILL[name]!(leaf(), batch, places);
    else if (keepRaw) fillOriginals(leaf(), batch, places);
    else fillNulls(leaf(), places.length);
  }
}

type Fill = (leaf: LeafBuilder, batch: RawBatch, places: Uint32Array) => void;

const FILL: Readonly<Record<string, Fill>> = {
  topic: (leaf, batch, places) => fillNames(leaf, places, (place) => batch.topic(place)),
  timestamp_type: (leaf, batch, places) => fillNames(leaf, places, (place) => batch.timestampType(place)),
  partition: (leaf, batch, places) => fillInt32(leaf, places, (place) => batch.partition(place)),
  generation: (leaf, batch, places) => fillInt32(leaf, places, (place) => batch.generation(place)),
  offset(leaf, batch, places) {
    leaf.begin(NO_BYTES, places.length);
    for (const place of places) {
      const i = leaf.add(0);
      leaf.low[i] = batch.offsetLow(place);
      leaf.high[i] = batch.offsetHigh(place);
    }
  },
  timestamp(leaf, batch, places) {
    leaf.begin(NO_BYTES, places.length);
    for (const place of places) addMillis(leaf, batch.timestampMs(place));
  },
  key(leaf, batch, places) {
    leaf.begin(batch.keys, places.length);
    const level = leaf.leaf.maxDefinition - 1;
    for (const place of places) {
      const start = batch.keyStart(place);
      if (batch.hasKey(place)) leaf.addBytes(0, start, batch.keyEnd(place) - start);
      else leaf.addNull(0, level);
    }
  },
};

/** Microseconds may be beyond what a double carries: milliseconds are taken times 1000 half by half. */
function addMillis(leaf: LeafBuilder, ms: number): void {
  const msHigh = Math.floor(ms / TWO_TO_32);
  const low = (ms - msHigh * TWO_TO_32) * 1000;
  const i = leaf.add(0);
  leaf.low[i] = low;
  leaf.high[i] = msHigh * 1000 + Math.floor(low / TWO_TO_32);
}

function fillInt32(leaf: LeafBuilder, places: Uint32Array, numberOf: (place: number) => number): void {
  leaf.begin(NO_BYTES, places.length);
  for (const place of places) leaf.addInt32(0, numberOf(place));
}

/** Few texts, of which each stands there once for a run of rows. */
function fillNames(leaf: LeafBuilder, places: Uint32Array, nameOf: (place: number) => string): void {
  leaf.begin(NO_BYTES, places.length);
  let last: string | undefined;
  for (const place of places) {
    const name = nameOf(place);
    if (name === last) leaf.addAgain(0);
    else leaf.addCopy(0, Buffer.from(name));
    last = name;
  }
}

function fillNulls(leaf: LeafBuilder, rows: number): void {
  leaf.begin(NO_BYTES, rows);
  for (let i = 0; i < rows; i++) leaf.addNull(0, leaf.leaf.maxDefinition - 1);
}

/** An array of headers, `keys` and `values` of them, by reference. */
function fillHeaders(keys: LeafBuilder, values: LeafBuilder, batch: RawBatch, places: Uint32Array): void {
  const bytes = batch.headerBytes;
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  keys.begin(bytes, places.length);
  values.begin(bytes, places.length);
  // The element may be null, its key and value, too: three levels above the array's, which is one above an absent one.
  const emptyLevel = keys.leaf.maxDefinition - 3;
  const nullLevel = values.leaf.maxDefinition - 1;
  for (const place of places) {
    const end = batch.headerEnd(place);
    let at = batch.headerStart(place);
    if (at === end) {
      keys.addNull(0, emptyLevel);
      values.addNull(0, emptyLevel);
    }
    for (let repetition = 0; at < end; repetition = 1) {
      const keyLength = words.getInt32(at, true);
      const valueLength = words.getInt32(at + 4, true);
      const value = at + 8 + keyLength;
      keys.addBytes(repetition, at + 8, keyLength);
      if (valueLength < 0) values.addNull(repetition, nullLevel);
      else values.addBytes(repetition, value, valueLength);
      at = value + Math.max(valueLength, 0);
    }
  }
}

/** The bytes as they came: by reference where the values are those. */
function fillOriginals(leaf: LeafBuilder, batch: RawBatch, places: Uint32Array): void {
  leaf.begin(batch.values, places.length);
  const level = leaf.leaf.maxDefinition - 1;
  for (const place of places) {
    if (batch.hasOriginals) {
      const original = batch.original(place);
      if (original === null) leaf.addNull(0, level);
      else leaf.addCopy(0, original);
    } else {
      const start = batch.valueStart(place);
      leaf.addBytes(0, start, batch.valueEnd(place) - start);
    }
  }
}
