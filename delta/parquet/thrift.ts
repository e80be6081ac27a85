/** Thrift's compact protocol, as far as Parquet's footers and page headers use it. */

/** Fields of a struct by their number; absent ones are missing. Structs, lists, numbers, booleans and bytes, as they come. */
export type ThriftStruct = ReadonlyMap<number, ThriftValue>;
export type ThriftValue = number | boolean | Uint8Array | ThriftStruct | readonly ThriftValue[];

/** Reads the struct that starts at `start`, and tells where it ends. RangeError where the bytes are none. */
export function readStruct(bytes: Uint8Array, start: number): { struct: ThriftStruct; end: number } {
  const cursor = { bytes, at: start };
  return { struct: struct(cursor), end: cursor.at };
}

/** `at` is where the next byte stands. */
type Cursor = { readonly bytes: Uint8Array; at: number };

function struct(cursor: Cursor): ThriftStruct {
  const fields = new Map<number, ThriftValue>();
  for (let id = 0; ; ) {
    const head = byte(cursor);
    if (head === 0) return fields;
    id = head >> 4 === 0 ? zigzag(cursor) : id + (head >> 4);
    const kind = head & 15;
    fields.set(id, kind <= 2 ? kind === 1 : value(cursor, kind));
  }
}

function value(cursor: Cursor, kind: number): ThriftValue {
  if (kind === 3) return byte(cursor);
  if (kind === 4 || kind === 5 || kind === 6) return zigzag(cursor);
  if (kind === 7) return binary(cursor, 8);
  if (kind === 8) return binary(cursor, varint(cursor));
  if (kind === 9 || kind === 10) return list(cursor);
  if (kind === 12) return struct(cursor);
  throw new RangeError(`there is no type ${kind}`);
}

function list(cursor: Cursor): ThriftValue[] {
  const head = byte(cursor);
  const size = head >> 4 === 15 ? varint(cursor) : head >> 4;
  // Each element takes a byte at least.
  if (size > cursor.bytes.length - cursor.at) throw new RangeError("a list goes on beyond the end");
  const kind = head & 15;
  return Array.from({ length: size }, () => (kind <= 2 ? byte(cursor) === 1 : value(cursor, kind)));
}

function binary(cursor: Cursor, length: number): Uint8Array {
  if (length > cursor.bytes.length - cursor.at) throw new RangeError("a text goes on beyond the end");
  cursor.at += length;
  return cursor.bytes.subarray(cursor.at - length, cursor.at);
}

function zigzag(cursor: Cursor): number {
  const value = varint(cursor);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** Exact up to 2^53, which no length and no count here may pass. */
function varint(cursor: Cursor): number {
  let value = 0;
  for (let scale = 1; ; scale *= 128) {
    const next = byte(cursor);
    value += (next & 127) * scale;
    if (next < 128) return value;
    if (scale > 2 ** 63) throw new RangeError("a number is too long");
  }
}

function byte(cursor: Cursor): number {
  const value = cursor.bytes[cursor.at++];
  if (value === undefined) throw new RangeError("a structure goes on beyond the end");
  return value;
}
