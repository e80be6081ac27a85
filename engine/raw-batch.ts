/** Messages as they came, in one growing buffer: no object per message on the way from fetch to file. */

import { isUtf8 } from "node:buffer";
import { LabError } from "../core/errors.ts";
import { eachHeader } from "../core/record-headers.ts";
import { type GrowingBytes, growingBytes, grown } from "./growing-bytes.ts";

/**
 * Append-only columns of raw messages. `value(i)` and friends are views into shared memory: copy to keep.
 * `bytes` counts value bytes only, the unit of `flush.bytes`.
 */
export type RawBatch = {
  readonly length: number;
  readonly bytes: number;
  /** The memory for values, bytes: so many fit before more is taken. */
  readonly capacityBytes: number;
  append(record: RawMessage): void;
  /** Messages in columns, all of one place. Their bytes are copied. */
  appendAll(place: MessagePlace, messages: MessageColumns): void;
  topic(index: number): string;
  partition(index: number): number;
  offset(index: number): bigint;
  timestampMs(index: number): number;
  timestampType(index: number): "create" | "append";
  generation(index: number): number;
  key(index: number): Uint8Array | null;
  value(index: number): Uint8Array | null;
  headers(index: number): readonly (readonly [name: string, value: Uint8Array | null])[];
  /** The value as it came, before a format was taken apart; `value(index)` where none was given. */
  original(index: number): Uint8Array | null;
  /** The message as `append` takes it. */
  message(index: number): RawMessage;
  /**
   * All values in one piece, a newline after each and perhaps blanks behind it, so that a run of JSON messages is NDJSON as it stands. Never
   * write to it. Valid until the next `append`.
   */
  readonly values: Uint8Array;
  /** Where `value(index)` begins in `values`; it ends before the newline at `valueEnd(index)`. A null value is empty there. */
  valueStart(index: number): number;
  valueEnd(index: number): number;
  /** Some message has an original that is not its value. */
  readonly hasOriginals: boolean;
  /** All messages as arrays of `length`, under the same terms as `values`. */
  readonly columns: BatchColumns;
  /** All keys in one piece, under the same terms. */
  readonly keys: Uint8Array;
  /**
   * All headers in one piece, under the same terms. Of each its name's length, its value's or -1 for null (int32, little-endian), its name in
   * UTF-8 (U+FFFD for what came as none), its value.
   */
  readonly headerBytes: Uint8Array;
  headerStart(index: number): number;
  headerEnd(index: number): number;
  /** Forgets all messages, and keeps the memory for others: what was read of the batch before is read no more. */
  clear(): void;
};

export type BatchColumns = {
  offsets: BigInt64Array;
  timestampsMs: Float64Array;
  partitions: Int32Array;
  generations: Int32Array;
  /** Where each value ends among `values`. */
  valueEnds: Uint32Array;
  /** Where each key ends among `keys`; it begins where the one before it ends. */
  keyEnds: Uint32Array;
  /** The place of each one's topic among `topicNames`. */
  topics: Uint32Array;
  topicNames: readonly string[];
  /** Bits of each message: `NULL_KEY` where it has no key, `APPEND_TIME` where the broker gave its time. */
  flags: Uint8Array;
};

export type RawMessage = {
  topic: string;
  partition: number;
  offset: bigint;
  timestampMs: number;
  timestampType: "create" | "append";
  generation: number;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: readonly (readonly [name: string, value: Uint8Array | null])[];
  /** The value as it came, where `value` is what was made of it; kept only when given. */
  original?: Uint8Array | null;
};

/** What the messages of one partition have in common. */
export type MessagePlace = Pick<RawMessage, "topic" | "partition" | "timestampType" | "generation">;

/**
 * Messages as they lie in what was fetched: starts (inclusive) and ends (exclusive) are places in `bytes`, a start of -1 is null. Headers
 * are as `core/record-headers.ts` has them. Arrays may be longer than `length`.
 */
export type MessageColumns = {
  readonly length: number;
  readonly bytes: Uint8Array;
  readonly offsets: BigInt64Array;
  readonly timestampsMs: Float64Array;
  readonly keyStarts: Int32Array;
  readonly keyEnds: Int32Array;
  readonly valueStarts: Int32Array;
  readonly valueEnds: Int32Array;
  readonly headerStarts: Int32Array;
  readonly headerEnds: Int32Array;
  readonly valueBytes: number;
};

const LINE_END = 10;
const BLANK = 32;
const NEWLINE = new Uint8Array([LINE_END]);
/** Of the bytes of values: what may stand between them where they are copied in one piece, framing, keys and headers. */
const DENSE = 1 / 8;
const NULL_VALUE = 1;
export const NULL_KEY = 2;
export const APPEND_TIME = 4;
const ORIGINAL = 8;
const NULL_ORIGINAL = 16;
const KEPT_NAMES = 64;
const NO_HEADERS: readonly (readonly [string, Uint8Array | null])[] = [];

/** An empty batch. `capacityBytes` is the room for values that is taken at once; it grows by itself beyond. */
export function createRawBatch(options: { capacityBytes?: number } = {}): RawBatch {
  const values = growingBytes(options.capacityBytes ?? 1 << 20);
  const keys = growingBytes(1 << 12);
  const headers = growingBytes(1 << 12);
  const topicNames: string[] = [];
  /** In UTF-8; nearly always the same few. */
  const headerNames = new Map<string, Uint8Array>();
  const originals = growingBytes(0);
  let bytes = 0;
  let length = 0;
  let room = 1024;
  let starts = new Uint32Array(room);
  let ends = new Uint32Array(room);
  // A key or a header list begins where the one before it ends.
  let keyEnds = new Uint32Array(room);
  let headerEnds = new Uint32Array(room);
  let offsets = new BigInt64Array(room);
  let timestamps = new Float64Array(room);
  let partitions = new Int32Array(room);
  let generations = new Int32Array(room);
  let topics = new Uint32Array(room);
  let flags = new Uint8Array(room);
  /** Made with the first message that has an original. */
  let originalEnds: Uint32Array<ArrayBuffer> | undefined;

  function addRoom(count: number): void {
    if (length + count <= room) return;
    room = Math.max(2 * room, length + count);
    starts = grown(starts, new Uint32Array(room));
    ends = grown(ends, new Uint32Array(room));
    keyEnds = grown(keyEnds, new Uint32Array(room));
    headerEnds = grown(headerEnds, new Uint32Array(room));
    offsets = grown(offsets, new BigInt64Array(room));
    timestamps = grown(timestamps, new Float64Array(room));
    partitions = grown(partitions, new Int32Array(room));
    generations = grown(generations, new Int32Array(room));
    topics = grown(topics, new Uint32Array(room));
    flags = grown(flags, new Uint8Array(room));
    if (originalEnds) originalEnds = grown(originalEnds, new Uint32Array(room));
  }

  function topicIndex(name: string): number {
    const last = topicNames.length - 1;
    if (topicNames[last] === name) return last;
    const found = topicNames.indexOf(name);
    return found >= 0 ? found : topicNames.push(name) - 1;
  }

  function headerName(name: string): Uint8Array {
    let known = headerNames.get(name);
    if (known === undefined) {
      if (headerNames.size >= KEPT_NAMES) headerNames.clear();
      known = Buffer.from(name);
      headerNames.set(name, known);
    }
    return known;
  }

  function at<T>(column: ArrayLike<T>, index: number): T {
    if (index >= 0 && index < length) return column[index]!;
    throw new LabError("INTERNAL", `batch of ${length} has no message ${index}`);
  }

  /** Keeps it, if there is one, and says so in flags. */
  function keepOriginal(original: Uint8Array | null | undefined): number {
    if (original === undefined && originalEnds === undefined) return 0;
    originalEnds ??= new Uint32Array(room);
    if (original) originals.append(original);
    originalEnds[length] = originals.used;
    if (original === undefined) return 0;
    return original === null ? ORIGINAL | NULL_ORIGINAL : ORIGINAL;
  }

  function appendHeaders(from: Uint8Array, start: number, end: number): void {
    eachHeader(from, start, end, (nameStart, nameEnd, valueStart, valueEnd) => {
      const name = isText(from, nameStart, nameEnd) ? null : asText(from.subarray(nameStart, nameEnd));
      headers.appendInt32(name === null ? nameEnd - nameStart : name.length);
      headers.appendInt32(valueStart < 0 ? -1 : valueEnd - valueStart);
      if (name === null) headers.appendPart(from, nameStart, nameEnd);
      else headers.append(name);
      if (valueStart >= 0) headers.appendPart(from, valueStart, valueEnd);
    });
  }

  /** All at once, and what lies between them is blanked. */
  function appendSpan({ length: count, bytes: from, valueStarts, valueEnds }: MessageColumns): void {
    const first = valueStarts[0]!;
    const size = valueEnds[count - 1]! - first;
    const shift = values.used - first;
    values.makeRoom(size + 1);
    values.appendPart(from, first, first + size);
    values.append(NEWLINE);
    const bytes = values.view(0, values.used);
    for (let index = 0; index < count; index++) {
      const start = valueStarts[index]! + shift;
      if (index > 0) {
        let at = ends[length + index - 1]!;
        bytes[at] = LINE_END;
        while (++at < start) bytes[at] = BLANK;
      }
      starts[length + index] = start;
      ends[length + index] = valueEnds[index]! + shift;
    }
  }

  function appendValues(messages: MessageColumns): void {
    const { length: count, bytes: from, valueStarts, valueEnds } = messages;
    values.makeRoom(messages.valueBytes + count);
    for (let index = 0; index < count; index++) {
      const start = valueStarts[index]!;
      starts[length + index] = values.used;
      if (start >= 0) values.appendPart(from, start, valueEnds[index]!);
      ends[length + index] = values.used;
      values.appendPart(NEWLINE, 0, 1);
    }
  }

  const batch: RawBatch = {
    get length() {
      return length;
    },
    get bytes() {
      return bytes;
    },
    get capacityBytes() {
      return values.capacity;
    },
    get values() {
      return values.view(0, values.used);
    },
    valueStart: (index) => starts[index]!,
    valueEnd: (index) => ends[index]!,
    get hasOriginals() {
      return originalEnds !== undefined;
    },
    get columns() {
      return {
        offsets: offsets.subarray(0, length),
        timestampsMs: timestamps.subarray(0, length),
        partitions: partitions.subarray(0, length),
        generations: generations.subarray(0, length),
        valueEnds: ends.subarray(0, length),
        keyEnds: keyEnds.subarray(0, length),
        topics: topics.subarray(0, length),
        topicNames,
        flags: flags.subarray(0, length),
      };
    },
    get keys() {
      return keys.view(0, keys.used);
    },
    get headerBytes() {
      return headers.view(0, headers.used);
    },
    headerStart: (index) => (index === 0 ? 0 : headerEnds[index - 1]!),
    headerEnd: (index) => headerEnds[index]!,
    append(record) {
      addRoom(1);
      const { key, value } = record;
      starts[length] = values.used;
      if (value !== null) values.append(value);
      ends[length] = values.used;
      values.append(NEWLINE);
      bytes += value?.length ?? 0;
      if (key !== null) keys.append(key);
      keyEnds[length] = keys.used;
      for (const [name, content] of record.headers) appendHeader(headers, headerName(name), content);
      headerEnds[length] = headers.used;
      offsets[length] = record.offset;
      timestamps[length] = record.timestampMs;
      partitions[length] = record.partition;
      generations[length] = record.generation;
      topics[length] = topicIndex(record.topic);
      flags[length] =
        (value === null ? NULL_VALUE : 0) |
        (key === null ? NULL_KEY : 0) |
        (record.timestampType === "append" ? APPEND_TIME : 0) |
        keepOriginal(record.original);
      length++;
    },
    appendAll(place, messages) {
      const { length: count, bytes: from, keyStarts, keyEnds: keyStops, valueStarts } = messages;
      const { headerStarts, headerEnds: headerStops } = messages;
      addRoom(count);
      if (isDense(messages)) appendSpan(messages);
      else appendValues(messages);
      offsets.set(messages.offsets.subarray(0, count), length);
      timestamps.set(messages.timestampsMs.subarray(0, count), length);
      partitions.fill(place.partition, length, length + count);
      generations.fill(place.generation, length, length + count);
      topics.fill(topicIndex(place.topic), length, length + count);
      let keysEnd = keys.used;
      let headersEnd = headers.used;
      const common = place.timestampType === "append" ? APPEND_TIME : 0;
      for (let index = 0; index < count; index++) {
        let flag = common;
        if (valueStarts[index]! < 0) flag |= NULL_VALUE;
        const keyStart = keyStarts[index]!;
        if (keyStart < 0) flag |= NULL_KEY;
        else {
          keys.appendPart(from, keyStart, keyStops[index]!);
          keysEnd = keys.used;
        }
        keyEnds[length + index] = keysEnd;
        const headerStart = headerStarts[index]!;
        if (headerStart !== headerStops[index]) {
          appendHeaders(from, headerStart, headerStops[index]!);
          headersEnd = headers.used;
        }
        headerEnds[length + index] = headersEnd;
        flags[length + index] = flag;
      }
      originalEnds?.fill(originals.used, length, length + count);
      length += count;
      bytes += messages.valueBytes;
    },
    clear() {
      for (const piece of [values, keys, headers, originals]) piece.clear();
      topicNames.length = 0;
      originalEnds = undefined;
      bytes = 0;
      length = 0;
    },
    topic: (index) => topicNames[at(topics, index)]!,
    partition: (index) => at(partitions, index),
    offset: (index) => at(offsets, index),
    timestampMs: (index) => at(timestamps, index),
    timestampType: (index) => ((at(flags, index) & APPEND_TIME) !== 0 ? "append" : "create"),
    generation: (index) => at(generations, index),
    key(index) {
      if ((at(flags, index) & NULL_KEY) !== 0) return null;
      return keys.view(index === 0 ? 0 : keyEnds[index - 1]!, keyEnds[index]!);
    },
    value(index) {
      if ((at(flags, index) & NULL_VALUE) !== 0) return null;
      return values.view(starts[index]!, ends[index]!);
    },
    headers(index) {
      const end = at(headerEnds, index);
      const start = index === 0 ? 0 : headerEnds[index - 1]!;
      return start === end ? NO_HEADERS : readHeaders(headers.view(start, end));
    },
    original(index) {
      const flag = at(flags, index);
      if ((flag & ORIGINAL) === 0) return batch.value(index);
      if ((flag & NULL_ORIGINAL) !== 0) return null;
      return originals.view(index === 0 ? 0 : originalEnds![index - 1]!, originalEnds![index]!);
    },
    message: (index) => ({
      topic: batch.topic(index),
      partition: batch.partition(index),
      offset: batch.offset(index),
      timestampMs: batch.timestampMs(index),
      timestampType: batch.timestampType(index),
      generation: batch.generation(index),
      key: batch.key(index),
      value: batch.value(index),
      headers: batch.headers(index),
      ...((at(flags, index) & ORIGINAL) === 0 ? {} : { original: batch.original(index) }),
    }),
  };
  return batch;
}

/** Whether the values lie in their order, none null, with room for a newline between any two, and little else. */
function isDense({ length, valueStarts, valueEnds, valueBytes }: MessageColumns): boolean {
  if (length === 0 || valueStarts[0]! < 0) return false;
  if (valueEnds[length - 1]! - valueStarts[0]! > valueBytes * (1 + DENSE)) return false;
  for (let index = 1; index < length; index++) if (valueStarts[index]! <= valueEnds[index - 1]!) return false;
  return true;
}

/** Whether the bytes are UTF-8. Kafka lets a header's name be any bytes; one that is no text makes a whole file unreadable. */
function isText(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i]! > 0x7f) return isUtf8(bytes.subarray(start, end));
  return true;
}

/** As a decoder reads it: U+FFFD stands for what is no UTF-8. */
function asText(bytes: Uint8Array): Uint8Array {
  return Buffer.from(Buffer.from(bytes).toString("utf8"));
}

/** In the form of `RawBatch.headerBytes`. */
function appendHeader(into: GrowingBytes, name: Uint8Array, value: Uint8Array | null): void {
  into.appendInt32(name.length);
  into.appendInt32(value === null ? -1 : value.length);
  into.append(name);
  if (value !== null) into.append(value);
}

function readHeaders(from: Uint8Array): (readonly [string, Uint8Array | null])[] {
  const bytes = Buffer.from(from.buffer, from.byteOffset, from.length);
  const headers: (readonly [string, Uint8Array | null])[] = [];
  for (let at = 0; at < from.length; ) {
    const nameEnd = at + 8 + bytes.readInt32LE(at);
    const valueLength = bytes.readInt32LE(at + 4);
    const name = bytes.toString("utf8", at + 8, nameEnd);
    at = nameEnd + Math.max(valueLength, 0);
    headers.push([name, valueLength < 0 ? null : from.subarray(nameEnd, at)]);
  }
  return headers;
}
