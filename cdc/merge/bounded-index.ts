/** An index of keys that takes no more memory than it may: where the keys of a table are too many, they are read for each batch. */

import { sumKnownRows } from "../../delta/file-totals.ts";
import { createKeyIndex, type KeyIndex, type KeyIndexOptions } from "./key-index.ts";
import { createKeyLookup } from "./key-lookup.ts";
import { bytesOfKeys } from "./key-table.ts";

export type BoundedIndexOptions = KeyIndexOptions & {
  /** Of the index in memory. */
  maxBytes: number;
  /** Told when the keys have become too many, with the bytes that they would take. */
  onOver: (bytes: number) => void;
};

export function createBoundedIndex(options: BoundedIndexOptions): KeyIndex {
  const { maxBytes, onOver } = options;
  let index = createKeyIndex(options);
  let isHeld = true;

  function lookUp(bytes: number): void {
    index = createKeyLookup(options);
    isHeld = false;
    onOver(bytes);
  }

  return {
    async follow(snapshot, signal) {
      const bytes = bytesOfKeys(Number(sumKnownRows([...snapshot.files()])));
      // Half of it, so that a table at the limit is not read as a whole again and again.
      if (!isHeld && 2 * bytes <= maxBytes) {
        index = createKeyIndex(options);
        isHeld = true;
      }
      if (isHeld && bytes > maxBytes) lookUp(bytes);
      await index.follow(snapshot, signal);
      // Files may not say how many rows they have, and rows that are gone leave room behind.
      if (index.bytes <= maxBytes) return;
      lookUp(index.bytes);
      await index.follow(snapshot, signal);
    },
    find: (staged, signal) => index.find(staged, signal),
    all: (signal) => index.all(signal),
    known: (signal) => index.known(signal),
    get bytes() {
      return index.bytes;
    },
    retire: (retired) => index.retire(retired),
    rejoin: (joined) => index.rejoin(joined),
    adopt: (add, rows) => index.adopt(add, rows),
  };
}
