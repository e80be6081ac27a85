/** Bytes that grow at their end: what every part of a Parquet file is written into. */

/** `array` and `view` are the same memory, `length` of it is in use. They change when it grows: read them again after `reserve`. */
export type ByteSink = { array: Uint8Array<ArrayBuffer>; view: DataView; length: number };

/** Whole words are written where only some of their bytes count. */
const SLACK = 8;

export function createByteSink(capacity = 1 << 12): ByteSink {
  const array = new Uint8Array(capacity + SLACK);
  return { array, view: new DataView(array.buffer), length: 0 };
}

/** More than this is not kept for the next use: it was for a column or row group far larger than most. */
const MOST_KEPT = 32 << 20;

export function clear(sink: ByteSink): void {
  sink.length = 0;
  if (sink.array.length <= MOST_KEPT) return;
  sink.array = new Uint8Array(SLACK);
  sink.view = new DataView(sink.array.buffer);
}

/** Room for `more` bytes, and a word beyond. */
export function reserve(sink: ByteSink, more: number): void {
  const needed = sink.length + more + SLACK;
  if (needed <= sink.array.length) return;
  const array = new Uint8Array(Math.max(needed, 2 * sink.array.length));
  array.set(sink.array.subarray(0, sink.length));
  sink.array = array;
  sink.view = new DataView(array.buffer);
}

/** What is in use: valid until something is written. */
export function contents(sink: ByteSink, from = 0): Uint8Array<ArrayBuffer> {
  return sink.array.subarray(from, sink.length);
}

export function putByte(sink: ByteSink, value: number): void {
  reserve(sink, 1);
  sink.array[sink.length++] = value;
}

export function putBytes(sink: ByteSink, bytes: Uint8Array): void {
  reserve(sink, bytes.length);
  sink.array.set(bytes, sink.length);
  sink.length += bytes.length;
}

/** 4 bytes, little-endian. */
export function putWord(sink: ByteSink, value: number): void {
  reserve(sink, 4);
  sink.view.setInt32(sink.length, value, true);
  sink.length += 4;
}

/** Base 128, the lowest digits first (ULEB128): whole numbers from 0 to 2^53 - 1. */
export function putVarint(sink: ByteSink, value: number): void {
  reserve(sink, 10);
  let rest = value;
  while (rest >= 128) {
    sink.array[sink.length++] = (rest % 128) | 128;
    rest = Math.floor(rest / 128);
  }
  sink.array[sink.length++] = rest;
}

/** A signed number as 2n or -2n - 1, base 128: up to 2^52 either way. */
export function putZigzag(sink: ByteSink, value: number): void {
  putVarint(sink, value < 0 ? -2 * value - 1 : 2 * value);
}
