/** Values that a producer compressed itself, with gzip (RFC 1952). */

import { gunzipSync } from "node:zlib";
import type { Undecodable } from "./decoder.ts";

/** Most bytes that a compressed value may hold, unless the caller says otherwise: far more than a broker takes uncompressed. */
export const MOST_UNPACKED_BYTES = 64 * 2 ** 20;

/** Whether any of the values that lie in `bytes` may begin as gzip does: one look at all, since hardly any have that byte. */
export function mayHoldGzip(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(0x1f);
}

/** True where `value` begins as gzip does, which no JSON and no CSV in UTF-8 can. */
export function isGzip(value: Uint8Array): boolean {
  return value[0] === 0x1f && value[1] === 0x8b;
}

/**
 * What a gzip value holds; several members one after the other are one text, as RFC 1952 says. Bad where that is more than `maxBytes`,
 * which is found out without unpacking more, and where a member is cut off or damaged or anything follows the last.
 */
export function gunzip(value: Uint8Array, maxBytes = MOST_UNPACKED_BYTES): Uint8Array | Undecodable {
  try {
    const { buffer, engine } = gunzipSync(value, { maxOutputLength: maxBytes, info: true }) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    // Node takes zeros after a member for padding, and ends there without a word.
    if (engine.bytesWritten === value.length) return buffer;
    return damaged(`something follows its end after ${engine.bytesWritten} bytes`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ERR_BUFFER_TOO_LARGE") return damaged(message);
    return {
      stage: "decode",
      code: "TOO_LARGE",
      message: `the gzip value holds more than ${maxBytes} bytes`,
    };
  }
}

function damaged(why: string): Undecodable {
  return { stage: "decode", code: "MALFORMED_GZIP", message: `the gzip value cannot be unpacked: ${why}` };
}
