/**
 * Record batches of format 2, the only one that brokers have written by default since Kafka 0.11 and that 4.0 knows.
 *
 *     baseOffset i64 | length i32 | leaderEpoch i32 | magic i8 | crc u32 | attributes i16 | lastOffsetDelta i32 | baseTimestamp i64 |
 *     maxTimestamp i64 | producerId i64 | producerEpoch i16 | baseSequence i32 | count i32 | records, which may be compressed
 *
 * `length` counts what comes after it, `crc` covers what comes after it. A record, in varints but for `attributes` and bytes:
 *
 *     length | attributes i8 | timestampDelta | offsetDelta | keyLength key | valueLength value | count of headers, headers
 */

import { LabError } from "../../core/errors.ts";
import { crc32c } from "../crc32c.ts";
import { addRoom, type Columns } from "./columns.ts";

export type BatchHeader = {
  baseOffset: bigint;
  /** Of the batch as it was written: compaction takes records, and leaves this. */
  lastOffset: bigint;
  /** 0: not compressed. */
  codec: number;
  timestampType: "create" | "append";
  isTransactional: boolean;
  isControl: boolean;
  /** In ms since the epoch. */
  baseTimestampMs: number;
  maxTimestampMs: number;
  producerId: bigint;
  /** How many records are in it. */
  count: number;
  /** Where its records begin (inclusive) and end (exclusive). */
  start: number;
  end: number;
};

const OFFSET = { length: 8, magic: 16, crc: 17, attributes: 21, lastOffsetDelta: 23 } as const;
const AFTER = { baseTimestamp: 27, maxTimestamp: 35, producerId: 43, count: 57, records: 61 } as const;
const LENGTH_END = 12;
const FLAG = { codec: 0x07, append: 0x08, transactional: 0x10, control: 0x20 } as const;
/** A record of nothing is six bytes after its length. */
const LEAST_RECORD_BYTES = 7;

/**
 * The batch at `at`, its checksum compared; null where it is cut off, as the last one of an answer may be. KAFKA_PROTOCOL where it is
 * damaged or of an older format.
 */
export function readBatchHeader(bytes: Buffer, at: number): BatchHeader | null {
  // Whole messages of older formats may be shorter than a batch's header: what they are is told before they pass for cut off.
  if (bytes.length - at <= OFFSET.magic) return null;
  const baseOffset = bytes.readBigInt64BE(at);
  const magic = bytes.readInt8(at + OFFSET.magic);
  if (magic !== 2)
    throw new LabError(
      "KAFKA_PROTOCOL",
      `the records at offset ${baseOffset} are of format ${magic}, not 2`,
      {
        hint: "let the broker rewrite the topic: log.message.format.version 0.11 or later, and produce it anew",
      },
    );
  if (bytes.length - at < AFTER.records) return null;
  const length = bytes.readInt32BE(at + OFFSET.length);
  const end = at + LENGTH_END + length;
  if (length < AFTER.records - LENGTH_END) throw damaged(baseOffset, `it says it is ${length} bytes long`);
  if (end > bytes.length) return null;
  const [said, found] = [bytes.readUInt32BE(at + OFFSET.crc), crc32c(bytes, at + OFFSET.attributes, end)];
  if (said !== found) throw damaged(baseOffset, `its checksum is ${hex(found)}, and should be ${hex(said)}`);
  const attributes = bytes.readInt16BE(at + OFFSET.attributes);
  return {
    baseOffset,
    lastOffset: baseOffset + BigInt(bytes.readInt32BE(at + OFFSET.lastOffsetDelta)),
    codec: attributes & FLAG.codec,
    timestampType: (attributes & FLAG.append) === 0 ? "create" : "append",
    isTransactional: (attributes & FLAG.transactional) !== 0,
    isControl: (attributes & FLAG.control) !== 0,
    baseTimestampMs: Number(bytes.readBigInt64BE(at + AFTER.baseTimestamp)),
    maxTimestampMs: Number(bytes.readBigInt64BE(at + AFTER.maxTimestamp)),
    producerId: bytes.readBigInt64BE(at + AFTER.producerId),
    count: bytes.readInt32BE(at + AFTER.count),
    start: at + AFTER.records,
    end,
  };
}

/** Where the records of a batch are: in `bytes` from `start` to `end`, and for the columns that many bytes further on. */
export type RecordsPlace = { bytes: Buffer; start: number; end: number; shift: number };

/**
 * Appends the records of a batch from offset `from` on (inclusive). KAFKA_PROTOCOL where they do not fill their place exactly; then nothing
 * is appended.
 */
export function appendRecords(batch: BatchHeader, place: RecordsPlace, from: bigint, into: Columns): void {
  const { length, keyBytes, valueBytes, headerBytes } = into;
  try {
    readRecords(batch, place, from, into);
  } catch (error) {
    Object.assign(into, { length, keyBytes, valueBytes, headerBytes });
    throw error;
  }
}

function readRecords(
  batch: BatchHeader,
  { bytes, start, end, shift }: RecordsPlace,
  from: bigint,
  into: Columns,
): void {
  const { baseOffset, count } = batch;
  if (count < 0 || count > (end - start) / LEAST_RECORD_BYTES)
    throw damaged(baseOffset, `${count} records are not in ${end - start} bytes`);
  addRoom(into, count);
  // Offsets in two halves: a BigInt for each record would cost more than all the rest of it.
  const baseLow = Number(BigInt.asUintN(32, baseOffset));
  const baseHigh = Number(BigInt.asIntN(32, baseOffset >> 32n));
  const least = from > baseOffset ? Number(from - baseOffset) : 0;
  const appendMs = batch.timestampType === "append" ? batch.maxTimestampMs : null;
  const cursor: Cursor = { bytes, at: start };
  for (let n = 0; n < count; n++) {
    const length = varint(cursor);
    const recordEnd = cursor.at + length;
    if (length < LEAST_RECORD_BYTES - 1 || recordEnd > end) throw misfit(batch, n);
    cursor.at += 1;
    const timestampDelta = varlong(cursor);
    const offsetDelta = varint(cursor);
    const keyLength = varint(cursor);
    const keyStart = cursor.at;
    if (keyLength > 0) cursor.at += keyLength;
    const valueLength = cursor.at < recordEnd ? varint(cursor) : -2;
    const valueStart = cursor.at;
    if (valueLength > 0) cursor.at += valueLength;
    const headerCount = cursor.at < recordEnd ? varint(cursor) : -1;
    const headerStart = cursor.at;
    if (keyLength < -1 || valueLength < -1 || headerCount < 0) throw misfit(batch, n);
    if (headerCount > 0) passHeaders(cursor, headerCount, recordEnd);
    if (cursor.at !== recordEnd) throw misfit(batch, n);
    if (offsetDelta < least) continue;

    const index = into.length++;
    const low = baseLow + offsetDelta;
    into.offsetHalves[2 * index] = low;
    into.offsetHalves[2 * index + 1] = low > 0xffffffff ? baseHigh + 1 : baseHigh;
    into.timestampsMs[index] = appendMs ?? batch.baseTimestampMs + timestampDelta;
    if (keyLength < 0) into.keyStarts[index] = -1;
    else {
      into.keyStarts[index] = keyStart + shift;
      into.keyEnds[index] = keyStart + keyLength + shift;
      into.keyBytes += keyLength;
    }
    if (valueLength < 0) into.valueStarts[index] = -1;
    else {
      into.valueStarts[index] = valueStart + shift;
      into.valueEnds[index] = valueStart + valueLength + shift;
      into.valueBytes += valueLength;
    }
    into.headerStarts[index] = headerStart + shift;
    into.headerEnds[index] = recordEnd + shift;
    into.headerBytes += recordEnd - headerStart;
  }
  if (cursor.at !== end)
    throw damaged(baseOffset, `${end - cursor.at} bytes are behind its ${count} records`);
}

/** Whether a control batch ends a transaction as aborted. `place` is its records'. */
export function isAbortMarker({ count }: BatchHeader, { bytes, start, end }: RecordsPlace): boolean {
  if (count === 0) return false;
  const cursor: Cursor = { bytes, at: start };
  varint(cursor);
  cursor.at += 1;
  varlong(cursor);
  varint(cursor);
  // Two numbers of two bytes: a version, and what it is, 0 for an abort.
  const keyLength = varint(cursor);
  return keyLength >= 4 && cursor.at + 4 <= end && bytes.readInt16BE(cursor.at + 2) === 0;
}

type Cursor = { bytes: Buffer; at: number };

/** Passes over the headers of a record; where they do not fit, the cursor is beyond its end. */
function passHeaders(cursor: Cursor, count: number, recordEnd: number): void {
  for (let n = 0; n < count; n++) {
    const nameLength = varint(cursor);
    if (nameLength < 0 || cursor.at + nameLength >= recordEnd) {
      cursor.at = recordEnd + 1;
      return;
    }
    cursor.at += nameLength;
    const valueLength = varint(cursor);
    if (valueLength > 0) cursor.at += valueLength;
  }
}

/** Of 32 bits at most, in zigzag form. Beyond the end it reads zeros, which the ends of the record then show. */
function varint(cursor: Cursor): number {
  const { bytes } = cursor;
  let byte = bytes[cursor.at++]! | 0;
  if (byte < 0x80) return (byte >>> 1) ^ -(byte & 1);
  let raw = byte & 0x7f;
  for (let shift = 7; shift < 35; shift += 7) {
    byte = bytes[cursor.at++]! | 0;
    raw |= (byte & 0x7f) << shift;
    if (byte < 0x80) return (raw >>> 1) ^ -(raw & 1);
  }
  throw new LabError("KAFKA_PROTOCOL", `a number of more than 32 bits ends at byte ${cursor.at} of a batch`);
}

/** Of 64 bits at most; beyond 2^53 it is rounded, as times in ms are everywhere. */
function varlong(cursor: Cursor): number {
  const { bytes, at: start } = cursor;
  let low = 0;
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = bytes[cursor.at++]! | 0;
    low |= (byte & 0x7f) << shift;
    if (byte < 0x80) return (low >>> 1) ^ -(low & 1);
  }
  let high = 0;
  for (let shift = 0; shift < 21; shift += 7) {
    const byte = bytes[cursor.at++]! | 0;
    high |= (byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    const half = high * 2 ** 27 + (low >>> 1);
    return (low & 1) === 0 ? half : -half - 1;
  }
  return longest(cursor, start);
}

/** The same for those that take more than seven bytes. */
function longest(cursor: Cursor, start: number): number {
  const { bytes } = cursor;
  cursor.at = start;
  let raw = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = bytes[cursor.at++]! | 0;
    raw |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) return Number(BigInt.asIntN(64, (raw >> 1n) ^ -(raw & 1n)));
  }
  throw new LabError("KAFKA_PROTOCOL", `a number of more than 64 bits ends at byte ${cursor.at} of a batch`);
}

const hex = (value: number) => value.toString(16).padStart(8, "0");

function misfit(batch: BatchHeader, n: number): LabError {
  return damaged(batch.baseOffset, `record ${n} of ${batch.count} does not end where it says`);
}

/** Java's consumer throws here, too: whoever asks again gets the same, and nothing is passed over. */
function damaged(baseOffset: bigint, what: string): LabError {
  return new LabError("KAFKA_PROTOCOL", `the batch at offset ${baseOffset} is damaged: ${what}`, {
    hint: "see whether the broker's disk or the network is at fault; bin/kafka-dump-log.sh shows the batch as it is stored",
  });
}
