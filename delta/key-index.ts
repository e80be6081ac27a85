/** A hash index from keys to row numbers that holds no keys itself: the rows do. */

import type { Slice } from "./slice.ts";

const EMPTY = -1;

export type KeyIndex = {
  /** The row of `key`; `isRow` decides among rows whose hash is the same. */
  find(hash: number, isRow: (row: number) => boolean): number | undefined;
  /** Points the entry of the found row at another row, or adds an entry where `old` is undefined. */
  set(hash: number, old: number | undefined, row: number): void;
  /** Makes room for so many further entries at once: what is grown out of would be garbage. */
  expect(entries: number): void;
};

/** Open addressing in typed arrays, at most half full; entries are replaced, never removed. */
export function keyIndex(): KeyIndex {
  let slots = new Int32Array(64).fill(EMPTY);
  let hashes = new Int32Array(64);
  let used = 0;

  /** The slot that points at `row`, or the free one for it. */
  const slotOf = (hash: number, row: number | undefined): number => {
    const mask = slots.length - 1;
    let slot = hash & mask;
    while (slots[slot] !== EMPTY && slots[slot] !== row) slot = (slot + 1) & mask;
    return slot;
  };
  const grow = (length: number) => {
    const old = { slots, hashes };
    slots = new Int32Array(length).fill(EMPTY);
    hashes = new Int32Array(length);
    old.slots.forEach((row, at) => {
      if (row === EMPTY) return;
      const slot = slotOf(old.hashes[at]!, undefined);
      slots[slot] = row;
      hashes[slot] = old.hashes[at]!;
    });
  };

  return {
    find(hash, isRow) {
      const mask = slots.length - 1;
      for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
        const row = slots[slot]!;
        if (row === EMPTY) return undefined;
        if (hashes[slot] === hash && isRow(row)) return row;
      }
    },
    set(hash, old, row) {
      if (old === undefined && used * 2 >= slots.length) grow(slots.length * 2);
      const slot = slotOf(hash, old);
      if (slots[slot] === EMPTY) used++;
      slots[slot] = row;
      hashes[slot] = hash;
    },
    expect(entries) {
      let { length } = slots;
      while (length < 2 * (used + entries)) length *= 2;
      if (length > slots.length) grow(length);
    },
  };
}

/** The `hashText` of what stands in the slice, which must be ASCII. */
export function hashAscii({ bytes, start, length }: Slice): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < start + length; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return mixed(hash);
}

/** A 32-bit hash of a string's UTF-16 units (FNV-1a with a final mix). */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return mixed(hash);
}

function mixed(fnv: number): number {
  let hash = fnv;
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) | 0;
}
