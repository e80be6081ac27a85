/** Arrow columns with exact types from plain values: no type is guessed, and names inside of maps and lists are Parquet's. */

import {
  Bool,
  type Data,
  type DataType,
  Field,
  Int32,
  Int64,
  List,
  Map_,
  makeData,
  Struct,
  Utf8,
} from "apache-arrow";

type Values<T> = readonly (T | null | undefined)[];
export type StringMap = Readonly<Record<string, string | null>>;

export function utf8(values: Values<string>): Data {
  const { nullBitmap, nullCount } = validity(values);
  const valueOffsets = new Int32Array(values.length + 1);
  values.forEach((value, at) => {
    valueOffsets[at + 1] = valueOffsets[at]! + (value ? Buffer.byteLength(value) : 0);
  });
  const data = Buffer.allocUnsafe(valueOffsets[values.length]!);
  values.forEach((value, at) => {
    if (value) data.write(value, valueOffsets[at]!);
  });
  return makeData({ type: new Utf8(), length: values.length, nullCount, nullBitmap, valueOffsets, data });
}

export function int64(values: Values<bigint | number>): Data {
  const data = new BigInt64Array(values.length);
  for (let at = 0; at < values.length; at++) {
    const value = values[at];
    if (value !== null && value !== undefined) data[at] = BigInt(value);
  }
  return makeData({ type: new Int64(), length: values.length, ...validity(values), data });
}

export function int32(values: Values<number>): Data {
  const data = new Int32Array(values.length);
  for (let at = 0; at < values.length; at++) data[at] = values[at] ?? 0;
  return makeData({ type: new Int32(), length: values.length, ...validity(values), data });
}

export function bool(values: Values<boolean>): Data {
  return makeData({
    type: new Bool(),
    length: values.length,
    ...validity(values),
    data: bits(values.length, (at) => values[at] === true),
  });
}

export function strings(values: Values<readonly string[]>): Data {
  const type = new List(new Field("element", new Utf8(), true));
  const child = utf8(values.flatMap((list) => list ?? [])) as Data<Utf8>;
  const valueOffsets = offsets(values, (list) => list.length);
  return makeData({ type, length: values.length, ...validity(values), valueOffsets, child });
}

export function stringMap(values: Values<StringMap>): Data {
  const entries = values.flatMap((map) => Object.entries(map ?? {}));
  const keys = utf8(entries.map(([key]) => key));
  const items = utf8(entries.map(([, value]) => value));
  const fields = [new Field("key", new Utf8(), false), new Field("value", new Utf8(), true)];
  const struct = new Struct(fields);
  const child = makeData({ type: struct, length: entries.length, nullCount: 0, children: [keys, items] });
  const type = new Map_(new Field("key_value", struct as Struct<{ key: Utf8; value: Utf8 }>, false));
  // Arrow's constructor renames the entries; Parquet's own name is what Spark writes.
  (type.children[0] as { name: string }).name = "key_value";
  const valueOffsets = offsets(values, (map) => Object.keys(map).length);
  return makeData({ type, length: values.length, ...validity(values), valueOffsets, child });
}

/** A struct that is null where `present` has nothing; all of its fields are nullable. */
export function struct(present: Values<unknown>, columns: Readonly<Record<string, Data>>): Data {
  const type = new Struct(fieldsOf(columns));
  return makeData({ type, length: present.length, ...validity(present), children: Object.values(columns) });
}

/** Nullable fields for columns, in their order. */
export function fieldsOf(columns: Readonly<Record<string, Data>>): Field<DataType>[] {
  return Object.entries(columns).map(([name, data]) => new Field(name, data.type as DataType, true));
}

/** What says which of the values are null. */
export function validity(values: Values<unknown>): { nullCount: number; nullBitmap: Uint8Array } {
  let present = 0;
  const nullBitmap = bits(values.length, (at) => {
    const isThere = values[at] !== null && values[at] !== undefined;
    if (isThere) present++;
    return isThere;
  });
  return { nullCount: values.length - present, nullBitmap };
}

function bits(length: number, isSet: (at: number) => boolean): Uint8Array {
  const bitmap = new Uint8Array(Math.ceil(length / 64) * 8);
  for (let at = 0; at < length; at++) if (isSet(at)) bitmap[at >> 3]! |= 1 << (at & 7);
  return bitmap;
}

function offsets<T>(values: Values<T>, sizeOf: (value: T) => number): Int32Array {
  const result = new Int32Array(values.length + 1);
  values.forEach((value, at) => {
    result[at + 1] = result[at]! + (value === null || value === undefined ? 0 : sizeOf(value));
  });
  return result;
}
