/** Dead letters as a Parquet file: few rows, exact types. */

import {
  Table as ArrowTable,
  type DataType as ArrowType,
  Binary,
  Field,
  Int32,
  Int64,
  List,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  TimestampMicrosecond,
  tableToIPC,
  Utf8,
  Vector,
  vectorFromArray,
} from "apache-arrow";
import { Compression, Table as WasmTable, WriterPropertiesBuilder, writeParquet } from "parquet-wasm";
import { isStorableTime } from "../engine/encode-apart.ts";
import type { Letter } from "./chunk.ts";

const entry = new Struct<{ key: Utf8; value: Binary }>([
  new Field("key", new Utf8(), true),
  new Field("value", new Binary(), true),
]);

/** The letters in the columns of `letterSchema`, all as of their first attempt, taken in at `ingestedAtMs`. */
export function lettersFile(letters: readonly Letter[], ingestedAtMs: number): Uint8Array {
  const columns: Record<string, Vector> = {
    topic: text(letters.map((letter) => letter.topic)),
    partition: vectorFromArray(
      letters.map((letter) => letter.partition),
      new Int32(),
    ),
    offset: vectorFromArray(
      letters.map((letter) => letter.offset),
      new Int64(),
    ),
    timestamp: micros(letters.map((letter) => letter.timestampMs)),
    key: vectorFromArray(
      letters.map((letter) => letter.key),
      new Binary(),
    ),
    value: vectorFromArray(
      letters.map((letter) => letter.value),
      new Binary(),
    ),
    headers: vectorFromArray(
      letters.map((letter) => letter.headers.map(([key, value]) => ({ key, value }))),
      new List(new Field("element", entry, true)),
    ),
    stage: text(letters.map((letter) => letter.stage)),
    error_code: text(letters.map((letter) => letter.code)),
    error_message: text(letters.map((letter) => letter.message)),
    attempt: vectorFromArray(
      letters.map(() => 1),
      new Int32(),
    ),
    ingested_at: micros(letters.map(() => ingestedAtMs)),
  };
  const schema = new Schema(
    Object.entries(columns).map(([name, column]) => new Field(name, column.type as ArrowType, true)),
  );
  const children = Object.values(columns).map((column) => column.data[0]);
  const struct = makeData({
    type: new Struct(schema.fields),
    length: letters.length,
    nullCount: 0,
    children: children as never,
  });
  const table = new ArrowTable(schema, new RecordBatch(schema, struct as never));
  const properties = new WriterPropertiesBuilder().setCompression(Compression.ZSTD).build();
  return writeParquet(WasmTable.fromIPCStream(tableToIPC(table, "stream")), properties);
}

const text = (values: readonly string[]): Vector => vectorFromArray(values, new Utf8());

/** Null for times that no column holds. Built by hand: the library's own builder goes through floating point milliseconds. */
function micros(valuesMs: readonly number[]): Vector {
  const isThere = valuesMs.map(isStorableTime);
  const data = BigInt64Array.from(valuesMs, (ms, i) => (isThere[i] ? BigInt(Math.trunc(ms)) * 1000n : 0n));
  const nullBitmap = new Uint8Array(Math.ceil(data.length / 8));
  for (const [i, is] of isThere.entries()) if (is) nullBitmap[i >> 3]! |= 1 << (i & 7);
  const nullCount = isThere.filter((is) => !is).length;
  return new Vector([
    makeData({ type: new TimestampMicrosecond("UTC"), length: data.length, nullCount, nullBitmap, data }),
  ]);
}
