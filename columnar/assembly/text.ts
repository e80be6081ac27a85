/**
 * Strings of JSON. A place is an address; functions answer with the one behind what they stepped over, 0 where what they look for does not stand
 * there. A zero stands behind each message: no string goes beyond it.
 */

import { Leaf } from "./leaf";
export const QUOTE: u8 = 34;
const BACKSLASH: u8 = 92;
const LETTER_U: u8 = 117;
const SPACE: u8 = 32;
/** Of what is left of a message: a leaf may take as much room for one string. */
const SHORT = 4096;

let escapes = 0;

/** Escapes met so far, in all strings. */
export function escapeCount(): i32 {
  return escapes;
}

/** Adds the string whose opening quote stands at `at`, without its escapes, as UTF-8. `end` is the message's. */
export function addText(at: usize, end: usize, leaf: Leaf, repetition: i32): usize {
  const from = at + 1;
  const room = <i32>(end - from);
  if (room <= SHORT) {
    leaf.reserveText(room);
    const to = leaf.text + leaf.textUsed;
    // Copied while it is looked through.
    let copied: usize = 0;
    let stops = 0;
    while (stops === 0) {
      const bytes = v128.load(from + copied);
      v128.store(to + copied, bytes);
      stops = stopsIn(bytes);
      copied += 16;
    }
    const length = copied - 16 + ctz(stops);
    if (load<u8>(from + length) === QUOTE) {
      leaf.addText(repetition, <i32>length);
      return from + length + 1;
    }
  }
  const before = escapes;
  const behind = passText(at);
  if (behind === 0) return 0;
  const length = <i32>(behind - 1 - from);
  if (escapes === before) leaf.addBytes(repetition, from, length);
  else addUnescaped(from, behind - 1, leaf, repetition);
  return behind;
}

/** Steps over a string, from its opening to behind its closing quote. */
export function passText(at: usize): usize {
  let i = nextStop(at + 1);
  while (load<u8>(i) === BACKSLASH) {
    i = passEscape(i);
    if (i === 0) return 0;
    i = nextStop(i + 1);
  }
  return load<u8>(i) === QUOTE ? i + 1 : 0;
}

/** The first place from `at` on that `stopsIn` tells. */
function nextStop(at: usize): usize {
  let stops = stopsIn(v128.load(at));
  while (stops === 0) {
    at += 16;
    stops = stopsIn(v128.load(at));
  }
  return at + ctz(stops);
}

/** A bit for each byte at which a string ends, escapes, or is none: the quote, the backslash, control characters. */
function stopsIn(bytes: v128): i32 {
  const isEnd = v128.or(i8x16.eq(bytes, i8x16.splat(<i8>QUOTE)), i8x16.eq(bytes, i8x16.splat(<i8>BACKSLASH)));
  return i8x16.bitmask(v128.or(isEnd, i8x16.lt_u(bytes, i8x16.splat(<i8>SPACE))));
}

/** From a backslash to the last byte of its escape; of a pair of surrogates to the last of both. */
function passEscape(at: usize): usize {
  escapes++;
  const kind = load<u8>(at + 1);
  if (kind !== LETTER_U) return letterOf(kind) === 0 ? 0 : at + 1;
  const unit = hex4(at + 2);
  if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff)) return 0;
  if (unit < 0xd800 || unit > 0xdfff) return at + 5;
  if (load<u8>(at + 6) !== BACKSLASH || load<u8>(at + 7) !== LETTER_U) return 0;
  const low = hex4(at + 8);
  return low >= 0xdc00 && low <= 0xdfff ? at + 11 : 0;
}

/** What a backslash and a letter stand for; 0 where nothing. */
function letterOf(letter: u8): u8 {
  switch (letter) {
    case 34: // "
    case 92: // \
    case 47: // /
      return letter;
    case 98: // b
      return 8;
    case 102: // f
      return 12;
    case 110: // n
      return 10;
    case 114: // r
      return 13;
    case 116: // t
      return 9;
    default:
      return 0;
  }
}

/** Four hexadecimal digits as a number; negative where there are others. */
function hex4(at: usize): i32 {
  let unit = 0;
  for (let i: usize = 0; i < 4; i++) {
    const byte: i32 = load<u8>(at + i);
    const lower = byte | 32;
    if (byte >= 48 && byte <= 57) unit = unit * 16 + byte - 48;
    else if (lower >= 97 && lower <= 102) unit = unit * 16 + lower - 87;
    else return -1;
  }
  return unit;
}

/** Adds what stands from `from` to `end`, which `passText` found right. */
function addUnescaped(from: usize, end: usize, leaf: Leaf, repetition: i32): void {
  // No escape is shorter than what it stands for.
  leaf.reserveText(<i32>(end - from));
  const to = leaf.text + leaf.textUsed;
  let out = to;
  for (let i = from; i < end; i++) {
    const byte = load<u8>(i);
    if (byte !== BACKSLASH) {
      store<u8>(out++, byte);
      continue;
    }
    const letter = load<u8>(++i);
    if (letter !== LETTER_U) {
      store<u8>(out++, letterOf(letter));
      continue;
    }
    let point = hex4(i + 1);
    i += 4;
    if (point >= 0xd800 && point <= 0xdfff) {
      point = 0x10000 + ((point - 0xd800) << 10) + hex4(i + 3) - 0xdc00;
      i += 6;
    }
    out = putUtf8(out, point);
  }
  leaf.addText(repetition, <i32>(out - to));
}

function putUtf8(out: usize, point: i32): usize {
  if (point < 0x80) {
    store<u8>(out++, point);
    return out;
  }
  if (point < 0x800) {
    store<u8>(out++, 0xc0 | (point >> 6));
  } else {
    if (point < 0x10000) {
      store<u8>(out++, 0xe0 | (point >> 12));
    } else {
      store<u8>(out++, 0xf0 | (point >> 18));
      store<u8>(out++, 0x80 | ((point >> 12) & 63));
    }
    store<u8>(out++, 0x80 | ((point >> 6) & 63));
  }
  store<u8>(out++, 0x80 | (point & 63));
  return out;
}
