/** Strings of JSON as UTF-8, without their escapes. */

import { BACKSLASH, hex4, type JsonCursor, LETTER_U } from "./json-cursor.ts";
import type { LeafBuilder } from "./leaf-builder.ts";

/** What stands for the letter behind a backslash; for itself otherwise. */
const ESCAPED = Uint8Array.from({ length: 256 }, (_, byte) => {
  const at = "bfnrt".indexOf(String.fromCharCode(byte));
  return at < 0 ? byte : "\b\f\n\r\t".charCodeAt(at);
});

/** Of what is left of a message: a leaf may take as much room for one string. */
const SHORT = 4096;

/** Adds the string at the cursor and steps over it; false where there is none, or half of a surrogate pair in it. */
export function addText(cursor: JsonCursor, leaf: LeafBuilder, repetition: number): boolean {
  const start = cursor.at + 1;
  const room = cursor.end - start;
  if (room <= SHORT) {
    const end = cursor.copyText(start, leaf.extraWords(room), leaf.extraUsed);
    if (end >= 0) {
      leaf.addExtra(repetition, leaf.extraUsed + end - start);
      cursor.at = end + 1;
      return true;
    }
  }
  const { escapes } = cursor;
  if (!cursor.text()) return false;
  const end = cursor.at - 1;
  if (cursor.escapes === escapes) leaf.addBytes(repetition, start, end - start);
  else leaf.addExtra(repetition, writeUnescaped(cursor.bytes, start, end, leaf));
  return true;
}

/** Writes what stands from `start` to `end`, which `JsonCursor.text` found right, behind what the leaf has, and says where it ends there. */
function writeUnescaped(bytes: Uint8Array, start: number, end: number, leaf: LeafBuilder): number {
  // No escape is shorter than what it stands for.
  const to = leaf.extraRoom(end - start);
  let out = leaf.extraUsed;
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte !== BACKSLASH) {
      to[out++] = byte;
      continue;
    }
    const letter = bytes[++i]!;
    if (letter !== LETTER_U) {
      to[out++] = ESCAPED[letter]!;
      continue;
    }
    let point = hex4(bytes, i + 1);
    i += 4;
    if (point >= 0xd800 && point <= 0xdfff) {
      point = 0x10000 + ((point - 0xd800) << 10) + hex4(bytes, i + 3) - 0xdc00;
      i += 6;
    }
    out = writeUtf8(to, out, point);
  }
  return out;
}

function writeUtf8(to: Uint8Array, at: number, point: number): number {
  let out = at;
  if (point < 0x80) {
    to[out++] = point;
    return out;
  }
  if (point < 0x800) {
    to[out++] = 0xc0 | (point >> 6);
  } else {
    if (point < 0x10000) {
      to[out++] = 0xe0 | (point >> 12);
    } else {
      to[out++] = 0xf0 | (point >> 18);
      to[out++] = 0x80 | ((point >> 12) & 63);
    }
    to[out++] = 0x80 | ((point >> 6) & 63);
  }
  to[out++] = 0x80 | (point & 63);
  return out;
}
