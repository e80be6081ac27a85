/** The column `_kafka` as vectors: where each row's message came from. No object is made for a message. */

import { isStruct } from "../delta/schema.ts";
import type { StructField, StructType } from "../delta/types.ts";
import { kafkaField } from "../engine/kafka-column.ts";
import type { RawBatch } from "../engine/raw-batch.ts";
import type { Address, Columns } from "./columns.ts";
import type { LeafVector } from "./leaf-vector.ts";

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
  columns: Columns,
  members: StructType,
  leaves: readonly LeafVector[],
  batch: RawBatch,
  places: Uint32Array,
  keepRaw: boolean,
): void {
  const next = leaves.values();
  const leaf = () => next.next().value!;
  const source = { columns, batch, places };
  for (const { name } of members.fields) {
    if (name === "headers") fillHeaders(leaf(), leaf(), source);
    else if (name !== "value") FILL[name]!(leaf(), source);
    else if (keepRaw) fillOriginals(leaf(), source);
    else fillNulls(leaf(), places.length);
  }
}

type Source = { columns: Columns; batch: RawBatch; places: Uint32Array };
type Fill = (leaf: LeafVector, source: Source) => void;

const FILL: Readonly<Record<string, Fill>> = {
  topic: (leaf, source) => fillNames(leaf, source, (place) => source.batch.topic(place)),
  timestamp_type: (leaf, source) => fillNames(leaf, source, (place) => source.batch.timestampType(place)),
  partition: (leaf, source) => fillInt32(leaf, source, (place) => source.batch.partition(place)),
  generation: (leaf, source) => fillInt32(leaf, source, (place) => source.batch.generation(place)),
  offset(leaf, { columns, batch, places }) {
    leaf.begin(places.length);
    const words = new Int32Array(columns.memory.buffer, leaf.addRows(places.length), 2 * places.length);
    for (let row = 0; row < places.length; row++) {
      words[2 * row] = batch.offsetLow(places[row]!);
      words[2 * row + 1] = batch.offsetHigh(places[row]!);
    }
  },
  timestamp(leaf, { columns, batch, places }) {
    leaf.begin(places.length);
    const words = new Int32Array(columns.memory.buffer, leaf.addRows(places.length), 2 * places.length);
    for (let row = 0; row < places.length; row++) {
      // Microseconds may be beyond what a double carries: milliseconds are taken times 1000 half by half.
      const ms = batch.timestampMs(places[row]!);
      const msHigh = Math.floor(ms / TWO_TO_32);
      const low = (ms - msHigh * TWO_TO_32) * 1000;
      words[2 * row] = low;
      words[2 * row + 1] = msHigh * 1000 + Math.floor(low / TWO_TO_32);
    }
  },
  key(leaf, { columns, batch, places }) {
    leaf.begin(places.length);
    const keys = loaded(columns, batch.keys);
    const level = leaf.leaf.maxDefinition - 1;
    for (const place of places) {
      const start = batch.keyStart(place);
      if (batch.hasKey(place)) columns.addBytes(leaf.address, 0, keys + start, batch.keyEnd(place) - start);
      else leaf.addNull(0, level);
    }
  },
};

/** Where a copy of the bytes stands in the module's memory, until the next one is made. */
function loaded(columns: Columns, bytes: Uint8Array): Address {
  const at = columns.inputFor(bytes.length);
  new Uint8Array(columns.memory.buffer, at, bytes.length).set(bytes);
  return at;
}

function fillInt32(leaf: LeafVector, { columns, places }: Source, numberOf: (place: number) => number): void {
  leaf.begin(places.length);
  const numbers = new Int32Array(columns.memory.buffer, leaf.addRows(places.length), places.length);
  for (let row = 0; row < places.length; row++) numbers[row] = numberOf(places[row]!);
}

/** Few texts, of which each stands there once for a run of rows. */
function fillNames(leaf: LeafVector, { columns, places }: Source, nameOf: (place: number) => string): void {
  leaf.begin(places.length);
  for (let row = 0; row < places.length; ) {
    const name = nameOf(places[row]!);
    let end = row + 1;
    while (end < places.length && nameOf(places[end]!) === name) end++;
    const bytes = Buffer.from(name);
    columns.repeatBytes(leaf.address, loaded(columns, bytes), bytes.length, end - row);
    row = end;
  }
}

function fillNulls(leaf: LeafVector, rows: number): void {
  leaf.begin(rows);
  for (let i = 0; i < rows; i++) leaf.addNull(0, leaf.leaf.maxDefinition - 1);
}

/** An array of headers, `keys` and `values` of them. */
function fillHeaders(keys: LeafVector, values: LeafVector, { columns, batch, places }: Source): void {
  const bytes = batch.headerBytes;
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  keys.begin(places.length);
  values.begin(places.length);
  const from = loaded(columns, bytes);
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
      columns.addBytes(keys.address, repetition, from + at + 8, keyLength);
      if (valueLength < 0) values.addNull(repetition, nullLevel);
      else columns.addBytes(values.address, repetition, from + value, valueLength);
      at = value + Math.max(valueLength, 0);
    }
  }
}

/** The bytes as they came. */
function fillOriginals(leaf: LeafVector, { batch, places }: Source): void {
  leaf.begin(places.length);
  const { values } = batch;
  const level = leaf.leaf.maxDefinition - 1;
  for (const place of places) {
    const bytes = batch.hasOriginals
      ? batch.original(place)
      : values.subarray(batch.valueStart(place), batch.valueEnd(place));
    if (bytes === null) leaf.addNull(0, level);
    else leaf.addBytes(0, bytes);
  }
}
