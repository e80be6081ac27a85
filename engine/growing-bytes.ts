/** Bytes one behind the other, in memory that grows as they come. */

export type GrowingBytes = {
  readonly used: number;
  /** What it takes in memory. */
  readonly capacity: number;
  append(piece: Uint8Array): void;
  /** From `start` (inclusive) to `end` (exclusive). */
  appendPart(of: Uint8Array, start: number, end: number): void;
  /** Four bytes, little-endian. */
  appendInt32(value: number): void;
  /** For so many more bytes. */
  makeRoom(size: number): void;
  /** Forgets the bytes, and keeps their memory. */
  clear(): void;
  /** Shared memory, until the next append. */
  view(start: number, end: number): Uint8Array;
};

/** Below this, bytes are copied one by one: to make a view of them would take longer. */
const FEW_BYTES = 24;

/** Empty, with room for `capacity` bytes; it grows by itself beyond. */
export function growingBytes(capacity: number): GrowingBytes {
  let bytes = new Uint8Array(Math.max(capacity, 1));
  let used = 0;
  function makeRoom(size: number): void {
    const needed = used + size;
    if (needed > bytes.length) bytes = grown(bytes, new Uint8Array(Math.max(needed, bytes.length * 2)));
  }
  return {
    get used() {
      return used;
    },
    get capacity() {
      return bytes.length;
    },
    append(piece) {
      makeRoom(piece.length);
      bytes.set(piece, used);
      used += piece.length;
    },
    appendPart(of, start, end) {
      const size = end - start;
      makeRoom(size);
      if (size > FEW_BYTES) bytes.set(of.subarray(start, end), used);
      else for (let n = 0; n < size; n++) bytes[used + n] = of[start + n]!;
      used += size;
    },
    appendInt32(value) {
      makeRoom(4);
      for (let i = 0; i < 4; i++) bytes[used++] = value >> (8 * i);
    },
    makeRoom,
    clear() {
      used = 0;
    },
    view: (start, end) => bytes.subarray(start, end),
  };
}

/** `to`, which is larger, with all of `from` at its beginning. */
export function grown<T extends { set(from: T): void }>(from: T, to: T): T {
  to.set(from);
  return to;
}
