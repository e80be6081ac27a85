/** How many records a partition was sent, and a checksum of them in their order: enough to see that one is missing, doubled, moved or changed. */

import { crc32 } from "node:zlib";
import type { ExactRecord } from "../kafka/ports.ts";

/** `since`: the offset in the target from which on the records stand. */
export type Tally = { since: bigint; count: number; crc: number };
/** By partition of the target. */
export type Tallies = Map<number, Tally>;

/** Nothing was sent yet behind these offsets. */
export function beginTallies(marks: ReadonlyMap<number, { high: bigint }>): Tallies {
  return new Map([...marks].map(([partition, { high }]) => [partition, { since: high, count: 0, crc: 0 }]));
}

type Content = Omit<ExactRecord, "partition">;

/** Adds the partition's next record. */
export function count(tally: Tally, { timestampMs, key, value, headers }: Content): void {
  tally.count += 1;
  VIEW.setFloat64(0, timestampMs);
  VIEW.setInt32(8, lengthOf(key));
  VIEW.setInt32(12, lengthOf(value));
  VIEW.setInt32(16, headers.length);
  let crc = added(HEAD, tally.crc);
  if (key !== null) crc = added(key, crc);
  if (value !== null) crc = added(value, crc);
  for (const [name, content] of headers) {
    crc = crc32(JSON.stringify([name, lengthOf(content)]), crc);
    if (content !== null) crc = added(content, crc);
  }
  tally.crc = crc;
}

const HEAD = Buffer.alloc(20);
const VIEW = new DataView(HEAD.buffer, HEAD.byteOffset, HEAD.byteLength);
/** What is shorter is done sooner than a call of zlib takes. */
const SHORT = 48;
const POLYNOMIAL = 0xedb88320;
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  return crc;
});

/** As `crc32` of zlib. */
function added(bytes: Uint8Array, before: number): number {
  if (bytes.length > SHORT) return crc32(bytes, before);
  let crc = ~before;
  for (let at = 0; at < bytes.length; at++) crc = (crc >>> 8) ^ TABLE[(crc ^ bytes[at]!) & 0xff]!;
  return ~crc >>> 0;
}

/** Null is told from empty. */
function lengthOf(bytes: Uint8Array | null): number {
  return bytes === null ? -1 : bytes.length;
}

type TallyJson = [partition: number, since: string, count: number, crc: number];

/** Tallies as JSON can hold them. */
export function talliesToJson(tallies: Tallies): TallyJson[] {
  return [...tallies].map(([partition, { since, count, crc }]) => [partition, String(since), count, crc]);
}

/** The other way; throws a SyntaxError or TypeError for what was not written by `talliesToJson`. */
export function talliesFromJson(json: unknown): Tallies {
  return new Map(
    (json as TallyJson[]).map(([partition, since, count, crc]) => [
      partition,
      { since: BigInt(since), count, crc },
    ]),
  );
}
