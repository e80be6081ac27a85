/** What a Parquet file says of itself at its end (parquet-format, `parquet.thrift`). */

import { ENGINE_INFO } from "../delta/commit-actions.ts";
import { decimalOf } from "../delta/schema.ts";
import { largestText, smallestText } from "../delta/stats-text.ts";
import { type Leaf, type LeafVector, PARQUET_TYPE } from "./leaf-vector.ts";
import type { ByteSink } from "./parquet-bytes.ts";
import type { Chunk, Extremes } from "./parquet-chunk.ts";
import { ENCODING } from "./parquet-encoding.ts";
import { DATA_PAGE, DICTIONARY_PAGE } from "./parquet-page-header.ts";
import type { ParquetSchema, SchemaElement } from "./parquet-schema.ts";
import { type Field, putStruct, type Value } from "./parquet-thrift.ts";

export type RowGroup = { rows: number; chunks: readonly Chunk[] };

/** Readers know writers by it, in the form "name version number". */
const CREATED_BY = ENGINE_INFO.replace("/", " version ");
const REPETITIONS = { required: 0, optional: 1, repeated: 2 } as const;
const CODECS = { uncompressed: 0, zstd: 6 } as const;

const i32 = (value: number): Value => ({ i32: value });
const i64 = (value: number): Value => ({ i64: value });
const text = (value: string): Value => ({ bytes: Buffer.from(value) });
const list = (values: readonly Value[]): Value => ({ list: values });
const struct = (fields: readonly Field[]): Value => ({ struct: fields });
const NOTHING = struct([]);

/** The footer's structure, without its length and the mark behind it. */
export function putFooter(
  file: ByteSink,
  schema: ParquetSchema,
  vectors: readonly LeafVector[],
  rowGroups: readonly RowGroup[],
): void {
  const rows = rowGroups.reduce((sum, group) => sum + group.rows, 0);
  const root = struct([
    [4, text("schema")],
    [5, i32(schema.columns)],
  ]);
  putStruct(file, [
    [1, i32(1)],
    [2, list([root, ...schema.elements.map(elementOf)])],
    [3, i64(rows)],
    [4, list(rowGroups.map((group, at) => rowGroupOf(group, at, vectors)))],
    [6, text(CREATED_BY)],
    [7, list(vectors.map(() => struct([[1, NOTHING]])))],
  ]);
}

function elementOf(element: SchemaElement): Value {
  const { leaf, group } = element;
  const decimal = leaf && decimalOf(leaf.type);
  const isFixed = leaf?.physical === "fixed";
  return struct([
    [1, leaf && i32(PARQUET_TYPE[leaf.physical])],
    [2, isFixed ? i32(16) : undefined],
    [3, i32(REPETITIONS[element.repetition])],
    [4, text(element.name)],
    [5, leaf ? undefined : i32(element.children)],
    [6, convertedType(leaf, group)],
    [7, decimal && i32(decimal.scale)],
    [8, decimal && i32(decimal.precision)],
    [9, element.fieldId === undefined ? undefined : i32(element.fieldId)],
    [10, logicalType(leaf, group)],
  ]);
}

/** For readers from before logical types; a time without a zone has none. */
function convertedType(leaf: Leaf | undefined, group: SchemaElement["group"]): Value | undefined {
  const number = CONVERTED[leaf ? leaf.type : (group ?? "")];
  if (leaf && decimalOf(leaf.type)) return i32(5);
  return number === undefined ? undefined : i32(number);
}

const CONVERTED: Readonly<Record<string, number>> = {
  string: 0,
  map: 1,
  list: 3,
  date: 6,
  timestamp: 10,
  byte: 15,
  short: 16,
  integer: 17,
  long: 18,
};

function logicalType(leaf: Leaf | undefined, group: SchemaElement["group"]): Value | undefined {
  const union = (id: number, value: Value) => struct([[id, value]]);
  const integer = (bits: number) =>
    union(
      10,
      struct([
        [1, { i8: bits }],
        [2, { bool: true }],
      ]),
    );
  const timestamp = (isUtc: boolean) =>
    union(
      8,
      struct([
        [1, { bool: isUtc }],
        [2, union(2, NOTHING)],
      ]),
    );
  if (!leaf) return group && union(group === "map" ? 2 : 3, NOTHING);
  const decimal = decimalOf(leaf.type);
  if (decimal)
    return union(
      5,
      struct([
        [1, i32(decimal.scale)],
        [2, i32(decimal.precision)],
      ]),
    );
  switch (leaf.type) {
    case "string":
      return union(1, NOTHING);
    case "date":
      return union(6, NOTHING);
    case "byte":
      return integer(8);
    case "short":
      return integer(16);
    case "integer":
      return integer(32);
    case "long":
      return integer(64);
    case "timestamp":
      return timestamp(true);
    case "timestamp_ntz":
      return timestamp(false);
  }
  return undefined;
}

function rowGroupOf({ rows, chunks }: RowGroup, ordinal: number, vectors: readonly LeafVector[]): Value {
  const total = (of: (chunk: Chunk) => number) => chunks.reduce((sum, chunk) => sum + of(chunk), 0);
  const first = chunks[0]!;
  return struct([
    [
      1,
      list(
        chunks.map((chunk, at) =>
          struct([
            [2, i64(0)],
            [3, columnOf(chunk, vectors[at]!)],
          ]),
        ),
      ),
    ],
    [2, i64(total((chunk) => chunk.rawSize))],
    [3, i64(rows)],
    [5, i64(first.dictionaryAt ?? first.dataAt)],
    [6, i64(total((chunk) => chunk.size))],
    [7, { i16: ordinal }],
  ]);
}

function columnOf(chunk: Chunk, vector: LeafVector): Value {
  const { leaf } = vector;
  const { encoding, dictionaryAt } = chunk;
  const encodings =
    dictionaryAt === undefined ? [ENCODING.rle, encoding] : [ENCODING.plain, ENCODING.rle, encoding];
  const pages = (kind: number, of: number, count: number) =>
    struct([
      [1, i32(kind)],
      [2, i32(of)],
      [3, i32(count)],
    ]);
  const counts = dictionaryAt === undefined ? [] : [pages(DICTIONARY_PAGE, ENCODING.plain, 1)];
  return struct([
    [1, i32(PARQUET_TYPE[leaf.physical])],
    [2, list(encodings.map(i32))],
    [3, list(leaf.parquetPath.map(text))],
    [4, i32(CODECS[chunk.codec])],
    [5, i64(chunk.entries)],
    [6, i64(chunk.rawSize)],
    [7, i64(chunk.size)],
    [9, i64(chunk.dataAt)],
    [11, dictionaryAt === undefined ? undefined : i64(dictionaryAt)],
    [12, struct([[3, i64(chunk.nulls)], ...bounds(vector, chunk.extremes)])],
    [13, list([...counts, pages(DATA_PAGE, encoding, chunk.dataPages)])],
  ]);
}

/**
 * Largest and least value. None where there is NaN: engines place it differently. None of binaries, nor of text without a bound near its
 * start; text is cut as in the log.
 */
function bounds(vector: LeafVector, { min, max, hasNaN }: Extremes): Field[] {
  const { leaf } = vector;
  if (min < 0 || hasNaN || leaf.type === "binary") return [];
  if (leaf.type === "string") {
    const [least, largest] = [min, max].map((place) => String(vector.typedValue(place)));
    const [lower, upper] = [smallestText(least!), largestText(largest!)];
    return [
      [5, upper === undefined ? undefined : text(upper)],
      [6, text(lower)],
      [7, upper === undefined ? undefined : { bool: upper === largest }],
      [8, { bool: lower === least }],
    ];
  }
  return [
    [5, { bytes: plain(vector, max, "max") }],
    [6, { bytes: plain(vector, min, "min") }],
    [7, { bool: true }],
    [8, { bool: true }],
  ];
}

/** 0.0 and -0.0 are equal, yet readers may order them: the wider one of both is a bound for both. */
function plain(vector: LeafVector, place: number, side: "min" | "max"): Uint8Array {
  const bytes = vector.bytesOf(place);
  const { type } = vector.leaf;
  const isReal = type === "float" || type === "double";
  if (isReal && vector.typedValue(place) === 0) bytes[bytes.length - 1] = side === "min" ? SIGN : 0;
  return bytes;
}

/** Of the last byte of a number, where the lowest comes first. */
const SIGN = 128;
