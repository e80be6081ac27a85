/** Which values of a column occur, and which of them each one is: for columns that repeat themselves. */

import type { LeafValues } from "./leaf-vector.ts";
import { hashAt, isSame, type Strings, stringsOf } from "./parquet-strings.ts";

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
  /** Entry + 1 by hash, 0 is free; of those up to `mask` half is free at least. */
  const slots = new Int32Array(2 * MOST_ENTRIES);
  let mask = 0;
  let size = 0;

  function clear(count: number): void {
    if (indices.length < count) indices = new Int32Array(count + (count >> 2));
    mask = FIRST_SLOTS - 1;
    slots.fill(0, 0, mask + 1);
    size = 0;
  }

  /** False where there is no room for another entry, or it does not pay. */
  function add(place: number, hash: number, slot: number, seen: number): boolean {
    if (size === MOST_ENTRIES || (seen >= TRIAL && size * 10 > seen * MOST_NEW)) return false;
    places[size] = place;
    hashes[size] = hash;
    slots[slot] = ++size;
    if (2 * size > mask + 1) grow();
    return true;
  }

  function grow(): void {
    mask = 4 * mask + 3;
    slots.fill(0, 0, mask + 1);
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
      let slot = hash & mask;
      let entry = slots[slot]! - 1;
      while (entry >= 0) {
        const place = step * places[entry]!;
        if (low[place] === lowWord && high[place] === highWord) break;
        slot = (slot + 1) & mask;
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

  function ofStrings(strings: Strings, from: number, to: number): boolean {
    const { start, length } = strings;
    let bytes = 0;
    let last = 0;
    for (let i = from; i < to; i++) {
      // Values that stand in one place are the same: a topic's name, say.
      if (i > from && start[i] === start[i - 1] && length[i] === length[i - 1]) {
        indices[i - from] = last;
        continue;
      }
      const hash = hashAt(strings, i);
      let slot = hash & mask;
      let entry = slots[slot]! - 1;
      let steps = 0;
      while (entry >= 0) {
        if (hashes[entry] === hash) {
          if (isSame(strings, i, places[entry]!)) break;
          if (++steps > MOST_STEPS) return false;
        }
        slot = (slot + 1) & mask;
        entry = slots[slot]! - 1;
      }
      if (entry < 0) {
        entry = size;
        bytes += length[i]!;
        if (bytes > MOST_BYTES || !add(i, hash, slot, i - from)) return false;
      }
      last = entry;
      indices[i - from] = entry;
    }
    return true;
  }

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
        return ofStrings(stringsOf(values), from, to);
      default:
        return false;
    }
  }
}
