/** JSON in UTF-8, written into one buffer that message after message reuses. */

import { isUtf8 } from "node:buffer";
import { AvroFault } from "./avro-fault.ts";

export type JsonOutput = {
  reset(): void;
  position(): number;
  /** Writes a byte, such as a bracket. */
  byte(byte: number): void;
  /** Writes bytes as they are. */
  raw(bytes: Uint8Array): void;
  /** Writes text of ASCII as it is. */
  ascii(text: string): void;
  /** Writes UTF-8 as a JSON string; an AvroFault INVALID_UTF8 where it is none. */
  utf8(bytes: Buffer, from: number, to: number): void;
  /** Makes what was written since `position` a JSON string that holds it. */
  quoteSince(position: number): void;
  /** A copy of all that was written. */
  take(): Uint8Array;
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Up to here a loop is faster than a call. */
const SHORT = 32;
const KEPT_BYTES = 1024 * 1024;
/** Of one message: a few bytes may stand for long names of fields, again and again. */
const MOST_BYTES = 128 * 1024 * 1024;

export function createJsonOutput(): JsonOutput {
  let buffer = Buffer.allocUnsafeSlow(64 * 1024);
  let at = 0;

  function makeRoom(more: number): void {
    const needed = at + more;
    if (needed <= buffer.length) return;
    if (needed > MOST_BYTES)
      throw new AvroFault("TOO_LARGE", `the message is more than ${MOST_BYTES} bytes as JSON`);
    const larger = Buffer.allocUnsafeSlow(Math.min(MOST_BYTES, Math.max(needed, buffer.length * 2)));
    buffer.copy(larger, 0, 0, at);
    buffer = larger;
  }

  /** Anything JavaScript calls a string. */
  function string(text: string): void {
    const json = JSON.stringify(text);
    makeRoom(json.length * 3);
    at += buffer.write(json, at, "utf8");
  }

  function requireUtf8(bytes: Uint8Array): void {
    if (!isUtf8(bytes)) throw new AvroFault("INVALID_UTF8", "a string is not UTF-8 text");
  }

  return {
    reset() {
      if (buffer.length > KEPT_BYTES) buffer = Buffer.allocUnsafeSlow(64 * 1024);
      at = 0;
    },
    position: () => at,
    byte(byte) {
      makeRoom(1);
      buffer[at++] = byte;
    },
    raw(bytes) {
      const { length } = bytes;
      makeRoom(length);
      if (length > SHORT) buffer.set(bytes, at);
      else {
        const [target, start] = [buffer, at];
        for (let i = 0; i < length; i++) target[start + i] = bytes[i]!;
      }
      at += length;
    },
    ascii(text) {
      const { length } = text;
      makeRoom(length);
      if (length > SHORT) buffer.write(text, at, "latin1");
      else {
        const [target, start] = [buffer, at];
        for (let i = 0; i < length; i++) target[start + i] = text.charCodeAt(i);
      }
      at += length;
    },
    utf8(bytes, from, to) {
      makeRoom(to - from + 2);
      const target = buffer;
      const shift = at + 1 - from;
      let union = 0;
      for (let i = from; i < to; i++) {
        const byte = bytes[i]!;
        if (byte < 0x20 || byte === QUOTE || byte === BACKSLASH) {
          const text = bytes.subarray(from, to);
          requireUtf8(text);
          string(text.toString("utf8"));
          return;
        }
        union |= byte;
        target[shift + i] = byte;
      }
      if (union >= 0x80) requireUtf8(bytes.subarray(from, to));
      target[at] = QUOTE;
      at = shift + to;
      target[at++] = QUOTE;
    },
    quoteSince(position) {
      const text = buffer.toString("utf8", position, at);
      at = position;
      string(text);
    },
    take() {
      const copy = Buffer.allocUnsafe(at);
      buffer.copy(copy, 0, 0, at);
      return copy;
    },
  };
}
