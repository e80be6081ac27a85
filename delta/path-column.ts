/** A growing column of paths of data files. Nearly all are named by a UUID: that is kept as sixteen bytes, and the text around it once. */

import { isOwnKey } from "./file-key.ts";
import { FNV_PRIME, FNV_START, fnv, mixed } from "./key-index.ts";
import { numberColumn } from "./number-column.ts";
import type { Slice } from "./slice.ts";
import { stringColumn } from "./string-column.ts";

export type PathColumn = {
  /** The bytes of a slice are copied. Returns the `keyHash` of the path where that is its own key, see `isOwnKey`; else undefined. */
  push(path: string | Slice): number | undefined;
  get(index: number): string;
};

/** Bytes of a UUID, and of its text. */
const UUID = 16;
const UUID_TEXT = 36;
const DASH = 0x2d;

/** What each byte stands for as a digit in lower case. */
const NO_DIGIT_BIT = 4;
const NO_DIGIT = 1 << NO_DIGIT_BIT;
const DASHES = 4;
const DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const [value, char] of [..."0123456789abcdef"].entries()) DIGITS[char.charCodeAt(0)] = value;

const BITS = 13;
const SIZE = 2 ** BITS;
/** The first block starts small: most tables are. */
const SMALL = 64;

/** Texts around UUIDs that are remembered: many for partitions, few beside the files of a table whose names have more in them that changes. */
const MOST_AROUND = 16_384;

type Around = { before: string; after: string; isOwnKey: boolean; hash: number };

export function pathColumn(): PathColumn {
  /** Which text is around the UUID; where there is none, -1 and less count down the places in `others`. */
  const kinds = numberColumn();
  const around: Around[] = [];
  const numbers = new Map<string, number>();
  const others = stringColumn();
  const uuids: (Buffer | undefined)[] = [];
  let last = { path: Buffer.alloc(0), start: 0, number: 0 };
  let scratch = Buffer.allocUnsafe(256);

  /** The number of what is around the UUID at `start`, or undefined where too much is remembered already. */
  const noteAround = (bytes: Buffer, from: number, length: number, start: number): number | undefined => {
    const before = bytes.toString("utf8", from, start);
    const after = bytes.toString("utf8", start + UUID_TEXT, from + length);
    // Any character may stand in a path, so none could part the two: the length does.
    const key = `${before.length} ${before}${after}`;
    const known = numbers.get(key);
    if (known === undefined && around.length === MOST_AROUND) return undefined;
    const number = known ?? around.length;
    if (known === undefined) {
      numbers.set(key, number);
      const isOwn = isOwnKey({ bytes, start: from, length });
      around.push({ before, after, isOwnKey: isOwn, hash: hashAround(bytes, from, length, start) });
    }
    last = { path: Buffer.from(bytes.subarray(from, from + length)), start: start - from, number };
    return number;
  };

  /**
   * Files of the same partition mostly come one after the other. Where the text around is the same and this is a UUID, there is none behind
   * it either: that depends on which characters are digits, not on which digits they are.
   */
  const isAroundLast = (bytes: Buffer, from: number, length: number): boolean => {
    const { path, start } = last;
    if (length !== path.length) return false;
    for (let at = 0; at < start; at++) if (bytes[from + at] !== path[at]) return false;
    for (let at = start + UUID_TEXT; at < length; at++) if (bytes[from + at] !== path[at]) return false;
    return isUuid(bytes, from + start);
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

  const pushBytes = (bytes: Buffer, from: number, length: number): number | undefined => {
    const isLast = isAroundLast(bytes, from, length);
    const start = isLast ? from + last.start : uuidStart(bytes, from, from + length);
    const number = isLast ? last.number : start === -1 ? undefined : noteAround(bytes, from, length, start);
    if (number === undefined) {
      kinds.push(-1 - others.length);
      others.push({ bytes, start: from, length });
      return isOwnKey({ bytes, start: from, length }) ? hashBytes(bytes, from, length, start) : undefined;
    }
    const row = kinds.length;
    kinds.push(number);
    const { isOwnKey: isOwn, hash } = around[number]!;
    const uuidHash = readUuid(bytes, start, hash, roomFor(row), (row & (SIZE - 1)) * UUID);
    return isOwn ? uuidHash : undefined;
  };

  return {
    push(path) {
      if (typeof path !== "string") return pushBytes(path.bytes, path.start, path.length);
      const size = path.length * 3;
      if (size > scratch.length) scratch = Buffer.allocUnsafe(size);
      return pushBytes(scratch, 0, scratch.write(path));
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

/** A hash of the key of a file. */
export function keyHash(key: string): number {
  const bytes = Buffer.from(key);
  return hashBytes(bytes, 0, bytes.length, uuidStart(bytes, 0, bytes.length));
}

/** `start` is that of the UUID, or -1. */
function hashBytes(bytes: Buffer, from: number, length: number, start: number): number {
  if (start === -1) return mixed(fnv(FNV_START, bytes, from, from + length));
  return readUuid(bytes, start, hashAround(bytes, from, length, start), undefined, 0);
}

function hashAround(bytes: Buffer, from: number, length: number, start: number): number {
  return fnv(fnv(FNV_START, bytes, from, start), bytes, start + UUID_TEXT, from + length);
}

/** Writes the sixteen bytes of a UUID to `into`, and returns the hash of them and of what is around. */
function readUuid(
  bytes: Buffer,
  start: number,
  hashOfAround: number,
  into: Buffer | undefined,
  place: number,
): number {
  let hash = hashOfAround;
  let to = place;
  for (let at = start; at < start + UUID_TEXT; at += 2) {
    if (bytes[at] === DASH) at++;
    const byte = (DIGITS[bytes[at]!]! << 4) | DIGITS[bytes[at + 1]!]!;
    hash = Math.imul(hash ^ byte, FNV_PRIME);
    if (into) into[to++] = byte;
  }
  return mixed(hash);
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
  let seen = 0;
  for (let at = start; at < start + UUID_TEXT; at++) seen += DIGITS[bytes[at]!]! >> NO_DIGIT_BIT;
  return seen === DASHES;
}
