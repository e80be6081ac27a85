/** Record batches by the letter of the format, for tests: offsets with gaps, markers, codecs and damage as they are asked for. */

import { crc32c } from "../crc32c.ts";

export type BatchSpec = {
  baseOffset: bigint;
  /** Offsets as distances from the base. */
  records: readonly RecordSpec[];
  /** Default: that of the last record, or 0. Compaction takes records and leaves it. */
  lastOffsetDelta?: number;
  baseTimestampMs?: number;
  maxTimestampMs?: number;
  producerId?: bigint;
  isAppendTime?: boolean;
  isTransactional?: boolean;
  isControl?: boolean;
  codec?: number;
  /** What `codec` makes of the records. */
  pack?: (records: Buffer) => Buffer;
};

export type RecordSpec = {
  offsetDelta: number;
  timestampDelta?: number;
  key?: Uint8Array | null;
  value?: Uint8Array | null;
  headers?: readonly (readonly [name: string, value: Uint8Array | null])[];
};

export function batchBytes(spec: BatchSpec): Buffer {
  const plain = Buffer.concat(spec.records.map(recordBytes));
  const records = spec.pack?.(plain) ?? plain;
  const bytes = Buffer.alloc(61 + records.length);
  bytes.writeBigInt64BE(spec.baseOffset, 0);
  bytes.writeInt32BE(bytes.length - 12, 8);
  bytes.writeInt32BE(3, 12);
  bytes.writeInt8(2, 16);
  const flags = [spec.isAppendTime, spec.isTransactional, spec.isControl];
  const attributes = flags.reduce((sum, flag, n) => sum + (flag === true ? 8 << n : 0), spec.codec ?? 0);
  bytes.writeInt16BE(attributes, 21);
  bytes.writeInt32BE(spec.lastOffsetDelta ?? spec.records.at(-1)?.offsetDelta ?? 0, 23);
  bytes.writeBigInt64BE(BigInt(spec.baseTimestampMs ?? 0), 27);
  bytes.writeBigInt64BE(BigInt(spec.maxTimestampMs ?? 0), 35);
  bytes.writeBigInt64BE(spec.producerId ?? -1n, 43);
  bytes.writeInt32BE(spec.records.length, 57);
  records.copy(bytes, 61);
  return sealed(bytes);
}

/** The batch that ends a transaction. */
export function markerBytes(baseOffset: bigint, producerId: bigint, how: "abort" | "commit"): Buffer {
  const key = Buffer.from([0, 0, 0, how === "abort" ? 0 : 1]);
  const records = [{ offsetDelta: 0, key, value: Buffer.alloc(6) }];
  return batchBytes({ baseOffset, producerId, records, isTransactional: true, isControl: true });
}

/** The same bytes with a checksum that fits them. */
export function sealed(bytes: Buffer): Buffer {
  bytes.writeUInt32BE(crc32c(bytes, 21), 17);
  return bytes;
}

/** A signed number in zigzag form. */
export function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  const wide = BigInt(value);
  let rest = BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n));
  for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
  return Buffer.from([...bytes, Number(rest)]);
}

function recordBytes({
  offsetDelta,
  timestampDelta = 0,
  key = null,
  value = null,
  headers = [],
}: RecordSpec): Buffer {
  const part = (bytes: Uint8Array | null) =>
    bytes === null ? varint(-1) : Buffer.concat([varint(bytes.length), bytes]);
  const body = Buffer.concat([
    Buffer.from([0]),
    varint(timestampDelta),
    varint(offsetDelta),
    part(key),
    part(value),
    varint(headers.length),
    ...headers.flatMap(([name, content]) => [part(Buffer.from(name)), part(content)]),
  ]);
  return Buffer.concat([varint(body.length), body]);
}
