/**
 * A look at the bytes of a JSON message before DuckDB converts them. DuckDB's reader turns many a wrong value into NULL or into
 * another value without a word (1.7 for BIGINT becomes 2, "12" becomes 12, NaN and trailing commas pass, of doubled keys the first
 * wins, unknown keys vanish), and asking it for the structure of messages costs two to five times what converting them does. So each message
 * is walked once along the schema, without making any object: what is plainly right goes to DuckDB as it is, the rest to
 * `json-exact.ts`.
 */

import type { StructType } from "../delta/types.ts";
import { type Field, type Node, structNode } from "./json-shape.ts";
import { daysIn } from "./json-time.ts";

/** Not plainly right: perhaps wrong, perhaps only unusual. */
export const UNSURE = 0;
/** A strict JSON object that DuckDB reads exactly. */
export const FITS = 1;
/** The same, with newlines between its tokens. */
export const FITS_WITH_NEWLINES = 2;

export type JsonCheck = {
  /** Looks at the message from `start` to `end`. */
  look(
    bytes: Uint8Array,
    start: number,
    end: number,
  ): typeof UNSURE | typeof FITS | typeof FITS_WITH_NEWLINES;
  /** False: no message looked at so far has this field at its top, as far as it was walked. */
  hasMet(name: string): boolean;
};

const TAB = 9;
const NEWLINE = 10;
const RETURN = 13;
const SPACE = 32;
const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const MINUS = 45;
const PLUS = 43;
const POINT = 46;
const ZERO = 48;
const NINE = 57;
const LETTER_T = 116;
const LETTER_A = 97;
const LETTER_E = 101;
const CAPITAL_T = 84;
const CAPITAL_Z = 90;
const LETTER_F = 102;
const LETTER_N = 110;
const LETTER_U = 117;

/** Digits that a double carries exactly: DuckDB's way to a decimal is over a double that it multiplies by the scale's power of ten. */
const DOUBLE_DIGITS = 15;
const MAX_DEPTH = 200;
const SIMPLE_ESCAPES = new Set([...'"\\/bfnrt'].map((character) => character.charCodeAt(0)));
/** Bytes at which a string ends, escapes, or is none: the quote, the backslash, control characters. */
const STOPS = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < SPACE || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);
const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const NULL = Buffer.from("null");

/**
 * A check for messages of `schema`. It expects valid UTF-8 with a newline at `bytes[end]`. Doubtful cases are UNSURE, never FITS.
 * With `ignoreUnknown`, fields that the schema lacks are passed over.
 */
export function compileJsonCheck(schema: StructType, options: { ignoreUnknown: boolean }): JsonCheck {
  const root = structNode(schema);
  const met = new Map(schema.fields.map((field, i) => [field.name, root.fields[i]!]));
  const reserved = Buffer.from('"_kafka"');
  let bytes: Uint8Array = new Uint8Array();
  let end = 0;
  let at = 0;
  let objects = 0;
  let escapes = 0;
  let hasNewline = false;
  /** Of the date read last. */
  let year = 0;

  function skipSpace(): void {
    while (at < end) {
      const byte = bytes[at]!;
      if (byte > SPACE || (byte !== SPACE && byte !== NEWLINE && byte !== RETURN && byte !== TAB)) return;
      if (byte === NEWLINE || byte === RETURN) hasNewline = true;
      at++;
    }
  }

  /** Steps over `byte` and the space around it, or stays and answers false. */
  function eat(byte: number): boolean {
    if (bytes[at] !== byte) {
      skipSpace();
      if (bytes[at] !== byte || at >= end) return false;
    }
    at++;
    if (bytes[at]! <= SPACE) skipSpace();
    return true;
  }

  function literal(word: Uint8Array): boolean {
    for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return false;
    at += word.length;
    return true;
  }

  function value(node: Node, isNullable: boolean): boolean {
    const first = bytes[at]!;
    if (first === LETTER_N) return isNullable && literal(NULL);
    switch (node.kind) {
      case "string":
        if (first === QUOTE) return text();
        if (first === LETTER_T) return literal(TRUE);
        if (first === LETTER_F) return literal(FALSE);
        return integer(DOUBLE_DIGITS);
      case "integer":
        return integer(node.digits);
      case "double":
        return double(node.isFloat);
      case "decimal":
        return decimal(node);
      case "boolean":
        return first === LETTER_T ? literal(TRUE) : first === LETTER_F && literal(FALSE);
      case "timestamp":
        return first === QUOTE && date(1) && clock() && zone() && bytes[at++] === QUOTE;
      case "timestamp_ntz":
        return first === QUOTE && date(1) && clock() && bytes[at++] === QUOTE;
      case "date":
        return first === QUOTE && date(1) && bytes[at++] === QUOTE;
      case "struct":
        return first === OPEN_BRACE && object(node);
      case "array":
        return first === OPEN_BRACKET && array(node);
      case "map":
        return first === OPEN_BRACE && map(node);
      default:
        return false;
    }
  }

  /** A string from its opening to behind its closing quote. The newline at `end` stops a text that is not closed. */
  function text(): boolean {
    // In locals, here and in `isKey`: these two loops see nearly every byte.
    const [from, stops] = [bytes, STOPS];
    let i = at + 1;
    for (;;) {
      while (stops[from[i]!] === 0) i++;
      at = i;
      if (from[i] === QUOTE) break;
      if (from[i] !== BACKSLASH || !escapeSequence()) return false;
      i = at + 1;
    }
    at++;
    return true;
  }

  /** Moves to the last byte of an escape. */
  function escapeSequence(): boolean {
    escapes++;
    const kind = bytes[++at]!;
    if (kind !== LETTER_U) return SIMPLE_ESCAPES.has(kind);
    const unit = hex4();
    if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff)) return false;
    if (unit < 0xd800 || unit > 0xdfff) return true;
    if (bytes[++at] !== BACKSLASH || bytes[++at] !== LETTER_U) return false;
    const low = hex4();
    return low >= 0xdc00 && low <= 0xdfff;
  }

  function hex4(): number {
    let unit = 0;
    for (let i = 0; i < 4; i++) {
      const byte = bytes[++at]!;
      const lower = byte | 32;
      if (byte >= ZERO && byte <= NINE) unit = unit * 16 + byte - ZERO;
      else if (lower >= LETTER_A && lower <= LETTER_F) unit = unit * 16 + lower - LETTER_A + 10;
      else return -1;
    }
    return unit;
  }

  /** Steps over digits and says how many; -1 for a leading zero that is not alone. */
  function wholeDigits(): number {
    const from = at;
    while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
    return bytes[from] === ZERO && at - from > 1 ? -1 : at - from;
  }

  function integer(mostDigits: number): boolean {
    const isNegative = bytes[at] === MINUS;
    if (isNegative) at++;
    if (isNegative && bytes[at] === ZERO) return false;
    const digits = wholeDigits();
    return digits > 0 && digits <= mostDigits && endsNumber();
  }

  /** No fraction and no exponent follows. */
  function endsNumber(): boolean {
    const byte = bytes[at]!;
    return byte !== POINT && (byte | 32) !== LETTER_E;
  }

  function double(isFloat: boolean): boolean {
    const from = at;
    if (bytes[at] === MINUS) at++;
    const isZero = bytes[at] === ZERO;
    const digits = wholeDigits();
    if (digits <= 0 || digits > 18) return false;
    // To DuckDB -0 is a whole number, which has no sign: only with a fraction or an exponent is it a real one.
    if (isZero && at - from === 2 && endsNumber()) return false;
    if (!fraction()) return false;
    if (endsNumber()) return true;
    if (isFloat || (bytes[at]! | 32) !== LETTER_E) return false;
    at++;
    if (bytes[at] === MINUS || bytes[at] === PLUS) at++;
    const first = at;
    while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
    return at > first && at - first <= 2;
  }

  function fraction(): boolean {
    if (bytes[at] !== POINT) return true;
    const from = ++at;
    while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
    return at > from;
  }

  function decimal(node: Node): boolean {
    if (bytes[at] === MINUS) at++;
    const digits = wholeDigits();
    if (digits <= 0 || digits > node.digits) return false;
    const point = at;
    if (!fraction() || !endsNumber()) return false;
    // A whole number is none of these: it is multiplied as such.
    if (at === point) return digits <= DOUBLE_DIGITS;
    return at - point - 1 <= node.scale && digits + node.scale <= DOUBLE_DIGITS;
  }

  function twoDigits(): number {
    const [high, low] = [bytes[at]! - ZERO, bytes[at + 1]! - ZERO];
    if (!(high >= 0 && high <= 9 && low >= 0 && low <= 9)) return -1;
    at += 2;
    return high * 10 + low;
  }

  /** YYYY-MM-DD, `skip` bytes on. */
  function date(skip: number): boolean {
    at += skip;
    const century = twoDigits();
    year = century < 0 ? -1 : century * 100 + twoDigits();
    if (year < 1 || bytes[at++] !== MINUS) return false;
    const month = twoDigits();
    if (month < 1 || month > 12 || bytes[at++] !== MINUS) return false;
    const day = twoDigits();
    return day >= 1 && day <= daysIn(year, month);
  }

  /** THH:MM:SS, then up to six decimals. */
  function clock(): boolean {
    if (bytes[at++] !== CAPITAL_T) return false;
    const hour = twoDigits();
    if (hour < 0 || hour > 23 || bytes[at++] !== COLON) return false;
    const minute = twoDigits();
    if (minute < 0 || minute > 59 || bytes[at++] !== COLON) return false;
    const second = twoDigits();
    if (second < 0 || second > 59) return false;
    const point = at;
    return fraction() && at - point <= 7;
  }

  /** Z or +HH:MM; that only where it cannot lead out of the years 1 to 9999. */
  function zone(): boolean {
    const sign = bytes[at++];
    if (sign === CAPITAL_Z) return true;
    if (year === 1 || year === 9999) return false;
    if (sign !== PLUS && sign !== MINUS) return false;
    const hours = twoDigits();
    if (hours < 0 || hours > 14 || bytes[at++] !== COLON) return false;
    const minutes = twoDigits();
    return minutes >= 0 && minutes <= 59;
  }

  function object(node: Node): boolean {
    const id = ++objects;
    let required = node.required;
    at++;
    skipSpace();
    if (bytes[at] === CLOSE_BRACE) {
      at++;
      return required === 0;
    }
    let last: Field | null = null;
    do {
      if (bytes[at] !== QUOTE) return false;
      const field = key(node, last);
      if (field === null) {
        if (!options.ignoreUnknown || (node === root && isReserved())) return false;
        // With escapes it may be the name of a column after all.
        const before = escapes;
        if (!text() || escapes > before || !eat(COLON) || !anything(0)) return false;
        continue;
      }
      if (field.metIn === id) return false;
      field.metIn = id;
      if (!eat(COLON) || !value(field.node, field.isNullable)) return false;
      if (!field.isNullable) required--;
      last = field;
    } while (eat(COMMA));
    return eatLast(CLOSE_BRACE) && required === 0;
  }

  /** As `eat`, but leaves the space behind it, which belongs to what is around. */
  function eatLast(byte: number): boolean {
    if (bytes[at] !== byte) skipSpace();
    return at < end && bytes[at++] === byte;
  }

  /** The field whose name stands at the quote here, stepped over; null, without a step, for a name the schema lacks. */
  function key(node: Node, last: Field | null): Field | null {
    const guess = last === null ? node.fields[0] : last.follower;
    if (guess && isKey(guess.name)) return guess;
    for (const field of node.fields) {
      if (!isKey(field.name)) continue;
      if (last !== null) last.follower = field;
      return field;
    }
    return null;
  }

  function isKey(name: Uint8Array): boolean {
    const from = bytes;
    const length = name.length;
    const start = at + 1;
    if (from[start + length] !== QUOTE) return false;
    for (let i = 0; i < length; i++) if (from[start + i] !== name[i]) return false;
    at = start + length + 1;
    return true;
  }

  function isReserved(): boolean {
    for (let i = 0; i < reserved.length; i++) if (bytes[at + i] !== reserved[i]) return false;
    return true;
  }

  function array(node: Node): boolean {
    at++;
    skipSpace();
    if (bytes[at] === CLOSE_BRACKET) {
      at++;
      return true;
    }
    do {
      if (!value(node.element!, node.isElementNullable)) return false;
    } while (eat(COMMA));
    return eatLast(CLOSE_BRACKET);
  }

  function map(node: Node): boolean {
    at++;
    skipSpace();
    if (bytes[at] === CLOSE_BRACE) {
      at++;
      return true;
    }
    const keys = new Set<string>();
    do {
      if (bytes[at] !== QUOTE) return false;
      const from = at;
      if (!text()) return false;
      const name = Buffer.from(bytes.buffer, bytes.byteOffset + from, at - from).toString("latin1");
      if (name.includes("\\") || keys.has(name)) return false;
      keys.add(name);
      if (!eat(COLON) || !value(node.element!, node.isElementNullable)) return false;
    } while (eat(COMMA));
    return eatLast(CLOSE_BRACE);
  }

  /** Any JSON value of a field that is passed over. */
  function anything(depth: number): boolean {
    const first = bytes[at]!;
    if (first === QUOTE) return text();
    if (first === LETTER_N) return literal(NULL);
    if (first === LETTER_T) return literal(TRUE);
    if (first === LETTER_F) return literal(FALSE);
    if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return double(false);
    if (depth === MAX_DEPTH) return false;
    const close = first + 2;
    at++;
    skipSpace();
    if (bytes[at] === close) {
      at++;
      return true;
    }
    do {
      if (first === OPEN_BRACE && !(bytes[at] === QUOTE && text() && eat(COLON))) return false;
      if (!anything(depth + 1)) return false;
    } while (eat(COMMA));
    return eatLast(close);
  }

  return {
    look(from, start, until) {
      bytes = from;
      // As small integers: a position that came as a double would stay one, and each step would allocate.
      at = start | 0;
      end = until | 0;
      hasNewline = false;
      skipSpace();
      if (bytes[at] !== OPEN_BRACE || !object(root)) return UNSURE;
      skipSpace();
      if (at !== end) return UNSURE;
      return hasNewline ? FITS_WITH_NEWLINES : FITS;
    },
    hasMet: (name) => met.get(name)!.metIn > 0,
  };
}
