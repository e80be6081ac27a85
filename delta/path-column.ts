/** A growing column of paths of data files. Nearly all are named by a UUID: that is kept as sixteen bytes, and the text around it once. */

import { numberColumn } from "./number-column.ts";
import type { Slice } from "./slice.ts";
import { stringColumn } from "./string-column.ts";

export type PathColumn = {
  /** The bytes of a slice are copied. */
  push(path: string | Slice): void;
  get(index: number): string;
};

/** Bytes of a UUID, and of its text. */
const UUID = 16;
const UUID_TEXT = 36;
const DASH = 0x2d;

/** What each byte stands for as a digit in lower case. */
const NO_DIGIT = 16;
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const [value, char] of [..."0123456789abcdef"].entries()) DIGITS[char.charCodeAt(0)] = value;

const BITS = 13;
const SIZE = 2 ** BITS;
/** The first block starts small: most tables are. */
const SMALL = 64;

/** Texts around UUIDs that are remembered: many for partitions, few beside the files of a table whose names have more in them that changes. */
const MOST_AROUND = 16_384;

export function pathColumn(): PathColumn {
  /** Which text is around the UUID; where there is none, -1 and less count down the places in `others`. */
  const kinds = numberColumn();
  const around: { before: string; after: string }[] = [];
  const numbers = new Map<string, number>();
  const others = stringColumn();
  const uuids: (Buffer | undefined)[] = [];
  let last = { path: Buffer.alloc(0), length: 0, start: 0, number: 0 };
  let scratch = Buffer.allocUnsafe(256);

  /** The number of what is around the UUID at `start`, or undefined where too much is remembered already. */
  const noteAround = (bytes: Buffer, from: number, length: number, start: number): number | undefined => {
    const before = bytes.toString("utf8", from, start);
    const after = bytes.toString("utf8", start + UUID_TEXT, from + length);
    const key = `${before}\u0000${after}`;
    const known = numbers.get(key);
    if (known === undefined && around.length === MOST_AROUND) return undefined;
    const number = known ?? around.push({ before, after }) - 1;
    numbers.set(key, number);
    last = { path: Buffer.from(bytes.subarray(from, from + length)), length, start: start - from, number };
    return number;
  };

  /** Whether there is a UUID to be kept as such. */
  const pushBytes = (bytes: Buffer, from: number, length: number): boolean => {
    const start = uuidStart(bytes, from, from + length);
    if (start === -1) return false;
    const number = isAroundLast(bytes, from, length, start - from)
      ? last.number
      : noteAround(bytes, from, length, start);
    if (number === undefined) return false;
    const row = kinds.length;
    const uuid = roomFor(row);
    for (let at = start, to = (row & (SIZE - 1)) * UUID; at < start + UUID_TEXT; at += 2) {
      if (bytes[at] === DASH) at++;
      uuid[to++] = (DIGITS[bytes[at]!]! << 4) | DIGITS[bytes[at + 1]!]!;
    }
    kinds.push(number);
    return true;
  };

  /** Files of the same partition mostly come one after the other. */
  const isAroundLast = (bytes: Buffer, from: number, length: number, start: number): boolean => {
    if (length !== last.length || start !== last.start) return false;
    for (let at = 0; at < start; at++) if (bytes[from + at] !== last.path[at]) return false;
    for (let at = start + UUID_TEXT; at < length; at++) if (bytes[from + at] !== last.path[at]) return false;
    return true;
  };

  /** The block of a row, large enough. */
  const roomFor = (row: number): Buffer => {
    const block = uuids[row >> BITS];
    const rows = row < SMALL ? SMALL : SIZE;
    if (block && block.length >= rows * UUID) return block;
    const fresh = Buffer.alloc(rows * UUID);
    block?.copy(fresh);
    uuids[row >> BITS] = fresh;
    return fresh;
  };

  return {
    push(path) {
      let isShort: boolean;
      if (typeof path === "string") {
        const size = path.length * 3;
        if (size > scratch.length) scratch = Buffer.allocUnsafe(size);
        isShort = pushBytes(scratch, 0, scratch.write(path));
      } else isShort = pushBytes(path.bytes, path.start, path.length);
      if (isShort) return;
      kinds.push(-1 - others.length);
      others.push(path);
    },
    get(index) {
      const kind = kinds.get(index);
      if (kind < 0) return others.get(-1 - kind)!;
      const { before, after } = around[kind]!;
      const start = (index & (SIZE - 1)) * UUID;
      const hex = uuids[index >> BITS]!.toString("hex", start, start + UUID);
      const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
      return before + uuid + after;
    },
  };
}

/** Where the last UUID in lower case starts, as its text; -1 where there is none. */
function uuidStart(bytes: Buffer, from: number, end: number): number {
  for (let start = end - UUID_TEXT; start >= from; start--) if (isUuid(bytes, start)) return start;
  return -1;
}

function isUuid(bytes: Buffer, start: number): boolean {
  const hasDashes =
    bytes[start + 8] === DASH &&
    bytes[start + 13] === DASH &&
    bytes[start + 18] === DASH &&
    bytes[start + 23] === DASH;
  if (!hasDashes) return false;
  let digits = 0;
  for (let at = start; at < start + UUID_TEXT; at++) if (DIGITS[bytes[at]!] !== NO_DIGIT) digits++;
  return digits === 2 * UUID;
}
