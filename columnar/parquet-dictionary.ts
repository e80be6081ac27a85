/** Which values of a column occur, and which of them each one is: for columns that repeat themselves. */

import type { LeafValues } from "./leaf-vector.ts";

/** Valid until the next one is made with the same `DictionaryMaker`. */
export type Dictionary = {
  /** How many different values there are. */
  size: number;
  /** Where each one is met first, among the values. */
  places: Int32Array;
  /** For each value, from the first of the range on, which one it is. */
  indices: Int32Array;
};

/** Undefined where too few values repeat themselves, as soon as that shows. */
export type DictionaryMaker = (values: LeafValues, from: number, to: number) => Dictionary | undefined;

/** As others have it: readers keep a whole dictionary in memory. */
const MOST_BYTES = 1 << 20;
const MOST_ENTRIES = 1 << 15;
/** So many values are looked at before a column can be given up. */
const TRIAL = 1024;
/** Of ten values that many may be new. */
const MOST_NEW = 7;
/** A place in the table that so many steps lead to means that hashes fail to tell values apart. */
const MOST_STEPS = 64;
const FIRST_SLOTS = 1 << 10;

/** Its memory is used again for each column. */
export function createDictionaryMaker(): DictionaryMaker {
  let indices = new Int32Array(0);
  const places = new Int32Array(MOST_ENTRIES);
  const hashes = new Int32Array(MOST_ENTRIES);
  /** Entry + 1 by hash; 0 is free. Half of it is free at least. */
  let slots = new Int32Array(FIRST_SLOTS);
  let size = 0;

  function clear(count: number): void {
    if (indices.length < count) indices = new Int32Array(count + (count >> 2));
    if (slots.length > 4 * FIRST_SLOTS) slots = new Int32Array(FIRST_SLOTS);
    else slots.fill(0);
    size = 0;
  }

  /** False where there is no room for another entry, or it does not pay. */
  function add(place: number, hash: number, slot: number, seen: number): boolean {
    if (size === MOST_ENTRIES || (seen >= TRIAL && size * 10 > seen * MOST_NEW)) return false;
    places[size] = place;
    hashes[size] = hash;
    slots[slot] = ++size;
    if (2 * size > slots.length) grow();
    return true;
  }

  function grow(): void {
    slots = new Int32Array(4 * slots.length);
    const mask = slots.length - 1;
    for (let entry = 0; entry < size; entry++) {
      let slot = hashes[entry]! & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = entry + 1;
    }
  }

  /** Values of 4 or 8 bytes as words: value i has word `step * i` of both; they are the same where it has one only. */
  function ofWords(low: Int32Array, high: Int32Array, step: number, from: number, to: number): boolean {
    for (let i = from; i < to; i++) {
      const lowWord = low[step * i]!;
      const highWord = high[step * i]!;
      let hash = Math.imul(lowWord ^ Math.imul(highWord, 0x85ebca6b), 0x9e3779b1);
      hash ^= hash >>> 15;
      let slot = hash & (slots.length - 1);
      let entry = slots[slot]! - 1;
      while (entry >= 0) {
        const place = step * places[entry]!;
        if (low[place] === lowWord && high[place] === highWord) break;
        slot = (slot + 1) & (slots.length - 1);
        entry = slots[slot]! - 1;
      }
      if (entry < 0) {
        entry = size;
        if (!add(i, hash, slot, i - from)) return false;
      }
      indices[i - from] = entry;
    }
    return true;
  }

  function ofBytes(values: LeafValues & { kind: "bytes" }, from: number, to: number): boolean {
    const { start, length, source, extra } = values;
    let bytes = 0;
    for (let i = from; i < to; i++) {
      const size = length[i]!;
      const isExtra = start[i]! >= source.length;
      const own = isExtra ? extra : source;
      const at = isExtra ? start[i]! - source.length : start[i]!;
      const hash = hashOf(own, at, size);
      let slot = hash & (slots.length - 1);
      let entry = slots[slot]! - 1;
      let steps = 0;
      while (entry >= 0) {
        if (hashes[entry] === hash) {
          const place = places[entry]!;
          const isOtherExtra = start[place]! >= source.length;
          const other = isOtherExtra ? extra : source;
          const otherAt = isOtherExtra ? start[place]! - source.length : start[place]!;
          if (length[place] === size && (place === i || isSame(own, at, other, otherAt, size))) break;
          if (++steps > MOST_STEPS) return false;
        }
        slot = (slot + 1) & (slots.length - 1);
        entry = slots[slot]! - 1;
      }
      if (entry < 0) {
        bytes += size;
        entry = countOfEntries();
        if (bytes > MOST_BYTES || !add(i, hash, slot, i - from)) return false;
      }
      indices[i - from] = entry;
    }
    return true;
  }

  const countOfEntries = () => size;

  return (values, from, to) => {
    clear(to - from);
    return isMade(values, from, to) && size * 10 <= (to - from) * MOST_NEW
      ? { size, places, indices }
      : undefined;
  };

  function isMade(values: LeafValues, from: number, to: number): boolean {
    switch (values.kind) {
      case "int32":
        return ofWords(values.numbers, values.numbers, 1, from, to);
      case "int64": {
        const { low, high } = values;
        return ofWords(new Int32Array(low.buffer, low.byteOffset, low.length), high, 1, from, to);
      }
      case "float": {
        const { buffer, byteOffset, length } = values.numbers;
        const words = new Int32Array(buffer, byteOffset, length);
        return ofWords(words, words, 1, from, to);
      }
      case "double": {
        const { buffer, byteOffset, length } = values.numbers;
        const words = new Int32Array(buffer, byteOffset, 2 * length);
        return ofWords(words, words.subarray(1), 2, from, to);
      }
      case "bytes":
        return ofBytes(values, from, to);
      default:
        return false;
    }
  }
}

/** Of all bytes of a short value, of both ends of a long one. */
function hashOf(bytes: Uint8Array, at: number, length: number): number {
  let hash = length;
  const end = at + length;
  if (length <= HASHED) {
    for (let i = at; i < end; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193) ^ (hash >>> 15);
  } else {
    for (let i = at; i < at + HASHED / 2; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193) ^ (hash >>> 15);
    for (let i = end - HASHED / 2; i < end; i++)
      hash = Math.imul(hash ^ bytes[i]!, 0x01000193) ^ (hash >>> 15);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x9e3779b1);
  return hash ^ (hash >>> 15);
}

const HASHED = 32;

function isSame(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[aAt + i] !== b[bAt + i]) return false;
  return true;
}
