/** Values of a leaf compared, hashed, and written as the bytes of a page: plain, differences, or lengths and then bytes. */

import { putPacked } from "./bits";
import { putDeltas } from "./delta";
import { BOOLEAN, BYTES, INT32, INT64, Leaf } from "./leaf";
import { Sink } from "./sink";

/** Encodings by their numbers in `parquet.thrift`. */
export const PLAIN = 0;
export const DELTA = 5;
export const DELTA_LENGTH = 6;
export const DICTIONARY = 8;

/** Differences up to here take fewer bits than values as a rule, and never more than 64. */
const MOST_SPREAD: u64 = 1 << 52;

const lengths = new Sink();

/** How values of a leaf are best written where they do not repeat themselves; `spread` is their largest less their least. */
export function encodingOf(leaf: Leaf, spread: u64): i32 {
  if (leaf.physical === BYTES) return DELTA_LENGTH;
  if (leaf.physical === INT32) return DELTA;
  return leaf.physical === INT64 && spread < MOST_SPREAD ? DELTA : PLAIN;
}

/** Writes the values from `from` to before `to` in an encoding that `encodingOf` gave. */
export function putValues(sink: Sink, leaf: Leaf, from: i32, to: i32, encoding: i32): void {
  const at = leaf.values + <usize>from * leaf.width;
  if (encoding === PLAIN) putPlain(sink, leaf, from, to);
  else if (leaf.physical === INT32) putDeltas<i32>(sink, at, to - from);
  else if (leaf.physical === INT64) putDeltas<i64>(sink, at, to - from);
  else {
    putLengths(sink, leaf, from, to);
    const start = leaf.startOf(from);
    if (from < to) sink.putBytes(leaf.text + start, leaf.endOf(to - 1) - start);
  }
}

function putLengths(sink: Sink, leaf: Leaf, from: i32, to: i32): void {
  lengths.clear();
  lengths.reserve((to - from) << 2);
  let start = leaf.startOf(from);
  for (let i = from; i < to; i++) {
    const end = leaf.endOf(i);
    lengths.putWord(end - start);
    start = end;
  }
  putDeltas<i32>(sink, lengths.start, to - from);
}

/** Writes values as they are. */
export function putPlain(sink: Sink, leaf: Leaf, from: i32, to: i32): void {
  const at = leaf.values + <usize>from * leaf.width;
  if (leaf.physical === BOOLEAN) putPacked<u8>(sink, at, to - from, 1);
  else if (leaf.physical !== BYTES) sink.putBytes(at, (to - from) * leaf.width);
  else
    for (let i = from; i < to; i++) {
      const start = leaf.startOf(i);
      const length = leaf.endOf(i) - start;
      sink.putWord(length);
      sink.putBytes(leaf.text + start, length);
    }
}

/** Below 0 where value `i` comes before value `j`: of strings and binaries, in the order of their bytes, as unsigned, and of wide decimals. */
export function compare(leaf: Leaf, i: i32, j: i32): i32 {
  if (leaf.physical === BYTES) return compareBytes(leaf, i, j);
  const one = leaf.values + ((<usize>i) << 4);
  const other = leaf.values + ((<usize>j) << 4);
  const high = order<i64>(bswap(load<i64>(one)), bswap(load<i64>(other)));
  return high === 0 ? order<u64>(bswap(load<u64>(one + 8)), bswap(load<u64>(other + 8))) : high;
}

function compareBytes(leaf: Leaf, i: i32, j: i32): i32 {
  const start = leaf.startOf(i);
  const otherStart = leaf.startOf(j);
  const length = leaf.endOf(i) - start;
  const otherLength = leaf.endOf(j) - otherStart;
  const common = min(length, otherLength);
  const one = leaf.text + start;
  const other = leaf.text + otherStart;
  let k = 0;
  for (; k + 8 <= common; k += 8) {
    const difference = order<u64>(bswap(load<u64>(one + k)), bswap(load<u64>(other + k)));
    if (difference !== 0) return difference;
  }
  for (; k < common; k++) {
    const difference = <i32>load<u8>(one + k) - <i32>load<u8>(other + k);
    if (difference !== 0) return difference;
  }
  return length - otherLength;
}

function order<T>(one: T, other: T): i32 {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Whether two values have the same bits: those of 4 or 8 bytes, or strings. */
export function isSame(leaf: Leaf, i: i32, j: i32): bool {
  if (leaf.physical === BYTES) {
    const start = leaf.startOf(i);
    const otherStart = leaf.startOf(j);
    const length = leaf.endOf(i) - start;
    return (
      leaf.endOf(j) - otherStart === length && areSame(leaf.text + start, leaf.text + otherStart, length)
    );
  }
  return wordAt(leaf, i) === wordAt(leaf, j);
}

function areSame(one: usize, other: usize, length: i32): bool {
  let k = 0;
  for (; k + 8 <= length; k += 8) if (load<u64>(one + k) !== load<u64>(other + k)) return false;
  for (; k < length; k++) if (load<u8>(one + k) !== load<u8>(other + k)) return false;
  return true;
}

/** The bits of a value of 4 or 8 bytes. */
function wordAt(leaf: Leaf, i: i32): u64 {
  const at = leaf.values + <usize>i * leaf.width;
  return leaf.width === 8 ? load<u64>(at) : <u64>load<u32>(at);
}

const FACTOR: u64 = 0x9e3779b97f4a7c15;
const HASHED = 256;

/** A hash of value `i`, of 4 or 8 bytes or a string; of both ends of one that is longer than most. */
export function hashAt(leaf: Leaf, i: i32): u32 {
  if (leaf.physical !== BYTES) return folded(wordAt(leaf, i) * FACTOR);
  const start = leaf.startOf(i);
  const length = leaf.endOf(i) - start;
  const at = leaf.text + start;
  let hash = <u64>length * FACTOR;
  if (length < 8) {
    for (let k = 0; k < length; k++) hash = mixed(hash, load<u8>(at + k));
    return folded(hash);
  }
  const last = length - 8;
  if (length <= HASHED) for (let k = 0; k < last; k += 8) hash = mixed(hash, load<u64>(at + k));
  else {
    for (let k = 0; k < HASHED / 2; k += 8) hash = mixed(hash, load<u64>(at + k));
    for (let k = last - HASHED / 2; k < last; k += 8) hash = mixed(hash, load<u64>(at + k));
  }
  return folded(mixed(hash, load<u64>(at + last)));
}

function mixed(hash: u64, word: u64): u64 {
  return rotl<u64>((hash ^ word) * FACTOR, 29);
}

function folded(hash: u64): u32 {
  return <u32>(hash ^ (hash >> 32));
}
