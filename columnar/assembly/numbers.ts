/**
 * Numbers of JSON, digit by digit. Functions answer with the place behind the number at `at`; 0 where there is none, or one that the type might
 * not hold exactly: what they added then is the caller's to take back.
 */

import { FIXED, INT32, Leaf } from "./leaf";

/** Number of the text of so many bytes, the nearest double: who calls this module knows how to round. */
declare function parseNumber(at: usize, length: i32): f64;

/** Whole numbers of so many digits are exact in a double. */
const DOUBLE_DIGITS = 15;
/** What the grammar takes before the point of a double. */
const MOST_WHOLE_DIGITS = 18;
const MOST_EXPONENT_DIGITS = 2;
const MINUS: u8 = 45;
const PLUS: u8 = 43;
const POINT: u8 = 46;
const ZERO: u8 = 48;
const LETTER_E: u8 = 101;

/** The digit at `at`; above 9 where there is none. */
export function digitAt(at: usize): u32 {
  return <u32>load<u8>(at) - ZERO;
}

/** At most `mostDigits`, 18 or less. */
export function addInteger(at: usize, leaf: Leaf, repetition: i32, mostDigits: i32): usize {
  const isNegative = load<u8>(at) === MINUS;
  if (isNegative) at++;
  const from = at;
  let value: i64 = 0;
  for (let digit = digitAt(at); digit <= 9; digit = digitAt(++at)) value = value * 10 + digit;
  const digits = <i32>(at - from);
  if (digits === 0 || digits > mostDigits || !endsNumber(at)) return 0;
  if (load<u8>(from) === ZERO && (digits > 1 || isNegative)) return 0;
  if (isNegative) value = -value;
  if (leaf.physical === INT32) leaf.addInt32(repetition, <i32>value);
  else leaf.addInt64(repetition, value);
  return at;
}

/** Steps over a whole number of at most 15 digits, and not over -0: it stays as it is written. */
export function passInteger(at: usize): usize {
  const isNegative = load<u8>(at) === MINUS;
  if (isNegative) at++;
  const behind = passDigits(at);
  const digits = <i32>(behind - at);
  if (digits === 0 || digits > DOUBLE_DIGITS || !endsNumber(behind)) return 0;
  return load<u8>(at) === ZERO && (isNegative || digits > 1) ? 0 : behind;
}

/** Steps over a number that a double holds. */
export function passDouble(at: usize): usize {
  if (load<u8>(at) === MINUS) at++;
  const from = at;
  at = passDigits(at);
  const whole = <i32>(at - from);
  if (whole === 0 || whole > MOST_WHOLE_DIGITS || (whole > 1 && load<u8>(from) === ZERO)) return 0;
  if (load<u8>(at) === POINT) {
    const first = at + 1;
    at = passDigits(first);
    if (at === first) return 0;
  }
  return endsNumber(at) ? at : passExponent(at);
}

/** Steps over an exponent of one or two digits. */
function passExponent(at: usize): usize {
  at++;
  const sign = load<u8>(at);
  if (sign === MINUS || sign === PLUS) at++;
  const behind = passDigits(at);
  return behind > at && <i32>(behind - at) <= MOST_EXPONENT_DIGITS ? behind : 0;
}

function passDigits(at: usize): usize {
  while (digitAt(at) <= 9) at++;
  return at;
}

/** No fraction and no exponent follows. */
function endsNumber(at: usize): bool {
  const byte = load<u8>(at);
  return byte !== POINT && (byte | 32) !== LETTER_E;
}

/** The digits of a number with a fraction, read last by `readDigits`: without the point, and how many stood on either side of it. */
let mantissa: u64 = 0;
let wholeDigits = 0;
let decimals = 0;

/** Reads digits, and those behind a point: 0 where either lack, or a needless zero leads. Of more than 19 digits the mantissa is nonsense. */
function readDigits(from: usize): usize {
  let at = from;
  let value: u64 = 0;
  let digit = digitAt(at);
  for (; digit <= 9; digit = digitAt(++at)) value = value * 10 + digit;
  wholeDigits = <i32>(at - from);
  decimals = 0;
  if (wholeDigits === 0 || (wholeDigits > 1 && load<u8>(from) === ZERO)) return 0;
  if (load<u8>(at) === POINT) {
    const first = ++at;
    for (digit = digitAt(at); digit <= 9; digit = digitAt(++at)) value = value * 10 + digit;
    if (at === first) return 0;
    decimals = <i32>(at - first);
  }
  mantissa = value;
  return at;
}

/** The nearest double, or with `isFloat` the nearest float of a number that no float overflows by; of at most `mostWhole` digits before the point. */
export function addDouble(at: usize, leaf: Leaf, repetition: i32, isFloat: bool, mostWhole: i32): usize {
  const isNegative = load<u8>(at) === MINUS;
  const from = isNegative ? at + 1 : at;
  at = readDigits(from);
  if (at === 0 || wholeDigits > mostWhole) return 0;
  const hasExponent = (load<u8>(at) | 32) === LETTER_E;
  if (hasExponent) {
    at = isFloat ? 0 : passExponent(at);
    if (at === 0) return 0;
  }
  // With more digits, or an exponent, one operation does not round right.
  const isExact = !hasExponent && wholeDigits + decimals <= DOUBLE_DIGITS;
  let value = isExact ? <f64>mantissa / <f64>power(decimals) : parseNumber(from, <i32>(at - from));
  if (isNegative) value = -value;
  const to = leaf.add(repetition);
  if (isFloat) store<f32>(to, <f32>value);
  else store<f64>(to, value);
  return at;
}

/** A decimal of at most `mostWhole` digits before the point and `scale` behind it. */
export function addDecimal(at: usize, leaf: Leaf, repetition: i32, mostWhole: i32, scale: i32): usize {
  const isNegative = load<u8>(at) === MINUS;
  at = readDigits(isNegative ? at + 1 : at);
  if (at === 0 || wholeDigits > mostWhole || decimals > scale) return 0;
  if (wholeDigits + decimals > DOUBLE_DIGITS || !endsNumber(at)) return 0;
  const value = isNegative ? -(<i64>mantissa) : <i64>mantissa;
  addUnscaled(leaf, repetition, value, scale - decimals);
  return at;
}

/** A decimal's digits as one whole number, with so many zeros more. */
function addUnscaled(leaf: Leaf, repetition: i32, value: i64, zeros: i32): void {
  if (leaf.physical === FIXED) addWide(leaf, repetition, value, zeros);
  else if (leaf.physical === INT32) leaf.addInt32(repetition, <i32>(value * power(zeros)));
  else leaf.addInt64(repetition, value * power(zeros));
}

function addWide(leaf: Leaf, repetition: i32, value: i64, zeros: i32): void {
  let low: u64 = value < 0 ? -value : value;
  let high: u64 = 0;
  for (let i = 0; i < zeros; i++) {
    const bottom = (low & 0xffffffff) * 10;
    const middle = (low >> 32) * 10 + (bottom >> 32);
    low = (middle << 32) | (bottom & 0xffffffff);
    high = high * 10 + (middle >> 32);
  }
  if (value < 0) {
    low = ~low + 1;
    high = ~high + (low === 0 ? 1 : 0);
  }
  leaf.addFixed(repetition, high, low);
}

/** Ten to the power of 0 to 18. */
function power(exponent: i32): i64 {
  let result: i64 = 1;
  for (let i = 0; i < exponent; i++) result *= 10;
  return result;
}
