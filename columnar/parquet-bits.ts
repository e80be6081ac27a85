/** Whole numbers of a few bits each, packed one behind the other from the lowest bit on: what levels, places in a dictionary and differences share. */

import { type ByteSink, putByte, putVarint, reserve } from "./parquet-bytes.ts";

/** Numbers of up to 32 bits, read as unsigned. */
export type Numbers = Uint8Array | Int32Array;

/** Bits that numbers from 0 to `largest` take, `largest` below 2^32. */
export function bitWidth(largest: number): number {
  return 32 - Math.clz32(largest);
}

/** Packs `values` from `from` to before `to`, each in `width` bits (1 to 32); the last byte is filled up with zeros. */
export function putPacked(sink: ByteSink, values: Numbers, from: number, to: number, width: number): void {
  const size = Math.ceil(((to - from) * width) / 8);
  reserve(sink, size);
  const { view } = sink;
  let at = sink.length;
  let word = 0;
  let used = 0;
  for (let i = from; i < to; i++) {
    const value = values[i]!;
    word |= value << used;
    used += width;
    if (used < 32) continue;
    view.setInt32(at, word, true);
    at += 4;
    used -= 32;
    word = used === 0 ? 0 : value >>> (width - used);
  }
  if (used > 0) view.setInt32(at, word, true);
  sink.length += size;
}

/**
 * Parquet's hybrid of runs and packed groups of 8, for levels and places in a dictionary. `width` is 1 to 32. A reader knows how many values there
 * are: the last group may be filled up with zeros.
 */
export function putHybrid(sink: ByteSink, values: Numbers, from: number, to: number, width: number): void {
  // A shorter run takes more bytes than its values, packed: its own header and one more for the values behind it.
  const worth = Math.max(8, Math.ceil(64 / width));
  let packed = from;
  let at = from;
  while (at < to) {
    const value = values[at]!;
    let end = at + 1;
    while (end < to && values[end] === value) end++;
    // What is packed comes in whole groups: the run may have to fill up one.
    const start = at + ((packed - at) & 7);
    if (end - start >= worth) {
      if (start > packed) putGroups(sink, values, packed, start, width);
      putRun(sink, value, end - start, width);
      packed = end;
    }
    at = end;
  }
  if (packed < to) putGroups(sink, values, packed, to, width);
}

function putGroups(sink: ByteSink, values: Numbers, from: number, to: number, width: number): void {
  const groups = Math.ceil((to - from) / 8);
  putVarint(sink, 2 * groups + 1);
  const end = sink.length + groups * width;
  reserve(sink, groups * width);
  putPacked(sink, values, from, to, width);
  sink.array.fill(0, sink.length, end);
  sink.length = end;
}

/** A run as `putHybrid` has it, where it is known that all values are the same. */
export function putRun(sink: ByteSink, value: number, length: number, width: number): void {
  putVarint(sink, 2 * length);
  for (let shift = 0; shift < width; shift += 8) putByte(sink, (value >>> shift) & 255);
}
