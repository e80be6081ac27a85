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
const LEAST_ROOM = 4 << 10;
const LONGEST_VARINT = 10;
/** Shorter ones are copied faster byte by byte. */
const SHORT = 24;

/** A batch that grows record by record. */
export type BatchWriter = {
  readonly records: number;
  /** Of the batch as it is. */
  readonly bytes: number;
  /** Whether a record of this time may stand in it. */
  takes(timestampMs: number): boolean;
  add(record: ExactRecord): void;
  /** The batch, which is taken away: the writer begins anew. There is at least one record. */
  finish(of: BatchOf): Buffer;
};

/** A writer of batches of a transaction, one after the other. */
export function createBatchWriter(): BatchWriter {
  // The next batch is mostly as large as the last one.
  let room = LEAST_ROOM;
  let buffer = Buffer.allocUnsafeSlow(0);
  let [records, at, base, latest] = [0, HEAD_BYTES, 0, 0];

  function reserve(bytes: number): void {
    if (at + bytes <= buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(room, 2 * buffer.length, at + bytes));
    buffer.copy(larger, 0, 0, Math.min(at, buffer.length));
    buffer = larger;
  }

  return {
    get records() {
      return records;
    },
    get bytes() {
      return at;
    },
    takes: (timestampMs) => records === 0 || isNear(timestampMs, base),
    add(record) {
      if (records === 0) [base, latest] = [record.timestampMs, record.timestampMs];
      const body = bodyBytes(record, records, base);
      reserve(LONGEST_VARINT + body);
      at = writeVarint(buffer, at, body);
      at = writeRecord(buffer, at, record, records, base);
      latest = Math.max(latest, record.timestampMs);
      records += 1;
    },
    finish({ producerId, producerEpoch, sequence }) {
      const batch = buffer.subarray(0, at);
      batch.writeBigInt64BE(0n, 0);
      batch.writeInt32BE(at - 12, 8);
      batch.writeInt32BE(-1, 12);
      batch.writeInt8(MAGIC, 16);
      batch.writeInt16BE(TRANSACTIONAL, ATTRIBUTES_AT);
      batch.writeInt32BE(records - 1, 23);
      batch.writeBigInt64BE(BigInt(base), 27);
      batch.writeBigInt64BE(BigInt(latest), 35);
      batch.writeBigInt64BE(producerId, 43);
      batch.writeInt16BE(producerEpoch, 51);
      batch.writeInt32BE(sequence, 53);
      batch.writeInt32BE(records, 57);
      batch.writeUInt32BE(crc32c(batch, ATTRIBUTES_AT), CRC_AT);
      room = at;
      buffer = Buffer.allocUnsafeSlow(0);
      [records, at] = [0, HEAD_BYTES];
      return batch;
    },
  };
}

/** Whether two times may stand in one batch. */
function isNear(timestampMs: number, base: number): boolean {
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
  if (part.length < SHORT) for (let n = 0; n < part.length; n++) buffer[at + n] = part[n]!;
  else buffer.set(part, at);
  return at + part.length;
}

/** Zigzag: small numbers of both signs are short. */
const zigzag = (value: number) => (value < 0 ? -2 * value - 1 : 2 * value);

function varintBytes(value: number): number {
  let bytes = 1;
  let rest = zigzag(value);
  for (; rest >= WORD; rest = Math.floor(rest / 128)) bytes += 1;
  for (; rest >= 128; rest >>>= 7) bytes += 1;
  return bytes;
}

function writeVarint(buffer: Buffer, start: number, value: number): number {
  let at = start;
  let rest = zigzag(value);
  for (; rest >= WORD; rest = Math.floor(rest / 128)) buffer[at++] = (rest % 128) | 0x80;
  for (; rest >= 128; rest >>>= 7) buffer[at++] = (rest & 0x7f) | 0x80;
  buffer[at++] = rest;
  return at;
}

/** Numbers below it are shifted as whole words, the others divided. */
const WORD = 2 ** 31;
