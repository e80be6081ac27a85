/** A growing column of strings in few large buffers: no JavaScript object per value, off the heap. */

const FIRST_CHUNK = 64 * 1024;
const LARGEST_CHUNK = 16 * 1024 * 1024;
/** A position is chunk * 2^31 + offset, exact in a double. */
const CHUNK_SPAN = 2 ** 31;

export type StringColumn = {
  readonly length: number;
  /** Adds a value; undefined is a value of its own. */
  push(value: string | undefined): void;
  /** Adds the UTF-8 bytes of a value, which are copied. */
  pushBytes(value: Uint8Array | undefined): void;
  get(index: number): string | undefined;
  /** The bytes of a value, a view to read from at once; undefined where the value is. */
  bytes(index: number): Uint8Array | undefined;
};

export function stringColumn(): StringColumn {
  const chunks: Buffer[] = [];
  let used = 0;
  let positions = new Float64Array(16);
  let lengths = new Int32Array(16);
  let length = 0;

  /** A place for `size` bytes, in a fresh chunk where the last one has no room. */
  const room = (size: number): Buffer => {
    const last = chunks.at(-1);
    if (last && used + size <= last.length) return last;
    const next = Math.min(LARGEST_CHUNK, last ? last.length * 2 : FIRST_CHUNK);
    const chunk = Buffer.allocUnsafeSlow(Math.max(next, size));
    chunks.push(chunk);
    used = 0;
    return chunk;
  };
  const note = (size: number) => {
    if (length === positions.length) {
      positions = enlarged(positions, Float64Array);
      lengths = enlarged(lengths, Int32Array);
    }
    positions[length] = size < 0 ? 0 : (chunks.length - 1) * CHUNK_SPAN + used;
    lengths[length] = size;
    length++;
    if (size > 0) used += size;
  };
  const bytes = (index: number): Buffer | undefined => {
    const size = lengths[index]!;
    if (size < 0) return undefined;
    if (size === 0) return Buffer.alloc(0);
    const position = positions[index]!;
    const chunk = chunks[Math.floor(position / CHUNK_SPAN)]!;
    const start = position % CHUNK_SPAN;
    return chunk.subarray(start, start + size);
  };

  return {
    get length() {
      return length;
    },
    push(value) {
      if (value === undefined) return note(-1);
      const size = Buffer.byteLength(value);
      if (size > 0) room(size).write(value, used);
      note(size);
    },
    pushBytes(value) {
      if (value === undefined) return note(-1);
      if (value.length > 0) room(value.length).set(value, used);
      note(value.length);
    },
    get: (index) => bytes(index)?.toString("utf8"),
    bytes,
  };
}

/** A typed array of twice the size that starts with what was there. */
export function enlarged<T extends Float64Array | Int32Array | Uint32Array | Uint8Array>(
  old: T,
  make: new (length: number) => T,
): T {
  const grown = new make(old.length * 2);
  grown.set(old);
  return grown;
}
