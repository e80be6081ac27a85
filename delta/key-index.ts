/** A hash index from keys to row numbers that holds no keys itself: the rows do. */

const EMPTY = -1;

export type KeyIndex = {
  /** The row of `key`; `isRow` decides among rows whose hash is the same. */
  find(hash: number, isRow: (row: number) => boolean): number | undefined;
  /** Points the entry of the found row at another row, or adds an entry where `old` is undefined. */
  set(hash: number, old: number | undefined, row: number): void;
};

/** Open addressing in typed arrays, at most half full; entries are replaced, never removed. */
export function keyIndex(): KeyIndex {
  let slots = new Int32Array(64).fill(EMPTY);
  let hashes = new Int32Array(64);
  let used = 0;

  const place = (hash: number, isIt: (row: number) => boolean): number => {
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const row = slots[slot]!;
      if (row === EMPTY || (hashes[slot] === hash && isIt(row))) return slot;
    }
  };
  const grow = () => {
    const old = { slots, hashes };
    slots = new Int32Array(slots.length * 2).fill(EMPTY);
    hashes = new Int32Array(slots.length);
    old.slots.forEach((row, at) => {
      if (row === EMPTY) return;
      const slot = place(old.hashes[at]!, () => false);
      slots[slot] = row;
      hashes[slot] = old.hashes[at]!;
    });
  };

  return {
    find(hash, isRow) {
      const row = slots[place(hash, isRow)]!;
      return row === EMPTY ? undefined : row;
    },
    set(hash, old, row) {
      if (old === undefined && used * 2 >= slots.length) grow();
      const slot = place(hash, (other) => other === old);
      if (slots[slot] === EMPTY) used++;
      slots[slot] = row;
      hashes[slot] = hash;
    },
  };
}

/** A 32-bit hash of a string's UTF-16 units (FNV-1a with a final mix). */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) | 0;
}
