/** Thrift's compact protocol, as far as Parquet's footers and page headers need it; `delta/parquet/thrift.ts` reads it. */

import { type ByteSink, putByte, putBytes, putVarint, putZigzag } from "./parquet-bytes.ts";

/** A field's number and what stands in it; fields are in the order of their numbers. Undefined: the field is left out. */
export type Field = readonly [id: number, value: Value | undefined];
export type Value =
  | { readonly i8: number }
  | { readonly i16: number }
  | { readonly i32: number }
  | { readonly i64: number }
  | { readonly bool: boolean }
  | { readonly bytes: Uint8Array }
  | { readonly list: readonly Value[] }
  | { readonly struct: readonly Field[] };

export function putStruct(sink: ByteSink, fields: readonly Field[]): void {
  let last = 0;
  for (const [id, value] of fields) {
    if (value === undefined) continue;
    const kind = "bool" in value ? (value.bool ? TRUE : FALSE) : kindOf(value);
    const step = id - last;
    if (step < 16) putByte(sink, (step << 4) | kind);
    else {
      putByte(sink, kind);
      putZigzag(sink, id);
    }
    last = id;
    if (!("bool" in value)) putValue(sink, value);
  }
  putByte(sink, 0);
}

const TRUE = 1;
const FALSE = 2;

function kindOf(value: Value): number {
  if ("i32" in value) return 5;
  if ("i64" in value) return 6;
  if ("bytes" in value) return 8;
  if ("list" in value) return 9;
  if ("struct" in value) return 12;
  if ("i16" in value) return 4;
  return "i8" in value ? 3 : TRUE;
}

function putValue(sink: ByteSink, value: Value): void {
  if ("i32" in value) putZigzag(sink, value.i32);
  else if ("i64" in value) putZigzag(sink, value.i64);
  else if ("i16" in value) putZigzag(sink, value.i16);
  else if ("i8" in value) putByte(sink, value.i8 & 255);
  else if ("bool" in value) putByte(sink, value.bool ? TRUE : FALSE);
  else if ("struct" in value) putStruct(sink, value.struct);
  else if ("bytes" in value) {
    putVarint(sink, value.bytes.length);
    putBytes(sink, value.bytes);
  } else {
    const { list } = value;
    const kind = list[0] === undefined ? 12 : kindOf(list[0]);
    if (list.length < 15) putByte(sink, (list.length << 4) | kind);
    else {
      putByte(sink, 0xf0 | kind);
      putVarint(sink, list.length);
    }
    for (const item of list) putValue(sink, item);
  }
}
