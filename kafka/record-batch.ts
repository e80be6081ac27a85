/**
 * Record batches as the broker takes them (message format v2):
 *
 *   baseOffset int64, length int32, leaderEpoch int32, magic int8, crc uint32 (of all that follows), attributes int16, lastOffsetDelta int32,
 *   baseTimestamp int64, maxTimestamp int64, producerId int64, producerEpoch int16, baseSequence int32, count int32, records
 *   record: length varint, attributes int8, timestampDelta varlong, offsetDelta varint, key, value, headers; lengths are zigzag varints, -1 is null
 *
 * kafkajs writes them too, but keeps headers in an object: their order between names is lost, and a null among them cannot be said.
 */

import { crc32c } from "./crc32c.ts";
import type { ExactRecord } from "./ports.ts";

/** The producer that the broker knows, and its next sequence number in the partition. */
export type BatchOf = { producerId: bigint; producerEpoch: number; sequence: number };

const HEAD_BYTES = 61;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const MAGIC = 2;
const TRANSACTIONAL = 0x10;
/** Beyond it the arithmetic on numbers is not exact any more. */
const MOST_DELTA_MS = 2 ** 50;

/** One batch of a transaction. There is at least one record, and their times are `isNear` that of the first. */
export function encodeBatch(records: readonly ExactRecord[], of: BatchOf): Buffer {
  const base = records[0]!.timestampMs;
  const bodies = records.map((record, index) => bodyBytes(record, index, base));
  const bytes = bodies.reduce((sum, body) => sum + varintBytes(body) + body, HEAD_BYTES);
  const buffer = Buffer.allocUnsafe(bytes);
  let latest = base;
  let at = HEAD_BYTES;
  for (const [index, record] of records.entries()) {
    latest = Math.max(latest, record.timestampMs);
    at = writeVarint(buffer, at, bodies[index]!);
    at = writeRecord(buffer, at, record, index, base);
  }
  buffer.writeBigInt64BE(0n, 0);
  buffer.writeInt32BE(bytes - 12, 8);
  buffer.writeInt32BE(-1, 12);
  buffer.writeInt8(MAGIC, 16);
  buffer.writeInt16BE(TRANSACTIONAL, ATTRIBUTES_AT);
  buffer.writeInt32BE(records.length - 1, 23);
  buffer.writeBigInt64BE(BigInt(base), 27);
  buffer.writeBigInt64BE(BigInt(latest), 35);
  buffer.writeBigInt64BE(of.producerId, 43);
  buffer.writeInt16BE(of.producerEpoch, 51);
  buffer.writeInt32BE(of.sequence, 53);
  buffer.writeInt32BE(records.length, 57);
  buffer.writeUInt32BE(crc32c(buffer, ATTRIBUTES_AT), CRC_AT);
  return buffer;
}

/** Whether two times may stand in one batch. */
export function isNear(timestampMs: number, base: number): boolean {
  return Math.abs(timestampMs - base) < MOST_DELTA_MS;
}

/** Bytes that a record takes in a batch, at most. */
export function recordBytes({ key, value, headers }: ExactRecord): number {
  let bytes = 40 + (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, content] of headers) bytes += 10 + Buffer.byteLength(name) + (content?.length ?? 0);
  return bytes;
}

function bodyBytes({ key, value, headers, timestampMs }: ExactRecord, index: number, base: number): number {
  let bytes = 1 + varintBytes(timestampMs - base) + varintBytes(index) + varintBytes(headers.length);
  bytes += partBytes(key) + partBytes(value);
  for (const [name, content] of headers) {
    const length = Buffer.byteLength(name);
    bytes += varintBytes(length) + length + partBytes(content);
  }
  return bytes;
}

function partBytes(part: Uint8Array | null): number {
  return part === null ? 1 : varintBytes(part.length) + part.length;
}

function writeRecord(buffer: Buffer, start: number, record: ExactRecord, index: number, base: number) {
  let at = buffer.writeInt8(0, start);
  at = writeVarint(buffer, at, record.timestampMs - base);
  at = writeVarint(buffer, at, index);
  at = writePart(buffer, at, record.key);
  at = writePart(buffer, at, record.value);
  at = writeVarint(buffer, at, record.headers.length);
  for (const [name, content] of record.headers) {
    at = writeVarint(buffer, at, Buffer.byteLength(name));
    at += buffer.write(name, at);
    at = writePart(buffer, at, content);
  }
  return at;
}

function writePart(buffer: Buffer, start: number, part: Uint8Array | null): number {
  if (part === null) return writeVarint(buffer, start, -1);
  const at = writeVarint(buffer, start, part.length);
  buffer.set(part, at);
  return at + part.length;
}

/** Zigzag: small numbers of both signs are short. */
const zigzag = (value: number) => (value < 0 ? -2 * value - 1 : 2 * value);

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = zigzag(value); rest >= 128; rest = Math.floor(rest / 128)) bytes += 1;
  return bytes;
}

function writeVarint(buffer: Buffer, start: number, value: number): number {
  let at = start;
  let rest = zigzag(value);
  for (; rest >= 128; rest = Math.floor(rest / 128)) buffer[at++] = (rest % 128) | 0x80;
  buffer[at++] = rest;
  return at;
}
