/** Strings and binaries of a leaf: compared, hashed and copied a word at a time, since there is no call per value that is cheap enough. */

import { copyWords, LONG } from "./copy-words.ts";
import type { LeafValues } from "./leaf-vector.ts";
import { type ByteSink, reserve } from "./parquet-bytes.ts";

type ByteValues = LeafValues & { kind: "bytes" };

/** The values of a leaf, with a view of what they lie in. */
export type Strings = {
  readonly start: Uint32Array;
  readonly length: Uint32Array;
  readonly bytes: Uint8Array;
  readonly view: DataView;
};

export function stringsOf({ start, length, bytes }: ByteValues): Strings {
  return { start, length, bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) };
}

/** The bytes of value `i`: a view. */
export function bytesAt({ start, length, bytes }: Strings, i: number): Uint8Array {
  return bytes.subarray(start[i]!, start[i]! + length[i]!);
}

/** A hash of all bytes of value `i`; of both ends of one that is longer than most. */
export function hashAt({ start, length, view }: Strings, i: number): number {
  const size = length[i]!;
  const at = start[i]!;
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
  const { start, length, view } = strings;
  const size = length[i]!;
  if (length[j] !== size) return false;
  const at = start[i]!;
  const otherAt = start[j]!;
  let k = 0;
  for (; k + 4 <= size; k += 4) {
    if (view.getInt32(at + k, true) !== view.getInt32(otherAt + k, true)) return false;
  }
  for (; k < size; k++) if (view.getUint8(at + k) !== view.getUint8(otherAt + k)) return false;
  return true;
}

/** Below 0 where value `i` comes before value `j` in the order of unsigned bytes. */
export function compare(strings: Strings, i: number, j: number): number {
  const { start, length, view } = strings;
  const at = start[i]!;
  const otherAt = start[j]!;
  const size = Math.min(length[i]!, length[j]!);
  let k = 0;
  for (; k + 4 <= size; k += 4) {
    if (view.getInt32(at + k, true) !== view.getInt32(otherAt + k, true)) {
      return view.getUint32(at + k) - view.getUint32(otherAt + k);
    }
  }
  for (; k < size; k++) {
    const difference = view.getUint8(at + k) - view.getUint8(otherAt + k);
    if (difference !== 0) return difference;
  }
  return length[i]! - length[j]!;
}

/** The first four bytes of value `i` as a number, zeros behind a shorter one: what is less by it comes before. */
export function headAt({ start, length, view }: Strings, i: number): number {
  const size = length[i]!;
  const at = start[i]!;
  if (size >= 4) return view.getUint32(at);
  let head = 0;
  for (let j = 0; j < 4; j++) head = head * 256 + (j < size ? view.getUint8(at + j) : 0);
  return head;
}

/** Appends the bytes of the values from `from` to before `to`, one behind the other. */
export function putStrings(sink: ByteSink, strings: Strings, from: number, to: number): void {
  if (from >= to) return;
  const { start, length, bytes, view } = strings;
  let total = 0;
  for (let i = from; i < to; i++) total += length[i]!;
  reserve(sink, total);
  const begin = start[from]!;
  if (start[to - 1]! + length[to - 1]! - begin === total && isGapless(strings, from, to)) {
    sink.array.set(bytes.subarray(begin, begin + total), sink.length);
    sink.length += total;
    return;
  }
  const { array, view: target } = sink;
  let at = sink.length;
  for (let i = from; i < to; i++) {
    const size = length[i]!;
    if (size > LONG) array.set(bytesAt(strings, i), at);
    else copyWords(target, at, view, start[i]!, size);
    at += size;
  }
  sink.length = at;
}

function isGapless({ start, length }: Strings, from: number, to: number): boolean {
  for (let i = from + 1; i < to; i++) if (start[i] !== start[i - 1]! + length[i - 1]!) return false;
  return true;
}
