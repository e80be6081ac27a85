/**
 * Parquet's DELTA_BINARY_PACKED: the first value, then blocks of 128 differences; a block says its least difference, and its four quarters
 * have what is above that in as many bits as the largest takes.
 */

import { bitWidth, putPacked } from "./parquet-bits.ts";
import { type ByteSink, putByte, putVarint, putZigzag, putZigzag64, reserve } from "./parquet-bytes.ts";

const BLOCK = 128;
const QUARTERS = 4;
const QUARTER = BLOCK / QUARTERS;

/** Memory of one block. */
const narrow = new Int32Array(BLOCK);
const wide = new Float64Array(BLOCK);

/**
 * Values of 32 bits from `from` to before `to`. Also the lower halves of values of 64 bits that are less than 2^31 apart: their differences are the
 * same. `firstHigh` is then the upper half of the first one.
 */
export function putDeltas(
  sink: ByteSink,
  low: Int32Array,
  from: number,
  to: number,
  firstHigh?: number,
): void {
  const first = from < to ? low[from]! : 0;
  putHeader(sink, to - from, first, firstHigh ?? first >> 31);
  for (let start = from + 1; start < to; start += BLOCK) {
    const count = Math.min(BLOCK, to - start);
    let least = 0x7fffffff;
    let before = low[start - 1]!;
    for (let i = 0; i < count; i++) {
      const value = low[start + i]!;
      const delta = (value - before) | 0;
      narrow[i] = delta;
      if (delta < least) least = delta;
      before = value;
    }
    for (let i = 0; i < count; i++) narrow[i] = narrow[i]! - least;
    narrow.fill(0, count);
    putZigzag(sink, least);
    const widths = sink.length;
    reserve(sink, QUARTERS + BLOCK * 4);
    sink.length += QUARTERS;
    for (let quarter = 0; quarter < QUARTERS; quarter++) {
      const begin = quarter * QUARTER;
      let all = 0;
      for (let i = begin; i < begin + QUARTER; i++) all |= narrow[i]!;
      const width = bitWidth(all);
      sink.array[widths + quarter] = width;
      if (width > 0) putPacked(sink, narrow, begin, begin + QUARTER, width);
    }
  }
}

/** Values of 64 bits that are less than 2^52 apart, as halves. */
export function putWideDeltas(
  sink: ByteSink,
  low: Int32Array,
  high: Int32Array,
  from: number,
  to: number,
): void {
  putHeader(sink, to - from, low[from] ?? 0, high[from] ?? 0);
  for (let start = from + 1; start < to; start += BLOCK) {
    const count = Math.min(BLOCK, to - start);
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < count; i++) {
      const at = start + i;
      const delta = (high[at]! - high[at - 1]!) * 2 ** 32 + ((low[at]! >>> 0) - (low[at - 1]! >>> 0));
      wide[i] = delta;
      if (delta < least) least = delta;
    }
    for (let i = 0; i < count; i++) wide[i] = wide[i]! - least;
    wide.fill(0, count);
    putZigzag64(sink, (least % 2 ** 32) | 0, Math.floor(least / 2 ** 32));
    const widths = sink.length;
    reserve(sink, QUARTERS);
    sink.length += QUARTERS;
    for (let quarter = 0; quarter < QUARTERS; quarter++) {
      const width = putQuarter(sink, quarter * QUARTER);
      sink.array[widths + quarter] = width;
    }
  }
}

function putHeader(sink: ByteSink, count: number, firstLow: number, firstHigh: number): void {
  putVarint(sink, BLOCK);
  putByte(sink, QUARTERS);
  putVarint(sink, count);
  putZigzag64(sink, firstLow, firstHigh);
}

/** Packs a quarter of `wide`, and says in how many bits each. */
function putQuarter(sink: ByteSink, begin: number): number {
  let largest = 0;
  for (let i = begin; i < begin + QUARTER; i++) if (wide[i]! > largest) largest = wide[i]!;
  if (largest < 2 ** 32) {
    const width = bitWidth(largest);
    for (let i = begin; i < begin + QUARTER; i++) narrow[i] = wide[i]!;
    if (width > 0) putPacked(sink, narrow, begin, begin + QUARTER, width);
    return width;
  }
  const upper = bitWidth(Math.floor(largest / 2 ** 32));
  const size = ((32 + upper) * QUARTER) / 8;
  reserve(sink, size);
  const { view } = sink;
  let at = sink.length;
  let word = 0;
  let used = 0;
  for (let i = begin; i < begin + QUARTER; i++) {
    const value = wide[i]!;
    const top = Math.floor(value / 2 ** 32);
    const bottom = value - top * 2 ** 32;
    // All 32 lower bits fill up a word, whatever is in it.
    view.setInt32(at, word | (bottom << used), true);
    at += 4;
    word = used === 0 ? 0 : bottom >>> (32 - used);
    word |= top << used;
    used += upper;
    if (used < 32) continue;
    view.setInt32(at, word, true);
    at += 4;
    used -= 32;
    word = used === 0 ? 0 : top >>> (upper - used);
  }
  if (used > 0) view.setInt32(at, word, true);
  sink.length += size;
  return 32 + upper;
}
