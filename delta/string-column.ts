/** A growing column of strings in few large buffers: no JavaScript object per value, off the heap. */

import { numberColumn } from "./number-column.ts";
import { blockText, type PackedBlock, type PackedText, type Slice, type UnpackedBlock } from "./slice.ts";

const FIRST_CHUNK = 64 * 1024;
const LARGEST_CHUNK = 16 * 1024 * 1024;
/**
 * All of a table of thousands of files, for which one filter comes after the other; of a larger one so few that they are no matter. Some writers'
 * pages are of 1 MB; two readers may be on their way, each with a dictionary beside its page.
 */
const UNPACKED_BYTES = 4 * 1024 * 1024;
const FEWEST_UNPACKED = 3;

/** A value as it is held: packed where it was pushed so. */
export type Held = string | PackedText | undefined;

export type StringColumn = {
  readonly length: number;
  /** Adds a value; undefined is a value of its own. What is packed stays packed, the bytes of a slice are copied. */
  push(value: Held | Slice): void;
  get(index: number): string | undefined;
  /** Whether there is a value, without unpacking it. */
  has(index: number): boolean;
  /** The value to be pushed to another column. */
  held(index: number): Held;
};

export function stringColumn(): StringColumn {
  const chunks: Buffer[] = [];
  const blocks: PackedBlock[] = [];
  const numbers = new Map<PackedBlock, number>();
  const unpacked = recentlyUnpacked();
  let used = 0;
  let lastNumber = 0;
  /** The chunk or the block a value is in, and where there: its first byte, or its number. */
  const places = numberColumn();
  const offsets = numberColumn();
  const lengths = numberColumn();

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

  const note = (size: number, place: number, offset: number) => {
    places.push(place);
    offsets.push(offset);
    lengths.push(size);
  };
  const noteLast = (size: number) => {
    note(size, Math.max(0, chunks.length - 1), used);
    used += size;
  };

  const numberOf = (block: PackedBlock): number => {
    if (block === blocks[lastNumber]) return lastNumber;
    lastNumber = numbers.get(block) ?? blocks.push(block) - 1;
    numbers.set(block, lastNumber);
    return lastNumber;
  };

  const plainAt = (index: number): string => {
    const size = lengths.get(index);
    if (size === 0) return "";
    const start = offsets.get(index);
    return chunks[places.get(index)]!.toString("utf8", start, start + size);
  };
  const packedAt = (index: number): PackedText => ({
    block: blocks[places.get(index)]!,
    number: offsets.get(index),
  });

  return {
    get length() {
      return lengths.length;
    },
    push(value) {
      if (value === undefined) note(ABSENT, 0, 0);
      else if (typeof value === "string") {
        const size = Buffer.byteLength(value);
        // Plain ASCII, as nearly all of it is, needs no encoding.
        if (size > 0) room(size).write(value, used, size === value.length ? "latin1" : "utf8");
        noteLast(size);
      } else if ("block" in value) note(PACKED, numberOf(value.block), value.number);
      else {
        const { bytes, start, length: size } = value;
        if (size > 0) bytes.copy(room(size), used, start, start + size);
        noteLast(size);
      }
    },
    get(index) {
      if (lengths.get(index) === ABSENT) return undefined;
      if (lengths.get(index) !== PACKED) return plainAt(index);
      const { block, number } = packedAt(index);
      return blockText(unpacked(block), number);
    },
    has: (index) => lengths.get(index) !== ABSENT,
    held(index) {
      if (lengths.get(index) === ABSENT) return undefined;
      return lengths.get(index) === PACKED ? packedAt(index) : plainAt(index);
    },
  };
}

/** A column that mostly has no value at all: it begins with its first one. */
export function rareColumn(): Pick<StringColumn, "push" | "get"> {
  let column: StringColumn | undefined;
  let first = 0;
  return {
    push(value) {
      if (column === undefined && value === undefined) first++;
      else {
        column ??= stringColumn();
        column.push(value);
      }
    },
    get: (index) => (column === undefined || index < first ? undefined : column.get(index - first)),
  };
}

/** In the place of a length. */
const ABSENT = -1;
const PACKED = -2;

/** The oldest goes first, and lends its bytes: most readers go through a column from its start to its end. */
function recentlyUnpacked(): (block: PackedBlock) => UnpackedBlock {
  const known = new Map<PackedBlock, UnpackedBlock>();
  let held = 0;
  return (block) => {
    const found = known.get(block);
    if (found) return found;
    let spare: Buffer | undefined;
    for (const [oldest, { bytes }] of known) {
      if (known.size < FEWEST_UNPACKED || held <= UNPACKED_BYTES) break;
      known.delete(oldest);
      held -= bytes.length;
      spare = bytes;
    }
    const fresh = block.unpack(spare);
    known.set(block, fresh);
    held += fresh.bytes.length;
    return fresh;
  };
}
