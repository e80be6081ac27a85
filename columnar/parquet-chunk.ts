/** One column of one row group: its values as pages (`assembly/chunk.ts`), compressed where that pays. */

import type { Columns } from "./columns.ts";
import type { LeafVector } from "./leaf-vector.ts";
import { type ByteSink, putBytes } from "./parquet-bytes.ts";
import { ENCODING } from "./parquet-encoding.ts";
import { putPageHeader } from "./parquet-page-header.ts";
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

/** Least and largest value of a leaf, as places among its values: no value is made before it is known to be asked for. */
export type Extremes = {
  /** Places; -1 where there is no value, or none but NaN. Strings and binaries are ordered by their bytes, as unsigned. */
  min: number;
  max: number;
  /** There is a NaN; it is neither of the two. */
  hasNaN: boolean;
};

/** Appends the pages of a leaf's next `rows` rows to the file; memory is kept from one call to the next. */
export type ChunkWriter = (file: ByteSink, fileOffset: number, vector: LeafVector, rows: number) => Chunk;

/** Less gain than this is not worth the reader's work. */
const WORTH_COMPRESSION = 0.95;

export function createChunkWriter(columns: Columns, compress: Compress, pageRows: number): ChunkWriter {
  return (file, fileOffset, vector, rows) => {
    const built = readChunk(columns, columns.buildChunk(vector.address, rows, pageRows));
    const { pages, encoding, entries, extremes } = built;
    const { codec, bodies } = pack(
      pages.map(({ bytes }) => bytes),
      compress,
    );
    const isDictionary = (page: number) => encoding === ENCODING.dictionary && page === 0;
    const start = file.length;
    let dataAt: number | undefined;
    let headers = 0;
    for (const [i, page] of pages.entries()) {
      const kind = isDictionary(i) ? "dictionary" : "data";
      if (kind === "data") dataAt ??= fileOffset + file.length - start;
      const begin = file.length;
      const body = bodies[i]!;
      const { entries, bytes } = page;
      putPageHeader(file, { kind, entries, encoding, rawSize: bytes.length, size: body.length });
      headers += file.length - begin;
      putBytes(file, body);
    }
    return {
      codec,
      entries,
      nulls: entries - built.values,
      encoding,
      dataPages: pages.length - (isDictionary(0) ? 1 : 0),
      dictionaryAt: isDictionary(0) ? fileOffset : undefined,
      dataAt: dataAt!,
      size: file.length - start,
      rawSize: pages.reduce((sum, { bytes }) => sum + bytes.length, 0) + headers,
      extremes,
    };
  };
}

/** What the module made, as `Chunk` in `assembly/chunk.ts` has it; the pages' bytes are views, valid until it makes the next one. */
export function readChunk({ memory }: Columns, address: number) {
  const { buffer } = memory;
  const [bytes, pagesAt, pageCount, encoding, entries, values, min, max, hasNaN] = new Int32Array(
    buffer,
    address,
    9,
  );
  const table = new Int32Array(buffer, pagesAt!, 2 * pageCount!);
  const pages = Array.from({ length: pageCount! }, (_, i) => {
    const from = i === 0 ? 0 : table[2 * i - 1]!;
    return { entries: table[2 * i]!, bytes: new Uint8Array(buffer, bytes! + from, table[2 * i + 1]! - from) };
  });
  const extremes: Extremes = { min: min!, max: max!, hasNaN: hasNaN === 1 };
  return { pages, encoding: encoding!, entries: entries!, values: values!, extremes };
}

/** The pages' bytes, all compressed or none: a column has one codec. */
function pack(plain: readonly Uint8Array<ArrayBuffer>[], compress: Compress) {
  const packed = plain.map((body) => compress(body));
  const sizeOf = (bodies: readonly Uint8Array[]) => bodies.reduce((sum, { length }) => sum + length, 0);
  return sizeOf(packed) < sizeOf(plain) * WORTH_COMPRESSION
    ? { codec: "zstd" as const, bodies: packed }
    : { codec: "uncompressed" as const, bodies: plain };
}
