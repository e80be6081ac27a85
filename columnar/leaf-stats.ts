/** Least and largest value of a leaf, as places among its values: no value is made before it is known to be asked for. */

import { unscaledText } from "../delta/decimal.ts";
import type { TypedValue } from "../delta/partition-value.ts";
import { decimalOf } from "../delta/schema.ts";
import type { Leaf, LeafValues } from "./leaf-vector.ts";
import { bytesAt, compare, headAt, type Strings, stringsOf } from "./parquet-strings.ts";

export type Extremes = {
  /** Places; -1 where there is no value, or none but NaN. Strings and binaries are ordered by their bytes, as unsigned. */
  min: number;
  max: number;
  /** There is a NaN; it is neither of the two. */
  hasNaN: boolean;
};

/** Of the values from `from` to before `to`, or of those at `places` from `from` to before `to`. */
export function extremesOf(
  values: LeafValues,
  from: number,
  to: number,
  places?: Int32Array | readonly number[],
): Extremes {
  const found: Extremes = { min: -1, max: -1, hasNaN: false };
  if (from >= to) return found;
  const listed = places === undefined ? null : Int32Array.from(places.slice(from, to));
  const count = to - from;
  switch (values.kind) {
    case "boolean":
      return ofNumbers(values.bits, from, count, listed, found);
    case "int32":
    case "float":
    case "double":
      return ofNumbers(values.numbers, from, count, listed, found);
    case "int64":
      return ofHalves(values.low, values.high, from, count, listed, found);
    case "bytes":
      return ofStrings(stringsOf(values), from, count, listed, found);
    case "fixed":
      return ofFixed(values.bytes, from, count, listed, found);
  }
}

function ofNumbers(
  numbers: Uint8Array | Int32Array | Float32Array | Float64Array,
  from: number,
  count: number,
  listed: Int32Array | null,
  found: Extremes,
): Extremes {
  let least = Number.POSITIVE_INFINITY;
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < count; i++) {
    const at = listed === null ? from + i : listed[i]!;
    const value = numbers[at]!;
    if (Number.isNaN(value)) {
      found.hasNaN = true;
      continue;
    }
    if (value < least || found.min < 0) {
      least = value;
      found.min = at;
    }
    if (value > largest || found.max < 0) {
      largest = value;
      found.max = at;
    }
  }
  return found;
}

function ofHalves(
  low: Uint32Array,
  high: Int32Array,
  from: number,
  count: number,
  listed: Int32Array | null,
  found: Extremes,
): Extremes {
  let min = listed === null ? from : listed[0]!;
  let max = min;
  let minTop = high[min]!;
  let minBottom = low[min]!;
  let maxTop = minTop;
  let maxBottom = minBottom;
  for (let i = 1; i < count; i++) {
    const at = listed === null ? from + i : listed[i]!;
    const top = high[at]!;
    const bottom = low[at]!;
    if (top < minTop || (top === minTop && bottom < minBottom)) {
      min = at;
      minTop = top;
      minBottom = bottom;
    } else if (top > maxTop || (top === maxTop && bottom > maxBottom)) {
      max = at;
      maxTop = top;
      maxBottom = bottom;
    }
  }
  found.min = min;
  found.max = max;
  return found;
}

function ofStrings(
  strings: Strings,
  from: number,
  count: number,
  listed: Int32Array | null,
  found: Extremes,
): Extremes {
  let min = listed === null ? from : listed[0]!;
  let max = min;
  let minHead = headAt(strings, min);
  let maxHead = minHead;
  for (let i = 1; i < count; i++) {
    const at = listed === null ? from + i : listed[i]!;
    const head = headAt(strings, at);
    if (head > minHead && head < maxHead) continue;
    if (head <= minHead && compare(strings, at, min) < 0) {
      min = at;
      minHead = head;
    } else if (head >= maxHead && compare(strings, at, max) > 0) {
      max = at;
      maxHead = head;
    }
  }
  found.min = min;
  found.max = max;
  return found;
}

function ofFixed(
  bytes: Uint8Array,
  from: number,
  count: number,
  listed: Int32Array | null,
  found: Extremes,
): Extremes {
  // The sign is in the first bit: turned over, the order is that of the bytes.
  const byteAt = (place: number, i: number) => (i === 0 ? bytes[16 * place]! ^ 128 : bytes[16 * place + i]!);
  const compare = (a: number, b: number): number => {
    for (let i = 0; i < 16; i++) {
      const difference = byteAt(a, i) - byteAt(b, i);
      if (difference !== 0) return difference;
    }
    return 0;
  };
  let min = listed === null ? from : listed[0]!;
  let max = min;
  for (let i = 1; i < count; i++) {
    const at = listed === null ? from + i : listed[i]!;
    if (compare(at, min) < 0) min = at;
    if (compare(at, max) > 0) max = at;
  }
  found.min = min;
  found.max = max;
  return found;
}

/** The value at a place, as statistics take it. */
export function typedValue(leaf: Leaf, values: LeafValues, place: number): TypedValue {
  const decimal = decimalOf(leaf.type);
  switch (values.kind) {
    case "boolean":
      return values.bits[place] === 1;
    case "int32": {
      const value = values.numbers[place]!;
      return decimal ? unscaledText(String(value), decimal.scale) : value;
    }
    case "int64": {
      const value = (BigInt(values.high[place]!) << 32n) | BigInt(values.low[place]!);
      return decimal ? unscaledText(value, decimal.scale) : value;
    }
    case "float":
      return shortest(values.numbers[place]!);
    case "double":
      return values.numbers[place]!;
    case "bytes": {
      const bytes = bytesAt(stringsOf(values), place);
      return leaf.type === "string" ? Buffer.from(bytes).toString("utf8") : bytes;
    }
    case "fixed": {
      const hex = Buffer.from(values.bytes.subarray(16 * place, 16 * place + 16)).toString("hex");
      return unscaledText(BigInt.asIntN(128, BigInt(`0x${hex}`)), decimal?.scale ?? 0);
    }
  }
}

/**
 * The number of fewest digits that stands for a float: 0.1, not 0.10000000149011612. Where that is half way to another float, or one of two that are
 * as near, all its digits are taken, as DuckDB does.
 */
function shortest(value: number): number {
  for (let digits = 1; digits <= 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (short === value) return short;
    const [nearest, beyond, opposite] = [Math.fround(short), 2 * short - value, 2 * value - short];
    if (Math.fround(beyond) === beyond && (nearest === value || nearest === beyond)) break;
    if (nearest !== value) continue;
    if (Number(opposite.toPrecision(digits)) === opposite) break;
    return short;
  }
  return value;
}
