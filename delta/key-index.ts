/** A hash index from keys to row numbers that holds no keys itself: the rows do. */

const EMPTY = -1;

export type KeyIndex = {
  /** Points the entry of a key at `row`; returns the row it pointed at before. `isSame` decides among rows whose hash is the same. */
  put(hash: number, row: number, isSame: (row: number) => boolean): number | undefined;
  /** Makes room for so many further entries at once: what is grown out of would be garbage. */
  expect(entries: number): void;
};

/** So full at most: a search passes few others, and half of the memory is rarely empty. */
const FULL = 7 / 8;

/** Open addressing in typed arrays; entries are replaced, never removed. */
export function keyIndex(): KeyIndex {
  let slots = new Int32Array(64).fill(EMPTY);
  let hashes = new Int32Array(64);
  let used = 0;

  const grow = (length: number) => {
    const old = { slots, hashes };
    slots = new Int32Array(length).fill(EMPTY);
    hashes = new Int32Array(length);
    old.slots.forEach((row, at) => {
      if (row === EMPTY) return;
      const hash = old.hashes[at]!;
      let slot = hash & (length - 1);
      while (slots[slot] !== EMPTY) slot = (slot + 1) & (length - 1);
      slots[slot] = row;
      hashes[slot] = hash;
    });
  };

  return {
    put(hash, row, isSame) {
      if (used >= slots.length * FULL) grow(slots.length * 2);
      const mask = slots.length - 1;
      for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
        const old = slots[slot]!;
        if (old !== EMPTY && (hashes[slot] !== hash || !isSame(old))) continue;
        slots[slot] = row;
        if (old !== EMPTY) return old;
        hashes[slot] = hash;
        used++;
        return undefined;
      }
    },
    expect(entries) {
      let { length } = slots;
      while (length * FULL <= used + entries) length *= 2;
      if (length > slots.length) grow(length);
    },
  };
}

export const FNV_START = 0x811c9dc5;
export const FNV_PRIME = 0x01000193;

/** Goes on with a hash (FNV-1a) over the bytes from `start` to before `end`. */
export function fnv(hash: number, bytes: Uint8Array, start: number, end: number): number {
  let next = hash;
  for (let at = start; at < end; at++) next = Math.imul(next ^ bytes[at]!, FNV_PRIME);
  return next;
}

/** A 32-bit hash of a string's UTF-16 units (FNV-1a with a final mix). */
export function hashText(text: string): number {
  let hash = FNV_START;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return mixed(hash);
}

/** Spreads what a hash ends with over the bits that choose a place. */
export function mixed(fnv: number): number {
  let hash = fnv;
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) | 0;
}
