/** One column of one row group: its values as pages, in the encoding that pays, compressed where that pays. */

import { type Extremes, extremesOf } from "./leaf-stats.ts";
import type { LeafValues, LeafVector } from "./leaf-vector.ts";
import { bitWidth, putHybrid, putRun } from "./parquet-bits.ts";
import {
  type ByteSink,
  clear,
  contents,
  createByteSink,
  putByte,
  putBytes,
  putWord,
} from "./parquet-bytes.ts";
import { createDictionaryMaker, type Dictionary } from "./parquet-dictionary.ts";
import { putPageHeader } from "./parquet-page-header.ts";
import { nextPage, type Stretch } from "./parquet-pages.ts";
import { ENCODING, encodingOf, putPlain, putValues } from "./parquet-values.ts";
import type { Compress } from "./parquet-zstd.ts";

/** What the footer says of a column of a row group. */
export type Chunk = {
  codec: "uncompressed" | "zstd";
  /** Entries: values, nulls and empty lists. */
  entries: number;
  nulls: number;
  encoding: number;
  dataPages: number;
  /** Where in the file. */
  dictionaryAt: number | undefined;
  dataAt: number;
  /** Bytes, headers of pages included. */
  size: number;
  rawSize: number;
  extremes: Extremes;
};

/** Appends a column's pages to the file; memory is kept from one call to the next. */
export type ChunkWriter = (file: ByteSink, fileOffset: number, vector: LeafVector, stretch: Stretch) => Chunk;

/** Less gain than this is not worth the reader's work. */
const WORTH_COMPRESSION = 0.95;

export function createChunkWriter(compress: Compress, pageRows: number): ChunkWriter {
  const makeDictionary = createDictionaryMaker();
  const raw = createByteSink(1 << 20);

  return (file, fileOffset, vector, stretch) => {
    const { values } = vector;
    const { firstValue, endValue } = stretch;
    const made = makeDictionary(values, firstValue, endValue);
    const extremes = made
      ? extremesOf(values, 0, made.size, made.places)
      : extremesOf(values, firstValue, endValue);
    const spread = spreadOf(values, extremes);
    const dictionary = made && paysOff(values, made, spread, firstValue, endValue) ? made : undefined;
    const encoding = dictionary ? ENCODING.dictionary : encodingOf(values, spread);

    clear(raw);
    const pages: Page[] = [];
    if (dictionary) {
      putEntries(raw, values, dictionary);
      pages.push({ entries: dictionary.size, from: 0, to: raw.length, kind: "dictionary" });
    }
    for (let at = { ...stretch, end: stretch.first, endValue: firstValue }; at.end < stretch.end; ) {
      at = nextPage(vector, { ...stretch, first: at.end, firstValue: at.endValue }, pageRows);
      const from = raw.length;
      putLevels(raw, vector, at);
      if (dictionary) {
        const width = Math.max(1, bitWidth(dictionary.size - 1));
        putByte(raw, width);
        putHybrid(raw, dictionary.indices, at.firstValue - firstValue, at.endValue - firstValue, width);
      } else putValues(raw, values, at.firstValue, at.endValue, spread);
      pages.push({ entries: at.end - at.first, from, to: raw.length, kind: "data" });
    }
    const { codec, bodies } = pack(raw, pages, compress);

    const start = file.length;
    const offset = fileOffset;
    let dataAt: number | undefined;
    let headers = 0;
    for (const [i, page] of pages.entries()) {
      if (page.kind === "data") dataAt ??= offset + file.length - start;
      const begin = file.length;
      const body = bodies[i]!;
      putPageHeader(file, { ...page, encoding, rawSize: page.to - page.from, size: body.length });
      headers += file.length - begin;
      putBytes(file, body);
    }
    return {
      codec,
      entries: stretch.end - stretch.first,
      nulls: stretch.end - stretch.first - (endValue - firstValue),
      encoding,
      dataPages: pages.length - (dictionary ? 1 : 0),
      dictionaryAt: dictionary ? offset : undefined,
      dataAt: dataAt!,
      size: file.length - start,
      rawSize: raw.length + headers,
      extremes,
    };
  };
}

type Page = { entries: number; from: number; to: number; kind: "dictionary" | "data" };

/** Largest less least of whole numbers; 0 for all else. */
function spreadOf(values: LeafValues, { min, max }: Extremes): number {
  if (min < 0) return 0;
  if (values.kind === "int32") return values.numbers[max]! - values.numbers[min]!;
  if (values.kind !== "int64") return 0;
  return (values.high[max]! - values.high[min]!) * 2 ** 32 + (values.low[max]! - values.low[min]!);
}

/** Whether the dictionary and the places in it take fewer bytes than the values. */
function paysOff(values: LeafValues, made: Dictionary, spread: number, from: number, to: number): boolean {
  let own = 0;
  let plain = 0;
  switch (values.kind) {
    case "bytes":
      for (let i = 0; i < made.size; i++) own += 4 + values.length[made.places[i]!]!;
      for (let i = from; i < to; i++) plain += 1 + values.length[i]!;
      break;
    case "int32":
    case "int64":
      // Differences go both ways: a bit more than the spread takes.
      own = made.size * (values.kind === "int32" ? 4 : 8);
      plain = ((to - from) * (1 + Math.ceil(Math.log2(1 + spread)))) / 8;
      break;
    default:
      own = made.size * (values.kind === "float" ? 4 : 8);
      plain = (to - from) * (values.kind === "float" ? 4 : 8);
  }
  return own + ((to - from) * bitWidth(made.size - 1)) / 8 < plain;
}

function putEntries(sink: ByteSink, values: LeafValues, { places, size }: Dictionary): void {
  for (let i = 0; i < size; i++) putPlain(sink, values, places[i]!, places[i]! + 1);
}

/** Each kind of levels with its length before it, as the first version of data pages has them. */
function putLevels(sink: ByteSink, { leaf, repetition, definition }: LeafVector, page: Stretch): void {
  for (const [levels, most] of [
    [repetition, leaf.maxRepetition],
    [definition, leaf.maxDefinition],
  ] as const) {
    if (levels === null || most === 0) continue;
    const start = sink.length;
    const isFull = levels === definition && page.endValue - page.firstValue === page.end - page.first;
    putWord(sink, 0);
    if (isFull) putRun(sink, most, page.end - page.first, bitWidth(most));
    else putHybrid(sink, levels, page.first, page.end, bitWidth(most));
    sink.view.setInt32(start, sink.length - start - 4, true);
  }
}

/** The pages' bytes, all compressed or none: a column has one codec. */
function pack(raw: ByteSink, pages: readonly Page[], compress: Compress) {
  const plain = pages.map(({ from, to }) => contents(raw).subarray(from, to));
  const packed = plain.map((body) => compress(body));
  const size = packed.reduce((sum, { length }) => sum + length, 0);
  return size < raw.length * WORTH_COMPRESSION
    ? { codec: "zstd" as const, bodies: packed }
    : { codec: "uncompressed" as const, bodies: plain };
}
