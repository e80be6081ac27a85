/** Records in columns: numbers in arrays, and of bytes the places where they are. */

import { readHeaders, writeHeaders } from "../../core/record-headers.ts";
import type { FetchedRecords, RawRecord } from "../ports.ts";

/** What is appended to: all of `FetchedRecords` but the way to look at it. A place of -1 is null. */
export type Columns = {
  length: number;
  bytes: Buffer;
  valueBytes: number;
  keyBytes: number;
  headerBytes: number;
  offsets: BigInt64Array;
  /** The same memory, the low half of an offset before the high one. */
  offsetHalves: Int32Array;
  timestampsMs: Float64Array;
  keyStarts: Int32Array;
  keyEnds: Int32Array;
  valueStarts: Int32Array;
  valueEnds: Int32Array;
  headerStarts: Int32Array;
  headerEnds: Int32Array;
};

export function emptyColumns(room: number): Columns {
  const offsets = new BigInt64Array(room);
  return {
    length: 0,
    bytes: Buffer.alloc(0),
    valueBytes: 0,
    keyBytes: 0,
    headerBytes: 0,
    offsets,
    offsetHalves: new Int32Array(offsets.buffer),
    timestampsMs: new Float64Array(room),
    keyStarts: new Int32Array(room),
    keyEnds: new Int32Array(room),
    valueStarts: new Int32Array(room),
    valueEnds: new Int32Array(room),
    headerStarts: new Int32Array(room),
    headerEnds: new Int32Array(room),
  };
}

/** Makes room for `count` more. */
export function addRoom(columns: Columns, count: number): void {
  const needed = columns.length + count;
  if (needed <= columns.offsets.length) return;
  const larger = emptyColumns(Math.max(needed, 2 * columns.offsets.length));
  larger.offsets.set(columns.offsets);
  columns.offsets = larger.offsets;
  columns.offsetHalves = larger.offsetHalves;
  for (const name of [
    "timestampsMs",
    "keyStarts",
    "keyEnds",
    "valueStarts",
    "valueEnds",
    "headerStarts",
    "headerEnds",
  ] as const) {
    larger[name].set(columns[name]);
    (columns[name] as unknown) = larger[name];
  }
}

/** A look at what was appended; nothing may be appended any more. */
export function recordsIn(columns: Columns): FetchedRecords {
  const { length, bytes } = columns;
  const bytesOf = (starts: Int32Array, ends: Int32Array, index: number) =>
    starts[index]! < 0 ? null : bytes.subarray(starts[index]!, ends[index]!);
  const at = (index: number): RawRecord => ({
    offset: columns.offsets[index]!,
    timestampMs: columns.timestampsMs[index]!,
    key: bytesOf(columns.keyStarts, columns.keyEnds, index),
    value: bytesOf(columns.valueStarts, columns.valueEnds, index),
    headers: readHeaders(bytes, columns.headerStarts[index]!, columns.headerEnds[index]!),
  });
  return {
    ...columns,
    at(index) {
      if (!(index >= 0 && index < length)) throw new RangeError(`${length} records have no record ${index}`);
      return at(index);
    },
    toArray: () => Array.from({ length }, (_, index) => at(index)),
  };
}

/** The same for records that are objects; their bytes are copied. */
export function recordsOf(records: readonly RawRecord[]): FetchedRecords {
  const columns = emptyColumns(records.length);
  const pieces: Uint8Array[] = [];
  let used = 0;
  /** Where it begins: -1 for null. */
  const keep = (piece: Uint8Array | null): number => {
    if (piece === null) return -1;
    pieces.push(piece);
    used += piece.length;
    return used - piece.length;
  };
  for (const { offset, timestampMs, key, value, headers } of records) {
    const index = columns.length++;
    columns.offsets[index] = offset;
    columns.timestampsMs[index] = timestampMs;
    columns.keyStarts[index] = keep(key);
    columns.keyEnds[index] = used;
    columns.valueStarts[index] = keep(value);
    columns.valueEnds[index] = used;
    columns.headerStarts[index] = keep(writeHeaders(headers));
    columns.headerEnds[index] = used;
    columns.keyBytes += key?.length ?? 0;
    columns.valueBytes += value?.length ?? 0;
    columns.headerBytes += used - columns.headerStarts[index]!;
  }
  columns.bytes = Buffer.concat(pieces);
  return recordsIn(columns);
}
