/** Whole numbers of a few bits each, packed one behind the other from the lowest bit on: what levels, places in a dictionary and differences share. */

import { Sink } from "./sink";

/** Bits that numbers from 0 to `largest` take. */
export function bitWidth(largest: u64): i32 {
  return 64 - <i32>clz(largest);
}

/** Packs the `count` values at `from`, of type T, each in `width` bits (1 to 64); the last byte is filled up with zeros. */
export function putPacked<T>(sink: Sink, from: usize, count: i32, width: i32): void {
  const size = (count * width + 7) >> 3;
  sink.reserve(size);
  let to = sink.end();
  let word: u64 = 0;
  let used = 0;
  const end = from + <usize>count * sizeof<T>();
  for (let at = from; at < end; at += sizeof<T>()) {
    const value = <u64>load<T>(at);
    word |= value << used;
    used += width;
    if (used < 64) continue;
    store<u64>(to, word);
    to += 8;
    used -= 64;
    word = used === 0 ? 0 : value >> (width - used);
  }
  if (used > 0) store<u64>(to, word);
  sink.length += size;
}

/**
 * Parquet's hybrid of runs and packed groups of 8, for levels (T is u8) and places in a dictionary (u32). `width` is 1 to 32. A reader knows how many
 * values there are: the last group may be filled up with zeros.
 */
export function putHybrid<T>(sink: Sink, from: usize, count: i32, width: i32): void {
  // A shorter run takes more bytes than its values, packed: its own header and one more for the values behind it.
  const worth = max(8, (64 + width - 1) / width);
  let packed = 0;
  let at = 0;
  while (at < count) {
    const value = load<T>(from + <usize>at * sizeof<T>());
    let end = at + 1;
    while (end < count && load<T>(from + <usize>end * sizeof<T>()) === value) end++;
    // What is packed comes in whole groups: the run may have to fill up one.
    const start = at + ((packed - at) & 7);
    if (end - start >= worth) {
      if (start > packed) putGroups<T>(sink, from + <usize>packed * sizeof<T>(), start - packed, width);
      putRun(sink, <u32>value, end - start, width);
      packed = end;
    }
    at = end;
  }
  if (packed < count) putGroups<T>(sink, from + <usize>packed * sizeof<T>(), count - packed, width);
}

function putGroups<T>(sink: Sink, from: usize, count: i32, width: i32): void {
  const groups = (count + 7) >> 3;
  const size = groups * width;
  sink.putVarint(2 * groups + 1);
  sink.reserve(size);
  const start = sink.length;
  putPacked<T>(sink, from, count, width);
  memory.fill(sink.end(), 0, start + size - sink.length);
  sink.length = start + size;
}

/** A run as `putHybrid` has it, where it is known that all values are the same. */
export function putRun(sink: Sink, value: u32, length: i32, width: i32): void {
  sink.putVarint(2 * length);
  for (let shift = 0; shift < width; shift += 8) sink.putByte((value >>> shift) & 255);
}
