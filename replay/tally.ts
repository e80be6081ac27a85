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
  HEAD.setFloat64(0, timestampMs);
  HEAD.setInt32(8, lengthOf(key));
  HEAD.setInt32(12, lengthOf(value));
  HEAD.setInt32(16, headers.length);
  let crc = crc32(HEAD, tally.crc);
  if (key !== null) crc = crc32(key, crc);
  if (value !== null) crc = crc32(value, crc);
  for (const [name, content] of headers) {
    crc = crc32(JSON.stringify([name, lengthOf(content)]), crc);
    if (content !== null) crc = crc32(content, crc);
  }
  tally.crc = crc;
}

const HEAD = new DataView(new ArrayBuffer(20));

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
