/** Which partition a key belongs to: the same as Java's client says, so that all producers agree. */

import type { OutgoingRecord } from "./ports.ts";

/** The record's partition of `count`: the one it names, its key's, or, without a key, one that changes with each `turn`. */
export function placeOf(record: OutgoingRecord, count: number, turn: number): number {
  if (record.partition !== undefined) return record.partition;
  if (record.key === null) return turn % count;
  return partitionOf(Buffer.isBuffer(record.key) ? record.key : Buffer.from(record.key), count);
}

const SEED = 0x9747b28c;
const M = 0x5bd1e995;
const R = 24;

/** `key` hashed over `count` partitions. */
export function partitionOf(key: Buffer, count: number): number {
  return (murmur2(key) & 0x7fffffff) % count;
}

/** 32-bit murmur2 as in Kafka's `Utils.murmur2`, signed. */
export function murmur2(data: Buffer): number {
  const { length } = data;
  let hash = SEED ^ length;
  const whole = length - (length % 4);
  for (let at = 0; at < whole; at += 4) {
    let k = Math.imul(data.readInt32LE(at), M);
    k ^= k >>> R;
    hash = Math.imul(hash, M) ^ Math.imul(k, M);
  }
  const rest = length - whole;
  if (rest > 0) {
    for (let at = rest - 1; at >= 0; at--) hash ^= data.readUInt8(whole + at) << (8 * at);
    hash = Math.imul(hash, M);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, M);
  return hash ^ (hash >>> 15);
}
