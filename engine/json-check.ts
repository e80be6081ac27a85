/**
 * A look at the bytes of a JSON message before DuckDB converts them. DuckDB's reader turns many a wrong value into NULL or into
 * another value without a word (1.7 for BIGINT becomes 2, "12" becomes 12, NaN and trailing commas pass, of doubled keys the first
 * wins, unknown keys vanish), and asking it for the structure of a message costs five times what converting it does. So each message
 * is walked once along the schema, without making any object: what is plainly right goes to DuckDB as it is, the rest to
 * `json-exact.ts`.
 */

import { decimalOf } from "../delta/schema.ts";
import type { DataType, StructType } from "../delta/types.ts";
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

/** Digits that surely fit, whatever they are. */
const SAFE_DIGITS: Readonly<Record<string, number>> = { byte: 2, short: 4, integer: 9, long: 18 };
/** Digits that a double carries exactly, so that DuckDB's way over a double to a decimal changes none. */
const DOUBLE_DIGITS = 15;
const MAX_DEPTH = 200;
const SIMPLE_ESCAPES = new Set([...'"\\/bfnrt'].map((character) => character.charCodeAt(0)));
/** Bytes at which a string ends, escapes, or is none: the quote, the backslash, control characters. */
const STOPS = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 32 || byte === 34 || byte === 92 ? 1 : 0,
);
const TRUE = Buffer.from("true");
const FALSE = Buffer.from("false");
const NULL = Buffer.from("null");

type Kind =
  | "string"
  | "integer"
  | "double"
  | "decimal"
  | "boolean"
  | "timestamp"
  | "timestamp_ntz"
  | "date"
  | "struct"
  | "array"
  | "map"
  | "never";

type Node = {
  kind: Kind;
  /** Most digits of a number: before the point for DECIMAL. */
  digits: number;
  scale: number;
  /** A float overflows where a double does not. */
  isFloat: boolean;
  fields: Field[];
  required: number;
  /** Of an array's elements or a map's values. */
  element: Node | null;
  isElementNullable: boolean;
};

type Field = {
  name: Uint8Array;
  node: Node;
  isNullable: boolean;
  /** The object in which the field was met last: a second time in the same one is a doubled key. */
  metIn: number;
  /** The field that followed last time: producers keep an order. */
  follower: Field | null;
};

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
      if (byte > 32 || (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9)) return;
      if (byte === 10 || byte === 13) hasNewline = true;
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
    if (bytes[at]! <= 32) skipSpace();
    return true;
  }

  function literal(word: Uint8Array): boolean {
    for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return false;
    at += word.length;
    return true;
  }

  function value(node: Node, isNullable: boolean): boolean {
    const first = bytes[at]!;
    if (first === 110) return isNullable && literal(NULL);
    switch (node.kind) {
      case "string":
        if (first === 34) return text();
        if (first === 116) return literal(TRUE);
        if (first === 102) return literal(FALSE);
        return integer(DOUBLE_DIGITS);
      case "integer":
        return integer(node.digits);
      case "double":
        return double(node.isFloat);
      case "decimal":
        return decimal(node);
      case "boolean":
        return first === 116 ? literal(TRUE) : first === 102 && literal(FALSE);
      case "timestamp":
        return first === 34 && date(1) && clock() && zone() && bytes[at++] === 34;
      case "timestamp_ntz":
        return first === 34 && date(1) && clock() && bytes[at++] === 34;
      case "date":
        return first === 34 && date(1) && bytes[at++] === 34;
      case "struct":
        return first === 123 && object(node);
      case "array":
        return first === 91 && array(node);
      case "map":
        return first === 123 && map(node);
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
      if (from[i] === 34) break;
      if (from[i] !== 92 || !escapeSequence()) return false;
      i = at + 1;
    }
    at++;
    return true;
  }

  /** Moves to the last byte of an escape. */
  function escapeSequence(): boolean {
    escapes++;
    const kind = bytes[++at]!;
    if (kind !== 117) return SIMPLE_ESCAPES.has(kind);
    const unit = hex4();
    if (unit < 0 || (unit >= 0xdc00 && unit <= 0xdfff)) return false;
    if (unit < 0xd800 || unit > 0xdfff) return true;
    if (bytes[++at] !== 92 || bytes[++at] !== 117) return false;
    const low = hex4();
    return low >= 0xdc00 && low <= 0xdfff;
  }

  function hex4(): number {
    let unit = 0;
    for (let i = 0; i < 4; i++) {
      const byte = bytes[++at]!;
      const lower = byte | 32;
      if (byte >= 48 && byte <= 57) unit = unit * 16 + byte - 48;
      else if (lower >= 97 && lower <= 102) unit = unit * 16 + lower - 87;
      else return -1;
    }
    return unit;
  }

  /** Steps over digits and says how many; -1 for a leading zero that is not alone. */
  function wholeDigits(): number {
    const from = at;
    while (bytes[at]! >= 48 && bytes[at]! <= 57) at++;
    return bytes[from] === 48 && at - from > 1 ? -1 : at - from;
  }

  function integer(mostDigits: number): boolean {
    const isNegative = bytes[at] === 45;
    if (isNegative) at++;
    if (isNegative && bytes[at] === 48) return false;
    const digits = wholeDigits();
    return digits > 0 && digits <= mostDigits && endsNumber();
  }

  /** No fraction and no exponent follows. */
  function endsNumber(): boolean {
    const byte = bytes[at]!;
    return byte !== 46 && (byte | 32) !== 101;
  }

  function double(isFloat: boolean): boolean {
    if (bytes[at] === 45) at++;
    const digits = wholeDigits();
    if (digits <= 0 || digits > 18 || !fraction()) return false;
    if (endsNumber()) return true;
    if (isFloat || (bytes[at]! | 32) !== 101) return false;
    at++;
    if (bytes[at] === 45 || bytes[at] === 43) at++;
    const from = at;
    while (bytes[at]! >= 48 && bytes[at]! <= 57) at++;
    return at > from && at - from <= 2;
  }

  function fraction(): boolean {
    if (bytes[at] !== 46) return true;
    const from = ++at;
    while (bytes[at]! >= 48 && bytes[at]! <= 57) at++;
    return at > from;
  }

  function decimal(node: Node): boolean {
    if (bytes[at] === 45) at++;
    const digits = wholeDigits();
    if (digits <= 0 || digits > node.digits) return false;
    const point = at;
    if (!fraction() || !endsNumber()) return false;
    const decimals = at === point ? 0 : at - point - 1;
    return decimals <= node.scale && digits + decimals <= DOUBLE_DIGITS;
  }

  function twoDigits(): number {
    const [high, low] = [bytes[at]! - 48, bytes[at + 1]! - 48];
    if (!(high >= 0 && high <= 9 && low >= 0 && low <= 9)) return -1;
    at += 2;
    return high * 10 + low;
  }

  /** YYYY-MM-DD, `skip` bytes on. */
  function date(skip: number): boolean {
    at += skip;
    const century = twoDigits();
    year = century < 0 ? -1 : century * 100 + twoDigits();
    if (year < 1 || bytes[at++] !== 45) return false;
    const month = twoDigits();
    if (month < 1 || month > 12 || bytes[at++] !== 45) return false;
    const day = twoDigits();
    return day >= 1 && day <= daysIn(year, month);
  }

  /** THH:MM:SS, then up to six decimals. */
  function clock(): boolean {
    if (bytes[at++] !== 84) return false;
    const hour = twoDigits();
    if (hour < 0 || hour > 23 || bytes[at++] !== 58) return false;
    const minute = twoDigits();
    if (minute < 0 || minute > 59 || bytes[at++] !== 58) return false;
    const second = twoDigits();
    if (second < 0 || second > 59) return false;
    const point = at;
    return fraction() && at - point <= 7;
  }

  /** Z or +HH:MM; that only where it cannot lead out of the years 1 to 9999. */
  function zone(): boolean {
    const sign = bytes[at++];
    if (sign === 90) return true;
    if (year === 1 || year === 9999) return false;
    if (sign !== 43 && sign !== 45) return false;
    const hours = twoDigits();
    if (hours < 0 || hours > 14 || bytes[at++] !== 58) return false;
    const minutes = twoDigits();
    return minutes >= 0 && minutes <= 59;
  }

  function object(node: Node): boolean {
    const id = ++objects;
    let required = node.required;
    at++;
    skipSpace();
    if (bytes[at] === 125) {
      at++;
      return required === 0;
    }
    let last: Field | null = null;
    do {
      if (bytes[at] !== 34) return false;
      const field = key(node, last);
      if (field === null) {
        if (!options.ignoreUnknown || (node === root && isReserved())) return false;
        // With escapes it may be the name of a column after all.
        const before = escapes;
        if (!text() || escapes > before || !eat(58) || !anything(0)) return false;
        continue;
      }
      if (field.metIn === id) return false;
      field.metIn = id;
      if (!eat(58) || !value(field.node, field.isNullable)) return false;
      if (!field.isNullable) required--;
      last = field;
    } while (eat(44));
    return eatLast(125) && required === 0;
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
    if (from[start + length] !== 34) return false;
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
    if (bytes[at] === 93) {
      at++;
      return true;
    }
    do {
      if (!value(node.element!, node.isElementNullable)) return false;
    } while (eat(44));
    return eatLast(93);
  }

  function map(node: Node): boolean {
    at++;
    skipSpace();
    if (bytes[at] === 125) {
      at++;
      return true;
    }
    const keys = new Set<string>();
    do {
      if (bytes[at] !== 34) return false;
      const from = at;
      if (!text()) return false;
      const name = Buffer.from(bytes.buffer, bytes.byteOffset + from, at - from).toString("latin1");
      if (name.includes("\\") || keys.has(name)) return false;
      keys.add(name);
      if (!eat(58) || !value(node.element!, node.isElementNullable)) return false;
    } while (eat(44));
    return eatLast(125);
  }

  /** Any JSON value of a field that is passed over. */
  function anything(depth: number): boolean {
    const first = bytes[at]!;
    if (first === 34) return text();
    if (first === 110) return literal(NULL);
    if (first === 116) return literal(TRUE);
    if (first === 102) return literal(FALSE);
    if (first !== 123 && first !== 91) return double(false);
    if (depth === MAX_DEPTH) return false;
    const close = first + 2;
    at++;
    skipSpace();
    if (bytes[at] === close) {
      at++;
      return true;
    }
    do {
      if (first === 123 && !(bytes[at] === 34 && text() && eat(58))) return false;
      if (!anything(depth + 1)) return false;
    } while (eat(44));
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
      if (bytes[at] !== 123 || !object(root)) return UNSURE;
      skipSpace();
      if (at !== end) return UNSURE;
      return hasNewline ? FITS_WITH_NEWLINES : FITS;
    },
    hasMet: (name) => met.get(name)!.metIn > 0,
  };
}

function node(kind: Kind, rest: Partial<Node> = {}): Node {
  return {
    kind,
    digits: 0,
    scale: 0,
    isFloat: false,
    fields: [],
    required: 0,
    element: null,
    isElementNullable: true,
    ...rest,
  };
}

function structNode(type: StructType): Node {
  const fields = type.fields.map((field) => ({
    name: Buffer.from(field.name),
    node: typeNode(field.type),
    isNullable: field.nullable,
    metIn: 0,
    follower: null as Field | null,
  }));
  for (const [i, field] of fields.entries()) field.follower = fields[i + 1] ?? null;
  return node("struct", { fields, required: fields.filter((field) => !field.isNullable).length });
}

function typeNode(type: DataType): Node {
  if (typeof type === "object") {
    if (type.type === "struct") return structNode(type);
    if (type.type === "array")
      return node("array", { element: typeNode(type.elementType), isElementNullable: type.containsNull });
    if (type.keyType !== "string") return node("never");
    return node("map", { element: typeNode(type.valueType), isElementNullable: type.valueContainsNull });
  }
  const digits = SAFE_DIGITS[type];
  if (digits !== undefined) return node("integer", { digits });
  const decimal = decimalOf(type);
  if (decimal) return node("decimal", { digits: decimal.precision - decimal.scale, scale: decimal.scale });
  if (type === "string") return node("string");
  if (type === "double" || type === "float") return node("double", { isFloat: type === "float" });
  if (type === "boolean") return node("boolean");
  if (type === "timestamp") return node("timestamp");
  if (type === "timestamp_ntz") return node("timestamp_ntz");
  if (type === "date") return node("date");
  return node("never");
}
