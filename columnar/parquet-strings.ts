/** Strings and binaries of a leaf where they lie: compared, hashed and copied a word at a time, since there is no call per value that is cheap enough. */

import type { LeafValues } from "./leaf-vector.ts";
import { type ByteSink, reserve } from "./parquet-bytes.ts";

type ByteValues = LeafValues & { kind: "bytes" };

/** The values of a leaf, with views of what they lie in. */
export type Strings = {
  readonly start: Uint32Array;
  readonly length: Uint32Array;
  /** From here on a start counts in `extra`. */
  readonly split: number;
  readonly source: Uint8Array;
  readonly extra: Uint8Array;
  readonly sourceView: DataView;
  readonly extraView: DataView;
};

export function stringsOf({ start, length, source, extra }: ByteValues): Strings {
  return {
    start,
    length,
    split: source.length,
    source,
    extra,
    sourceView: new DataView(source.buffer, source.byteOffset, source.length),
    extraView: new DataView(extra.buffer, extra.byteOffset, extra.length),
  };
}

/** The bytes of value `i`: a view. */
export function bytesAt({ start, length, split, source, extra }: Strings, i: number): Uint8Array {
  const at = start[i]!;
  return at < split
    ? source.subarray(at, at + length[i]!)
    : extra.subarray(at - split, at - split + length[i]!);
}

/** A hash of all bytes of value `i`; of both ends of one that is longer than most. */
export function hashAt({ start, length, split, sourceView, extraView }: Strings, i: number): number {
  const size = length[i]!;
  const isExtra = start[i]! >= split;
  const view = isExtra ? extraView : sourceView;
  const at = isExtra ? start[i]! - split : start[i]!;
  let hash = size;
  if (size < 4) for (let j = 0; j < size; j++) hash = mix(hash, view.getUint8(at + j));
  else {
    const last = at + size - 4;
    if (size <= HASHED) for (let j = at; j < last; j += 4) hash = mix(hash, view.getInt32(j, true));
    else {
      for (let j = at; j < at + HASHED / 2; j += 4) hash = mix(hash, view.getInt32(j, true));
      for (let j = last - HASHED / 2; j < last; j += 4) hash = mix(hash, view.getInt32(j, true));
    }
    hash = mix(hash, view.getInt32(last, true));
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return hash ^ (hash >>> 13);
}

const HASHED = 256;

function mix(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, 0x9e3779b1);
  return (mixed << 13) | (mixed >>> 19);
}

/** Whether values `i` and `j` have the same bytes. */
export function isSame(strings: Strings, i: number, j: number): boolean {
  const { start, length, split, sourceView, extraView } = strings;
  const size = length[i]!;
  if (length[j] !== size) return false;
  const isExtra = start[i]! >= split;
  const isOtherExtra = start[j]! >= split;
  const view = isExtra ? extraView : sourceView;
  const other = isOtherExtra ? extraView : sourceView;
  const at = isExtra ? start[i]! - split : start[i]!;
  const otherAt = isOtherExtra ? start[j]! - split : start[j]!;
  let k = 0;
  for (; k + 4 <= size; k += 4) {
    if (view.getInt32(at + k, true) !== other.getInt32(otherAt + k, true)) return false;
  }
  for (; k < size; k++) if (view.getUint8(at + k) !== other.getUint8(otherAt + k)) return false;
  return true;
}

/** Below 0 where value `i` comes before value `j` in the order of unsigned bytes. */
export function compare(strings: Strings, i: number, j: number): number {
  const { start, length, split, sourceView, extraView } = strings;
  const isExtra = start[i]! >= split;
  const isOtherExtra = start[j]! >= split;
  const view = isExtra ? extraView : sourceView;
  const other = isOtherExtra ? extraView : sourceView;
  const at = isExtra ? start[i]! - split : start[i]!;
  const otherAt = isOtherExtra ? start[j]! - split : start[j]!;
  const size = Math.min(length[i]!, length[j]!);
  let k = 0;
  for (; k + 4 <= size; k += 4) {
    if (view.getInt32(at + k, true) !== other.getInt32(otherAt + k, true)) {
      return view.getUint32(at + k) - other.getUint32(otherAt + k);
    }
  }
  for (; k < size; k++) {
    const difference = view.getUint8(at + k) - other.getUint8(otherAt + k);
    if (difference !== 0) return difference;
  }
  return length[i]! - length[j]!;
}

/** The first four bytes of value `i` as a number, zeros behind a shorter one: what is less by it comes before. */
export function headAt({ start, length, split, sourceView, extraView }: Strings, i: number): number {
  const size = length[i]!;
  const isExtra = start[i]! >= split;
  const view = isExtra ? extraView : sourceView;
  const at = isExtra ? start[i]! - split : start[i]!;
  if (size >= 4) return view.getUint32(at);
  let head = 0;
  for (let j = 0; j < 4; j++) head = head * 256 + (j < size ? view.getUint8(at + j) : 0);
  return head;
}

/** A call to copy costs as much as so many bytes by words. */
const SHORT = 256;

/** Appends the bytes of the values from `from` to before `to`, one behind the other. */
export function putStrings(sink: ByteSink, strings: Strings, from: number, to: number): void {
  const { start, length, split, source, extra, sourceView, extraView } = strings;
  let total = 0;
  for (let i = from; i < to; i++) total += length[i]!;
  reserve(sink, total);
  const { array, view: target } = sink;
  let at = sink.length;
  for (let i = from; i < to; i++) {
    const size = length[i]!;
    const isExtra = start[i]! >= split;
    const view = isExtra ? extraView : sourceView;
    const begin = isExtra ? start[i]! - split : start[i]!;
    if (size > SHORT) array.set((isExtra ? extra : source).subarray(begin, begin + size), at);
    else {
      // The last word takes along what is behind the value: the next one, or the room that is kept behind the end, covers it.
      const end = begin + size;
      const words = Math.min(end, view.byteLength - 3);
      let j = begin;
      let k = at;
      for (; j < words; j += 4, k += 4) target.setInt32(k, view.getInt32(j, true), true);
      for (; j < end; j++, k++) array[k] = view.getUint8(j);
    }
    at += size;
  }
  sink.length = at;
}
