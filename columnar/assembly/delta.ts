/**
 * Parquet's DELTA_BINARY_PACKED: the first value, then blocks of 128 differences; a block says its least difference, and its four quarters have
 * what is above that in as many bits as the largest takes. Differences wrap around, as the format says: those of T, i32 or i64.
 */

import { bitWidth, putPacked } from "./bits";
import { Sink } from "./sink";

const BLOCK = 128;
const QUARTERS = 4;
const QUARTER = BLOCK / QUARTERS;

/** Memory of one block. */
const differences = memory.data(BLOCK * 8, 16);

/** The `count` values at `from`. */
export function putDeltas<T>(sink: Sink, from: usize, count: i32): void {
  sink.putVarint(BLOCK);
  sink.putByte(QUARTERS);
  sink.putVarint(count);
  sink.putZigzag(count === 0 ? 0 : <i64>load<T>(from));
  for (let start = 1; start < count; start += BLOCK) {
    putBlock<T>(sink, from + <usize>start * sizeof<T>(), min(BLOCK, count - start));
  }
}

function putBlock<T>(sink: Sink, from: usize, count: i32): void {
  let before = load<T>(from - sizeof<T>());
  let least = <T>(sizeof<T>() === 4 ? i32.MAX_VALUE : i64.MAX_VALUE);
  for (let i: usize = 0; i < <usize>count; i++) {
    const value = load<T>(from + i * sizeof<T>());
    const difference = <T>(value - before);
    store<T>(differences + i * sizeof<T>(), difference);
    if (difference < least) least = difference;
    before = value;
  }
  for (let i: usize = 0; i < <usize>count; i++) {
    const at = differences + i * sizeof<T>();
    store<T>(at, <T>(load<T>(at) - least));
  }
  memory.fill(differences + <usize>count * sizeof<T>(), 0, <usize>(BLOCK - count) * sizeof<T>());
  sink.putZigzag(<i64>least);
  sink.reserve(QUARTERS);
  const widths = sink.length;
  sink.length += QUARTERS;
  for (let quarter = 0; quarter < QUARTERS; quarter++) {
    const begin = differences + <usize>(quarter * QUARTER) * sizeof<T>();
    let all: u64 = 0;
    for (let i: usize = 0; i < <usize>QUARTER; i++) all |= unsigned<T>(begin + i * sizeof<T>());
    const width = bitWidth(all);
    store<u8>(sink.start + widths + quarter, width);
    if (width === 0) continue;
    if (sizeof<T>() === 4) putPacked<u32>(sink, begin, QUARTER, width);
    else putPacked<u64>(sink, begin, QUARTER, width);
  }
}

function unsigned<T>(at: usize): u64 {
  return sizeof<T>() === 4 ? <u64>load<u32>(at) : load<u64>(at);
}
