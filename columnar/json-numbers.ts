/**
 * Numbers of JSON as values of leaves, digit by digit. Each function steps over the number at the cursor and adds its value; false, with nothing
 * added, where there is none, or one that the type might not hold exactly.
 */

import { type JsonCursor, LETTER_E, MINUS, NINE, PLUS, POINT, ZERO } from "./json-cursor.ts";
import type { LeafBuilder } from "./leaf-builder.ts";

/** Whole numbers of so many digits are exact in a double, and so are their products that have no more. */
const DOUBLE_DIGITS = 15;
/** What the grammar takes before the point of a double. */
const MOST_WHOLE_DIGITS = 18;
const MOST_EXPONENT_DIGITS = 2;
/** Powers of ten up to here are exact in a double: a quotient or product with one is rounded once. */
const POWERS = Float64Array.from({ length: 23 }, (_, i) => 10 ** i);

/** At most `mostDigits`, 18 or less. */
export function addInteger(
  cursor: JsonCursor,
  leaf: LeafBuilder,
  repetition: number,
  mostDigits: number,
): boolean {
  const { bytes } = cursor;
  let { at } = cursor;
  const isNegative = bytes[at] === MINUS;
  if (isNegative) at++;
  const from = at;
  let value = 0;
  let digit = bytes[at]! - ZERO;
  for (; digit >= 0 && digit <= 9 && at - from < DOUBLE_DIGITS; digit = bytes[++at]! - ZERO)
    value = value * 10 + digit;
  const head = value;
  for (; digit >= 0 && digit <= 9; digit = bytes[++at]! - ZERO) value = value * 10 + digit;
  const digits = at - from;
  cursor.at = at;
  if (digits === 0 || digits > mostDigits || !endsNumber(bytes[at]!)) return false;
  if (bytes[from] === ZERO && (digits > 1 || isNegative)) return false;
  if (digits > DOUBLE_DIGITS) addLong(bytes, from + DOUBLE_DIGITS, at, head, isNegative, leaf, repetition);
  else if (leaf.leaf.physical === "int32") leaf.addInt32(repetition, isNegative ? -value : value);
  else leaf.addInt64(repetition, isNegative ? -value : value);
  return true;
}

/** A whole number of 16 to 18 digits: `head`, then those from `from` to `end`. */
function addLong(
  bytes: Uint8Array,
  from: number,
  end: number,
  head: number,
  isNegative: boolean,
  leaf: LeafBuilder,
  repetition: number,
): void {
  let tail = 0;
  for (let i = from; i < end; i++) tail = tail * 10 + bytes[i]! - ZERO;
  const scale = POWERS[end - from]!;
  // Halves of the product by long multiplication: `scale` is 1000 at most, so that neither loses a bit.
  const lowHead = head % TWO_TO_32;
  const low = lowHead * scale + tail;
  const high = ((head - lowHead) / TWO_TO_32) * scale + Math.floor(low / TWO_TO_32);
  const i = leaf.add(repetition);
  leaf.low[i] = isNegative ? -low : low;
  const isBorrowing = isNegative && low % TWO_TO_32 !== 0;
  leaf.high[i] = isNegative ? -high - (isBorrowing ? 1 : 0) : high;
}

const TWO_TO_32 = 4_294_967_296;

/** Steps over a whole number of at most 15 digits, and not over -0: it stays as it is written. */
export function passInteger(cursor: JsonCursor): boolean {
  const { bytes } = cursor;
  let { at } = cursor;
  const isNegative = bytes[at] === MINUS;
  if (isNegative) at++;
  const from = at;
  at = passDigits(bytes, at);
  cursor.at = at;
  const isZero = bytes[from] === ZERO;
  return (
    at > from &&
    at - from <= DOUBLE_DIGITS &&
    endsNumber(bytes[at]!) &&
    !(isZero && (isNegative || at - from > 1))
  );
}

/** Steps over a number that a double holds. */
export function passDouble(cursor: JsonCursor): boolean {
  const { bytes } = cursor;
  let { at } = cursor;
  if (bytes[at] === MINUS) at++;
  const from = at;
  at = passDigits(bytes, at);
  const whole = at - from;
  if (whole === 0 || whole > MOST_WHOLE_DIGITS || (whole > 1 && bytes[from] === ZERO)) return false;
  if (bytes[at] === POINT) {
    const first = ++at;
    at = passDigits(bytes, at);
    if (at === first) return false;
  }
  cursor.at = at;
  return endsNumber(bytes[at]!) || passExponent(cursor);
}

/** Steps over an exponent of one or two digits. */
function passExponent(cursor: JsonCursor): boolean {
  const { bytes } = cursor;
  let at = cursor.at + 1;
  if (bytes[at] === MINUS || bytes[at] === PLUS) at++;
  const first = at;
  at = passDigits(bytes, at);
  cursor.at = at;
  return at > first && at - first <= MOST_EXPONENT_DIGITS;
}

function passDigits(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
  return at;
}

/** No fraction and no exponent follows. */
function endsNumber(byte: number): boolean {
  return byte !== POINT && (byte | 32) !== LETTER_E;
}

/** A double, or with `isFloat` a number that no float overflows by; the nearest one. */
export function addDouble(
  cursor: JsonCursor,
  leaf: LeafBuilder,
  repetition: number,
  isFloat: boolean,
): boolean {
  const start = cursor.at;
  const { bytes } = cursor;
  let at = start;
  const isNegative = bytes[at] === MINUS;
  if (isNegative) at++;
  const from = at;
  let mantissa = 0;
  let digit = bytes[at]! - ZERO;
  for (; digit >= 0 && digit <= 9; digit = bytes[++at]! - ZERO) mantissa = mantissa * 10 + digit;
  const whole = at - from;
  let decimals = 0;
  if (bytes[at] === POINT) {
    digit = bytes[++at]! - ZERO;
    for (; digit >= 0 && digit <= 9; digit = bytes[++at]! - ZERO) {
      mantissa = mantissa * 10 + digit;
      decimals++;
    }
    if (decimals === 0) return false;
  }
  if (whole === 0 || whole > MOST_WHOLE_DIGITS || (bytes[from] === ZERO && whole > 1)) return false;
  const hasExponent = (bytes[at]! | 32) === LETTER_E;
  cursor.at = at;
  if (hasExponent && (isFloat || !passExponent(cursor))) return false;
  let value = mantissa / POWERS[decimals]!;
  // With more digits, or an exponent, one operation does not round right: then the text is read by the one who knows how.
  if (hasExponent || whole + decimals > DOUBLE_DIGITS) value = Number(ascii(bytes, from, cursor.at));
  if (isNegative) value = -value;
  const i = leaf.add(repetition);
  if (isFloat) leaf.floats[i] = value;
  else leaf.doubles[i] = value;
  return true;
}

/** A decimal of `wholeDigits` before the point and `scale` behind it. */
export function addDecimal(
  cursor: JsonCursor,
  leaf: LeafBuilder,
  repetition: number,
  wholeDigits: number,
  scale: number,
): boolean {
  const { bytes } = cursor;
  let { at } = cursor;
  const isNegative = bytes[at] === MINUS;
  if (isNegative) at++;
  const from = at;
  let value = 0;
  let digit = bytes[at]! - ZERO;
  for (; digit >= 0 && digit <= 9; digit = bytes[++at]! - ZERO) value = value * 10 + digit;
  const whole = at - from;
  let decimals = 0;
  if (bytes[at] === POINT) {
    digit = bytes[++at]! - ZERO;
    for (; digit >= 0 && digit <= 9; digit = bytes[++at]! - ZERO) {
      value = value * 10 + digit;
      decimals++;
    }
    if (decimals === 0) return false;
  }
  cursor.at = at;
  if (whole === 0 || whole > wholeDigits || (bytes[from] === ZERO && whole > 1)) return false;
  if (decimals > scale || whole + decimals > DOUBLE_DIGITS || !endsNumber(bytes[at]!)) return false;
  if (isNegative) value = -value;
  if (whole + scale <= DOUBLE_DIGITS) addUnscaled(leaf, repetition, value * POWERS[scale - decimals]!);
  else addWideUnscaled(leaf, repetition, BigInt(value) * 10n ** BigInt(scale - decimals));
  return true;
}

/** A decimal's digits as one whole number below 2^53 in size. */
function addUnscaled(leaf: LeafBuilder, repetition: number, value: number): void {
  if (leaf.leaf.physical === "int32") leaf.addInt32(repetition, value);
  else if (leaf.leaf.physical === "int64") leaf.addInt64(repetition, value);
  else addFixed(leaf, repetition, BigInt(value));
}

/** A decimal's digits as one whole number, of any size that its leaf holds. */
export function addWideUnscaled(leaf: LeafBuilder, repetition: number, value: bigint): void {
  if (leaf.leaf.physical === "fixed") addFixed(leaf, repetition, value);
  else if (leaf.leaf.physical === "int32") leaf.addInt32(repetition, Number(value));
  else addWideInteger(leaf, repetition, value);
}

/** Any int64. */
export function addWideInteger(leaf: LeafBuilder, repetition: number, value: bigint): void {
  const i = leaf.add(repetition);
  leaf.low[i] = Number(BigInt.asUintN(32, value));
  leaf.high[i] = Number(BigInt.asIntN(32, value >> 32n));
}

function addFixed(leaf: LeafBuilder, repetition: number, value: bigint): void {
  const start = leaf.add(repetition) * 16;
  let rest = value;
  for (let i = start + 15; i >= start; i--) {
    leaf.bytes[i] = Number(BigInt.asUintN(8, rest));
    rest >>= 8n;
  }
}

function ascii(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("latin1");
}
