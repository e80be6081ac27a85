/**
 * The bytes of one message, read by Avro's binary encoding ("Binary Encoding" of the specification). Every length is checked against what is
 * there, so that nothing is read or made room for that the message does not hold; each function throws an AvroFault.
 */

import { malformed } from "./avro-fault.ts";

export type AvroInput = {
  /** Begins another message, at `from` in `bytes`. */
  reset(bytes: Uint8Array, from: number): void;
  position(): number;
  /** Bytes not yet read. */
  left(): number;
  /** The message, for what was read by `skip`. */
  bytes(): Buffer;
  /** Steps over `length` bytes; where they begin. */
  skip(length: number): number;
  boolean(): boolean;
  int(): number;
  /** A number where it is exact. */
  long(): number | bigint;
  float(): number;
  double(): number;
  /** The length of bytes or a string, which are there. */
  length(): number;
  /** Items of the next block of an array or map; 0 at its end. */
  blockCount(): number;
  /** Counts an item that took no byte at all: there may be any number of them in a message of few bytes. */
  countEmpty(): void;
  /** Around what may hold itself; `leave` may be left out after a fault. */
  enter(): void;
  leave(): void;
};

/** Each level costs several frames of the stack. */
const MOST_LEVELS = 500;
/** Items without bytes that a message may have, and more for each of its bytes. */
const FREE_ITEMS = 10_000;
const FREE_ITEMS_A_BYTE = 16;
const LOW_BITS = 2 ** 28;

export function createAvroInput(): AvroInput {
  let bytes: Buffer = Buffer.alloc(0);
  let at = 0;
  let level = 0;
  let empty = 0;
  let mostEmpty = 0;

  function next(): number {
    if (at >= bytes.length) throw truncated();
    return bytes[at++]!;
  }

  /** Seven bits a byte, up to four bytes, as long as the last one said that more follow. */
  function bits(): number {
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = next();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        hasMore = false;
        return value;
      }
    }
    hasMore = true;
    return value;
  }
  let hasMore = false;

  function skip(length: number): number {
    if (length > bytes.length - at) throw truncated();
    const start = at;
    at += length;
    return start;
  }

  function long(): number | bigint {
    const low = bits();
    if (!hasMore) return low & 1 ? -(low + 1) / 2 : low / 2;
    const middle = bits();
    if (!hasMore && middle < 2 ** 25) {
      const raw = middle * LOW_BITS + low;
      return raw % 2 === 1 ? -(raw + 1) / 2 : raw / 2;
    }
    let high = 0;
    if (hasMore) {
      high = next();
      if (high >= 0x80) {
        const last = next();
        if (last > 1) throw malformed("a number is longer than 64 bits");
        high = (high & 0x7f) | (last << 7);
      }
    }
    const raw = (BigInt(high) << 56n) | (BigInt(middle) << 28n) | BigInt(low);
    return raw & 1n ? -(raw >> 1n) - 1n : raw >> 1n;
  }

  function truncated() {
    return malformed("the message ends before its value does");
  }

  return {
    reset(value, from) {
      bytes = Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.length);
      at = from;
      level = 0;
      empty = 0;
      mostEmpty = FREE_ITEMS + FREE_ITEMS_A_BYTE * value.length;
    },
    position: () => at,
    left: () => bytes.length - at,
    bytes: () => bytes,
    skip,
    boolean() {
      const byte = next();
      if (byte > 1) throw malformed(`a boolean is ${byte}, not 0 or 1`);
      return byte === 1;
    },
    int() {
      let raw = bits();
      if (hasMore) {
        const byte = next();
        if (byte > 0x0f) throw malformed("an int is longer than 32 bits");
        raw += byte * LOW_BITS;
      }
      return raw % 2 === 1 ? -(raw + 1) / 2 : raw / 2;
    },
    long,
    float: () => bytes.readFloatLE(skip(4)),
    double: () => bytes.readDoubleLE(skip(8)),
    length() {
      const length = long();
      if (length < 0) throw malformed(`a length is ${length}`);
      if (typeof length === "bigint" || length > bytes.length - at)
        throw malformed(`a length is ${length} where ${bytes.length - at} bytes are left`);
      return length;
    },
    blockCount() {
      let count = long();
      if (count < 0) {
        count = -count;
        // The block's size in bytes, for readers that step over it.
        long();
      }
      if (typeof count === "bigint" || count > bytes.length - at + mostEmpty)
        throw malformed(`a block has ${count} items where ${bytes.length - at} bytes are left`);
      return count;
    },
    countEmpty() {
      if (++empty > mostEmpty)
        throw malformed(`the message has more than ${mostEmpty} items without any bytes`);
    },
    enter() {
      if (++level > MOST_LEVELS) throw malformed(`the value is nested deeper than ${MOST_LEVELS} levels`);
    },
    leave() {
      level--;
    },
  };
}
