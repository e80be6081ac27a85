/**
 * CRC-32C, the checksum of record batches (RFC 3720, appendix B.4): sixteen bytes a step, by sixteen tables in one. Of many bytes all but a few
 * are folded away before.
 */

import { folded, LEAST_FOLDED } from "./crc32c-fold.ts";

const POLYNOMIAL = 0x82f63b78;
const STEP = 16;
/** The table at 256 * n says what a byte does to the checksum when n bytes come after it. */
const TABLES = makeTables();

/** The checksum of `bytes` from `start` (inclusive) to `end` (exclusive), as an unsigned number. */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  if (end - start < LEAST_FOLDED) return ~remainder(bytes, start, end, -1) >>> 0;
  const rest = folded(bytes, start, end);
  return ~remainder(rest, 0, rest.length, 0) >>> 0;
}

function remainder(bytes: Uint8Array, start: number, end: number, from: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const t = TABLES;
  let crc = from;
  let at = start;
  for (; at + STEP <= end; at += STEP) {
    const a = crc ^ view.getInt32(at, true);
    const b = view.getInt32(at + 4, true);
    const c = view.getInt32(at + 8, true);
    const d = view.getInt32(at + 12, true);
    crc =
      t[0xf00 | (a & 0xff)]! ^
      t[0xe00 | ((a >>> 8) & 0xff)]! ^
      t[0xd00 | ((a >>> 16) & 0xff)]! ^
      t[0xc00 | (a >>> 24)]! ^
      t[0xb00 | (b & 0xff)]! ^
      t[0xa00 | ((b >>> 8) & 0xff)]! ^
      t[0x900 | ((b >>> 16) & 0xff)]! ^
      t[0x800 | (b >>> 24)]! ^
      t[0x700 | (c & 0xff)]! ^
      t[0x600 | ((c >>> 8) & 0xff)]! ^
      t[0x500 | ((c >>> 16) & 0xff)]! ^
      t[0x400 | (c >>> 24)]! ^
      t[0x300 | (d & 0xff)]! ^
      t[0x200 | ((d >>> 8) & 0xff)]! ^
      t[0x100 | ((d >>> 16) & 0xff)]! ^
      t[d >>> 24]!;
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ t[(crc ^ view.getUint8(at)) & 0xff]!;
  return crc;
}

function makeTables(): Int32Array {
  const tables = new Int32Array(STEP * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    tables[byte] = crc;
  }
  for (let at = 256; at < tables.length; at++) {
    const before = tables[at - 256]!;
    tables[at] = (before >>> 8) ^ tables[before & 0xff]!;
  }
  return tables;
}
