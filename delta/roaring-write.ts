/** Row positions as a Roaring bitmap in the portable 64-bit form that `roaring.ts` reads. */

const NO_RUNS = 12_346;
const ARRAY_MAX = 4096;
const BITMAP_BYTES = 8192;

/** The bytes of a set of whole numbers, ascending and each once. Containers are arrays or bits, as there are few or many members. */
export function writeRoaring(members: Float64Array): Buffer {
  const buckets: { high: number; bytes: Buffer }[] = [];
  for (let start = 0; start < members.length; ) {
    const high = Math.floor(members[start]! / 2 ** 32);
    const end = endOf(members, start, (high + 1) * 2 ** 32);
    buckets.push({ high, bytes: writeBitmap(members.subarray(start, end), high * 2 ** 32) });
    start = end;
  }
  const count = Buffer.alloc(8);
  count.writeBigUInt64LE(BigInt(buckets.length));
  return Buffer.concat([count, ...buckets.flatMap(({ high, bytes }) => [word(high), bytes])]);
}

/** The first place from `start` on whose member is not below `limit`. */
function endOf(members: Float64Array, start: number, limit: number): number {
  let [low, high] = [start, members.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (members[middle]! < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function writeBitmap(members: Float64Array, base: number): Buffer {
  const containers: { key: number; count: number; bytes: Buffer }[] = [];
  for (let start = 0; start < members.length; ) {
    const key = Math.floor((members[start]! - base) / 65_536);
    const first = base + key * 65_536;
    const end = endOf(members, start, first + 65_536);
    const part = members.subarray(start, end);
    containers.push({ key, count: part.length, bytes: writeContainer(part, first) });
    start = end;
  }
  const header = Buffer.alloc(8 + 8 * containers.length);
  header.writeUInt32LE(NO_RUNS);
  header.writeUInt32LE(containers.length, 4);
  let offset = header.length;
  for (const [index, { key, count, bytes }] of containers.entries()) {
    header.writeUInt16LE(key, 8 + 4 * index);
    header.writeUInt16LE(count - 1, 10 + 4 * index);
    header.writeUInt32LE(offset, 8 + 4 * containers.length + 4 * index);
    offset += bytes.length;
  }
  return Buffer.concat([header, ...containers.map(({ bytes }) => bytes)]);
}

function writeContainer(members: Float64Array, first: number): Buffer {
  if (members.length > ARRAY_MAX) {
    const bits = Buffer.alloc(BITMAP_BYTES);
    for (const member of members) bits[(member - first) >> 3]! |= 1 << ((member - first) & 7);
    return bits;
  }
  const bytes = Buffer.alloc(2 * members.length);
  for (let index = 0; index < members.length; index++)
    bytes.writeUInt16LE(members[index]! - first, 2 * index);
  return bytes;
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
