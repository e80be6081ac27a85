/** The column `_kafka` as vectors: where each row's message came from. No object is made for a message. */

import { isStruct } from "../delta/schema.ts";
import type { StructField, StructType } from "../delta/types.ts";
import { kafkaField } from "../engine/kafka-column.ts";
import { APPEND_TIME, NULL_KEY, type RawBatch } from "../engine/raw-batch.ts";
import type { Address, Columns } from "./columns.ts";
import type { LeafVector } from "./leaf-vector.ts";

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
 * Fills `leaves`, those of the column in the form of `kafkaMembers`, with one row for each message of the batch. Without `keepRaw` a member
 * `value` is null.
 */
export function fillKafka(
  columns: Columns,
  members: StructType,
  leaves: readonly LeafVector[],
  batch: RawBatch,
  keepRaw: boolean,
): void {
  const next = leaves.values();
  const leaf = () => {
    const vector = next.next().value!;
    vector.begin(batch.length);
    return vector;
  };
  const source = { columns, batch };
  for (const { name } of members.fields) {
    if (name === "headers") fillHeaders(leaf(), leaf(), source);
    else if (name !== "value") FILL[name]!(leaf(), source);
    else if (keepRaw) fillOriginals(leaf(), source);
    else fillNulls(leaf(), source);
  }
}

type Source = { columns: Columns; batch: RawBatch };
type Fill = (leaf: LeafVector, source: Source) => void;

const FILL: Readonly<Record<string, Fill>> = {
  topic(leaf, source) {
    const { topics, topicNames } = source.batch.columns;
    fillNames(leaf, source, topics, topicNames);
  },
  timestamp_type(leaf, source) {
    const isAppend = source.batch.columns.flags.map((flags) => (flags & APPEND_TIME) / APPEND_TIME);
    fillNames(leaf, source, isAppend, ["create", "append"]);
  },
  partition: ({ address }, { columns, batch }) =>
    columns.addRows(address, loaded(columns, batch.columns.partitions), batch.length),
  generation: ({ address }, { columns, batch }) =>
    columns.addRows(address, loaded(columns, batch.columns.generations), batch.length),
  offset: ({ address }, { columns, batch }) =>
    columns.addRows(address, loaded(columns, batch.columns.offsets), batch.length),
  timestamp: ({ address }, { columns, batch }) =>
    columns.addMillis(address, loaded(columns, batch.columns.timestampsMs), batch.length),
  key({ address }, { columns, batch }) {
    const { keyEnds, flags } = batch.columns;
    const [ends, bits, keys] = loadedAll(columns, keyEnds, flags, batch.keys);
    columns.addSpans(address, keys!, ends!, bits!, NULL_KEY, batch.length);
  },
};

/** Where a copy of an array stands in the module's memory, until the next one is made. */
function loaded(columns: Columns, array: TypedArray): Address {
  return loadedAll(columns, array)[0]!;
}

/** The same for several at once. */
function loadedAll(columns: Columns, ...arrays: TypedArray[]): Address[] {
  const size = arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  let at = columns.inputFor(size);
  return arrays.map(({ buffer, byteOffset, byteLength }) => {
    new Uint8Array(columns.memory.buffer, at, byteLength).set(new Uint8Array(buffer, byteOffset, byteLength));
    at += byteLength;
    return at - byteLength;
  });
}

type TypedArray = Uint8Array | Uint32Array | Int32Array | BigInt64Array | Float64Array;

/** Few texts, of which each stands there once for a run of rows: `codes` are their places among `names`. */
function fillNames(
  { address }: LeafVector,
  { columns }: Source,
  codes: Uint8Array | Uint32Array,
  names: readonly string[],
): void {
  for (let row = 0; row < codes.length; ) {
    const code = codes[row]!;
    let end = row + 1;
    while (end < codes.length && codes[end] === code) end++;
    const bytes = Buffer.from(names[code]!);
    columns.repeatBytes(address, loaded(columns, bytes), bytes.length, end - row);
    row = end;
  }
}

function fillNulls({ address, leaf }: LeafVector, { columns, batch }: Source): void {
  columns.addNulls(address, leaf.maxDefinition - 1, batch.length);
}

/** An array of headers, `keys` and `values` of them. */
function fillHeaders(keys: LeafVector, values: LeafVector, { columns, batch }: Source): void {
  const bytes = batch.headerBytes;
  // The element may be null, its key and value, too: three levels above the array's, which is one above an absent one.
  const emptyLevel = keys.leaf.maxDefinition - 3;
  const nullLevel = values.leaf.maxDefinition - 1;
  if (bytes.length === 0) {
    for (const { address } of [keys, values]) columns.addNulls(address, emptyLevel, batch.length);
    return;
  }
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const from = loaded(columns, bytes);
  for (let row = 0; row < batch.length; row++) {
    const end = batch.headerEnd(row);
    let at = batch.headerStart(row);
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
function fillOriginals(leaf: LeafVector, { batch }: Source): void {
  const { values } = batch;
  const level = leaf.leaf.maxDefinition - 1;
  for (let row = 0; row < batch.length; row++) {
    const bytes = batch.hasOriginals
      ? batch.original(row)
      : values.subarray(batch.valueStart(row), batch.valueEnd(row));
    if (bytes === null) leaf.addNull(0, level);
    else leaf.addBytes(0, bytes);
  }
}
