/** Roaring bitmaps as the portable format writes them (RoaringFormatSpec), in the 64-bit form: buckets of 32-bit bitmaps. */

const NO_RUNS = 12_346;
const WITH_RUNS = 12_347;
/** With runs and fewer containers than this there are no offsets. */
const OFFSETS_FROM = 4;
const ARRAY_MAX = 4096;
const BITMAP_BYTES = 8192;

/** All members, ascending. Throws an Error where the bytes end early, are no bitmap, or hold more than `most`: few can claim many. */
export function readRoaring(bytes: Buffer, most: number): Float64Array {
  const parts: Float64Array[] = [];
  let left = most;
  const buckets = bytes.readBigUInt64LE(0);
  let at = 8;
  for (let bucket = 0n; bucket < buckets; bucket++) {
    const high = bytes.readUInt32LE(at);
    // Row numbers are safe integers by far: a higher bucket cannot be meant.
    if (high >= 2 ** 21) throw new Error(`bucket ${high} is beyond any file`);
    const read = readBitmap(bytes, at + 4, high * 2 ** 32, left);
    for (const part of read.parts) parts.push(part);
    left = read.left;
    at = read.end;
  }
  const all = new Float64Array(most - left);
  let filled = 0;
  for (const part of parts) {
    all.set(part, filled);
    filled += part.length;
  }
  if (all.some((row, at) => at > 0 && row <= all[at - 1]!)) throw new Error("its rows are out of order");
  return all;
}

function readBitmap(
  bytes: Buffer,
  start: number,
  base: number,
  most: number,
): { parts: Float64Array[]; end: number; left: number } {
  const cookie = bytes.readUInt32LE(start);
  const hasRuns = (cookie & 0xffff) === WITH_RUNS;
  if (!hasRuns && cookie !== NO_RUNS) throw new Error(`${cookie} begins no bitmap`);
  const count = hasRuns ? (cookie >>> 16) + 1 : bytes.readUInt32LE(start + 4);
  if (count > 65_536) throw new Error(`${count} containers are too many`);
  const flags = start + (hasRuns ? 4 : 8);
  const headers = flags + (hasRuns ? Math.ceil(count / 8) : 0);
  const hasOffsets = !hasRuns || count >= OFFSETS_FROM;
  let at = headers + 4 * count + (hasOffsets ? 4 * count : 0);
  const parts: Float64Array[] = [];
  let left = most;
  for (let index = 0; index < count; index++) {
    const low = base + bytes.readUInt16LE(headers + 4 * index) * 65_536;
    const members = bytes.readUInt16LE(headers + 4 * index + 2) + 1;
    left -= members;
    if (left < 0) throw new Error(`it holds more than the ${most} rows it should`);
    const isRun = hasRuns && (bytes.readUInt8(flags + (index >> 3)) & (1 << (index & 7))) !== 0;
    const container = isRun ? readRuns : members > ARRAY_MAX ? readBits : readArray;
    const read = container(bytes, at, members, low);
    parts.push(read.part);
    at = read.end;
  }
  return { parts, end: at, left };
}

type Container = { part: Float64Array; end: number };

function readArray(bytes: Buffer, start: number, members: number, base: number): Container {
  const part = Float64Array.from(
    { length: members },
    (_, index) => base + bytes.readUInt16LE(start + 2 * index),
  );
  return { part, end: start + 2 * members };
}

function readBits(bytes: Buffer, start: number, members: number, base: number): Container {
  const part = new Float64Array(members);
  let filled = 0;
  for (let index = 0; index < BITMAP_BYTES; index++) {
    for (let byte = bytes.readUInt8(start + index); byte !== 0; byte &= byte - 1) {
      if (filled === members) throw new Error("a container holds more than it says");
      part[filled++] = base + index * 8 + (31 - Math.clz32(byte & -byte));
    }
  }
  if (filled !== members) throw new Error("a container holds less than it says");
  return { part, end: start + BITMAP_BYTES };
}

function readRuns(bytes: Buffer, start: number, members: number, base: number): Container {
  const runs = bytes.readUInt16LE(start);
  const part = new Float64Array(members);
  let filled = 0;
  for (let index = 0; index < runs; index++) {
    const first = bytes.readUInt16LE(start + 2 + 4 * index);
    const more = bytes.readUInt16LE(start + 4 + 4 * index);
    if (filled + more >= members) throw new Error("a container holds more than it says");
    for (let step = 0; step <= more; step++) part[filled++] = base + first + step;
  }
  if (filled !== members) throw new Error("a container holds less than it says");
  return { part, end: start + 2 + 4 * runs };
}
