/** Rows as an Arrow IPC stream, each column in the Arrow type that holds its values exactly. */

import { Readable } from "node:stream";
import {
  Binary,
  Bool,
  type Data,
  type DataType,
  DateDay,
  Decimal,
  Field,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  List,
  Map_,
  makeData,
  Null,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  TimestampMicrosecond,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
  Utf8,
} from "apache-arrow";
import type { Value, ValueType } from "../../engine/result.ts";
import type { Output, Rows } from "./format.ts";

/** One record batch a chunk; a result without rows is a schema and an empty batch. */
export async function writeArrow(rows: Rows, output: Output): Promise<void> {
  const fields = rows.columns.map(({ name, type }) => new Field(name, arrowType(type), true));
  const schema = new Schema(fields);
  const toBatch = (chunk: readonly Value[][]) => {
    const children = rows.columns.map(({ type }, index) =>
      build(
        type,
        chunk.map((row) => row[index] ?? null),
      ),
    );
    const struct = makeData({ type: new Struct(fields), length: chunk.length, nullCount: 0, children });
    return new RecordBatch(schema, struct);
  };
  async function* batches() {
    let isEmpty = true;
    for await (const chunk of rows.chunks) {
      isEmpty = false;
      yield toBatch(chunk);
    }
    if (isEmpty) yield toBatch([]);
  }
  const writer = RecordBatchStreamWriter.throughNode();
  const source = Readable.from(batches());
  // An error of the query must end the reading below, not be swallowed between the two streams.
  source.on("error", (error) => writer.destroy(error));
  for await (const piece of source.pipe(writer)) await output.write(piece as Uint8Array);
}

function arrowType(type: ValueType): DataType {
  switch (type.kind) {
    case "null":
      return new Null();
    case "boolean":
      return new Bool();
    case "int":
      return intType(type);
    case "float":
      return type.bits === 32 ? new Float32() : new Float64();
    case "decimal":
      return new Decimal(type.scale, type.precision, 128);
    case "text":
      return new Utf8();
    case "binary":
      return new Binary();
    case "date":
      return new DateDay();
    case "timestamp":
      return new TimestampMicrosecond(type.zoned ? "UTC" : null);
    case "list":
      return new List(new Field("element", arrowType(type.item), true));
    case "struct":
      return new Struct(type.fields.map((field) => new Field(field.name, arrowType(field.type), true)));
    case "map":
      return new Map_(new Field("entries", entriesType(type), false));
  }
}

type MapType = Extract<ValueType, { kind: "map" }>;

function entriesType(type: MapType): Struct<{ key: DataType; value: DataType }> {
  return new Struct([
    new Field("key", arrowType(type.key), false),
    new Field("value", arrowType(type.value), true),
  ]);
}

function intType({ bits, signed }: Extract<ValueType, { kind: "int" }>): DataType {
  switch (bits) {
    case 8:
      return signed ? new Int8() : new Uint8();
    case 16:
      return signed ? new Int16() : new Uint16();
    case 32:
      return signed ? new Int32() : new Uint32();
    case 64:
      return signed ? new Int64() : new Uint64();
    // Arrow has no wider integers. A HUGEINT, such as sum() gives, is a decimal; what may exceed that is text.
    case 128:
      return signed ? new Decimal(0, 38, 128) : new Utf8();
  }
}

function build(type: ValueType, values: readonly Value[]): Data {
  const length = values.length;
  const { nullBitmap, nullCount } = validity(values);
  const base = { length, nullCount, nullBitmap };
  switch (type.kind) {
    case "null":
      return makeData({ type: new Null(), length });
    case "boolean":
      return makeData({ type: new Bool(), ...base, data: bits(values, (value) => value === true) });
    case "list": {
      const { offsets, items } = flatten(values);
      return makeData({
        type: arrowType(type) as List,
        ...base,
        valueOffsets: offsets,
        child: build(type.item, items),
      });
    }
    case "struct": {
      const children = type.fields.map((field, index) =>
        build(
          field.type,
          values.map((value) => (value as Value[] | null)?.[index] ?? null),
        ),
      );
      return makeData({ type: arrowType(type) as Struct, ...base, children });
    }
    case "map": {
      const { offsets, items } = flatten(values);
      const pairs = items as [Value, Value][];
      const child = makeData({
        type: entriesType(type),
        length: pairs.length,
        nullCount: 0,
        children: [
          build(
            type.key,
            pairs.map(([key]) => key),
          ),
          build(
            type.value,
            pairs.map(([, value]) => value),
          ),
        ],
      });
      return makeData({ type: arrowType(type) as Map_, ...base, valueOffsets: offsets, child });
    }
    case "text":
    case "binary": {
      const { offsets, bytes } = concatenate(values);
      return makeData({ type: arrowType(type) as Utf8, ...base, valueOffsets: offsets, data: bytes });
    }
    default: {
      const target = arrowType(type);
      if (target instanceof Utf8)
        return build(
          { kind: "text" },
          values.map((value) => (value === null ? null : String(value))),
        );
      return makeData({ type: target as Int32, ...base, data: fixedWidth(type, values) as Int32Array });
    }
  }
}

type FixedType = Extract<ValueType, { kind: "int" | "float" | "decimal" | "date" | "timestamp" }>;

function fixedWidth(type: FixedType, values: readonly Value[]): ArrayBufferView {
  const numbers = () => values.map((value) => (value ?? 0) as number);
  const bigints = () => values.map((value) => (value ?? 0n) as bigint);
  if (type.kind === "float")
    return type.bits === 32 ? Float32Array.from(numbers()) : Float64Array.from(numbers());
  if (type.kind === "date") return Int32Array.from(numbers());
  if (type.kind === "timestamp") return BigInt64Array.from(bigints());
  if (type.kind === "decimal" || type.bits === 128) return wide(bigints());
  switch (type.bits) {
    case 8:
      return type.signed ? Int8Array.from(numbers()) : Uint8Array.from(numbers());
    case 16:
      return type.signed ? Int16Array.from(numbers()) : Uint16Array.from(numbers());
    case 32:
      return type.signed ? Int32Array.from(numbers()) : Uint32Array.from(numbers());
    case 64:
      return type.signed ? BigInt64Array.from(bigints()) : BigUint64Array.from(bigints());
  }
}

/** 128 bits each, two's complement, the lower half first. */
function wide(values: readonly bigint[]): Uint32Array {
  const halves = new BigUint64Array(values.length * 2);
  for (const [index, value] of values.entries()) {
    halves[2 * index] = BigInt.asUintN(64, value);
    halves[2 * index + 1] = BigInt.asUintN(64, value >> 64n);
  }
  return new Uint32Array(halves.buffer);
}

function validity(values: readonly Value[]): { nullBitmap: Uint8Array | undefined; nullCount: number } {
  const nullCount = values.reduce<number>((count, value) => (value === null ? count + 1 : count), 0);
  return { nullBitmap: nullCount === 0 ? undefined : bits(values, (value) => value !== null), nullCount };
}

function bits(values: readonly Value[], isSet: (value: Value) => boolean): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(values.length / 8));
  for (const [index, value] of values.entries()) if (isSet(value)) bytes[index >> 3]! |= 1 << (index & 7);
  return bytes;
}

function flatten(values: readonly Value[]): { offsets: Int32Array; items: Value[] } {
  const offsets = new Int32Array(values.length + 1);
  const items: Value[] = [];
  for (const [index, value] of values.entries()) {
    if (value !== null) for (const item of value as Value[]) items.push(item);
    offsets[index + 1] = items.length;
  }
  return { offsets, items };
}

function concatenate(values: readonly Value[]): { offsets: Int32Array; bytes: Uint8Array } {
  const offsets = new Int32Array(values.length + 1);
  const pieces = values.map((value, index) => {
    const piece = value === null ? new Uint8Array() : Buffer.from(value as string);
    offsets[index + 1] = offsets[index]! + piece.length;
    return piece;
  });
  return { offsets, bytes: Buffer.concat(pieces) };
}
