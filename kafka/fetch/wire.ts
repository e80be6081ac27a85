/**
 * The primitives of Kafka's protocol. A flexible version of a request writes lengths as unsigned varints of one more than they are, zero
 * being null, and ends each structure with tagged fields, of which we know none.
 */

import { LabError } from "../../core/errors.ts";

export type WireWriter = {
  int8(value: number): void;
  int16(value: number): void;
  int32(value: number): void;
  int64(value: bigint): void;
  string(value: string | null): void;
  /** 32 hex digits. */
  uuid(value: string): void;
  list<T>(items: readonly T[], write: (item: T) => void): void;
  /** Ends a structure. */
  end(): void;
  bytes(): Buffer;
};

export type WireReader = {
  int8(): number;
  int16(): number;
  int32(): number;
  int64(): bigint;
  string(): string | null;
  /** 32 hex digits. */
  uuid(): string;
  /** A null list is empty. */
  list<T>(read: () => T): T[];
  /** A view; null is empty. */
  piece(): Buffer;
  /** Passes over what ends a structure. */
  end(): void;
};

export function createWriter(isFlexible: boolean): WireWriter {
  let bytes = Buffer.alloc(256);
  let used = 0;
  /** Makes room, and says where it begins. To be called before `bytes` is looked at: they may be others then. */
  function take(size: number): number {
    const at = used;
    used += size;
    if (used > bytes.length) bytes = Buffer.concat([bytes], Math.max(used, 2 * bytes.length));
    return at;
  }
  const unsigned = (value: number) => {
    let rest = value;
    for (; rest > 0x7f; rest >>>= 7) writer.int8((rest & 0x7f) - 0x80);
    writer.int8(rest);
  };
  const writer: WireWriter = {
    int8(value) {
      const at = take(1);
      bytes.writeInt8(value, at);
    },
    int16(value) {
      const at = take(2);
      bytes.writeInt16BE(value, at);
    },
    int32(value) {
      const at = take(4);
      bytes.writeInt32BE(value, at);
    },
    int64(value) {
      const at = take(8);
      bytes.writeBigInt64BE(value, at);
    },
    string(value) {
      const size = value === null ? -1 : Buffer.byteLength(value);
      if (isFlexible) unsigned(size + 1);
      else writer.int16(size);
      if (value === null) return;
      const at = take(size);
      bytes.write(value, at);
    },
    uuid(value) {
      const at = take(16);
      bytes.write(value, at, "hex");
    },
    list(items, write) {
      if (isFlexible) unsigned(items.length + 1);
      else writer.int32(items.length);
      for (const item of items) write(item);
    },
    end() {
      if (isFlexible) unsigned(0);
    },
    bytes: () => bytes.subarray(0, used),
  };
  return writer;
}

export function createReader(bytes: Buffer, isFlexible: boolean): WireReader {
  let at = 0;
  function pass(size: number): number {
    const start = at;
    if (size < 0 || size > bytes.length - start)
      throw new LabError(
        "KAFKA_PROTOCOL",
        `the broker's answer of ${bytes.length} bytes has no ${size} bytes at ${start}`,
      );
    at += size;
    return start;
  }
  const unsigned = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[pass(1)]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80 || shift > 28) return value;
    }
  };
  /** Of a list or of bytes; a string that is not flexible has a shorter one. */
  const size = () => (isFlexible ? unsigned() - 1 : reader.int32());
  const reader: WireReader = {
    int8: () => bytes.readInt8(pass(1)),
    int16: () => bytes.readInt16BE(pass(2)),
    int32: () => bytes.readInt32BE(pass(4)),
    int64: () => bytes.readBigInt64BE(pass(8)),
    string() {
      const length = isFlexible ? unsigned() - 1 : reader.int16();
      if (length < 0) return null;
      const start = pass(length);
      return bytes.toString("utf8", start, at);
    },
    uuid() {
      const start = pass(16);
      return bytes.toString("hex", start, at);
    },
    list(read) {
      const count = size();
      const items = [];
      for (let n = 0; n < count; n++) items.push(read());
      return items;
    },
    piece() {
      const start = pass(Math.max(size(), 0));
      return bytes.subarray(start, at);
    },
    end() {
      if (!isFlexible) return;
      for (let fields = unsigned(); fields > 0; fields--) {
        unsigned();
        pass(unsigned());
      }
    },
  };
  return reader;
}
