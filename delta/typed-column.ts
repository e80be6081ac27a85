/** Arrow columns of Delta types from the texts that the log holds: partition values and bounds of statistics. */

import {
  Binary,
  type Data,
  DateDay,
  Decimal,
  Float32,
  Float64,
  Int8,
  Int16,
  makeData,
  TimestampMicrosecond,
} from "apache-arrow";
import { isLabError } from "../core/errors.ts";
import { bool, int32, int64, utf8, validity } from "./arrow-columns.ts";
import { parsePartitionValue, type TypedValue } from "./partition-value.ts";
import { decimalOf } from "./schema.ts";
import type { DataType } from "./types.ts";

/** A column of `type`; null where there is no text or it is no value of the type. Undefined for types without a text form. */
export function typedColumn(type: DataType, texts: readonly (string | null | undefined)[]): Data | undefined {
  if (type === "string") return utf8(texts);
  const values = texts.map((text) => typed(type, text));
  const decimal = decimalOf(type);
  if (decimal) return decimalColumn(values as (string | null)[], decimal.precision, decimal.scale);
  const { length } = values;
  const numbers = <A extends Int8Array | Int16Array | Int32Array | Float32Array | Float64Array>(
    data: A,
  ): A => {
    values.forEach((value, at) => {
      if (value !== null) data[at] = Number(value);
    });
    return data;
  };
  const shared = { length, ...validity(values) };
  switch (type) {
    case "boolean":
      return bool(values as (boolean | null)[]);
    case "byte":
      return makeData({ type: new Int8(), ...shared, data: numbers(new Int8Array(length)) });
    case "short":
      return makeData({ type: new Int16(), ...shared, data: numbers(new Int16Array(length)) });
    case "integer":
      return int32(values as (number | null)[]);
    case "long":
      return int64(values as (bigint | null)[]);
    case "float":
      return makeData({ type: new Float32(), ...shared, data: numbers(new Float32Array(length)) });
    case "double":
      return makeData({ type: new Float64(), ...shared, data: numbers(new Float64Array(length)) });
    case "date":
      return makeData({ type: new DateDay(), ...shared, data: numbers(new Int32Array(length)) });
    case "timestamp":
    case "timestamp_ntz": {
      const zoned = new TimestampMicrosecond(type === "timestamp" ? "UTC" : null);
      const data = BigInt64Array.from(values, (value) => (value === null ? 0n : BigInt(value as bigint)));
      return makeData({ type: zoned, ...shared, data });
    }
    case "binary":
      return binaryColumn(values as (Uint8Array | null)[]);
  }
  return undefined;
}

function typed(type: DataType, text: string | null | undefined): TypedValue {
  if (text === null || text === undefined) return null;
  try {
    return parsePartitionValue(type, text);
  } catch (error) {
    if (isLabError(error)) return null;
    throw error;
  }
}

function decimalColumn(values: readonly (string | null)[], precision: number, scale: number): Data {
  const data = new Uint32Array(values.length * 4);
  values.forEach((value, at) => {
    if (value === null) return;
    let rest = BigInt.asUintN(128, BigInt(value.replace(".", "")));
    for (let word = 0; word < 4; word++) {
      data[at * 4 + word] = Number(rest & 0xffffffffn);
      rest >>= 32n;
    }
  });
  return makeData({ type: new Decimal(scale, precision), length: values.length, ...validity(values), data });
}

function binaryColumn(values: readonly (Uint8Array | null)[]): Data {
  const valueOffsets = new Int32Array(values.length + 1);
  values.forEach((value, at) => {
    valueOffsets[at + 1] = valueOffsets[at]! + (value?.length ?? 0);
  });
  const data = Buffer.concat(values.map((value) => value ?? new Uint8Array()));
  return makeData({ type: new Binary(), length: values.length, ...validity(values), valueOffsets, data });
}
