/** Columns of numbers and bytes as they lie in memory: for results of millions of rows, of which no value becomes an object of its own. */

import type { DuckDBBlobVector, DuckDBDataChunk } from "@duckdb/node-api";
import { LabError } from "../core/errors.ts";
import type { Engine } from "./instance.ts";
import { streamChunks } from "./result.ts";

/** Bytes of some rows in one piece: of each where it starts, -1 for NULL, and where it ends, exclusive. */
export type RowBytes = { bytes: Buffer; starts: Int32Array; ends: Int32Array };

/** Some rows of a result; valid until the next ones are asked for. A number that is NULL is any number: coalesce it. */
export type ColumnChunk = {
  rows: number;
  /** Of an INTEGER column. */
  ints(column: number): Int32Array;
  /** Of a BIGINT column. */
  longs(column: number): BigInt64Array;
  /** Of a DOUBLE column. */
  doubles(column: number): Float64Array;
  /** How many bytes each row of a BLOB column has; 0 for NULL. */
  lengths(column: number): Int32Array;
  /** A copy of what rows `from` (inclusive) to `to` (exclusive) of a BLOB column hold. */
  bytes(column: number, from: number, to: number): RowBytes;
};

/** The rows of one statement, as they come; see `stream`. Read to its end before the next statement. INTERNAL for a column of another type. */
export async function* columnChunks(
  engine: Engine,
  sql: string,
  signal: AbortSignal,
): AsyncGenerator<ColumnChunk> {
  const duckdb = await import("./duckdb.ts");
  const { chunks } = await streamChunks(engine, sql, signal);
  for await (const chunk of chunks) yield columnsOf(chunk, duckdb);
}

/** What a chunk of a result holds. INTERNAL for a column of another type than it is asked for. */
export function columnsOf(chunk: DuckDBDataChunk, duckdb: typeof import("./duckdb.ts")): ColumnChunk {
  const blobs = new Map<number, Blobs>();
  const other = (column: number, wanted: string) =>
    new LabError(
      "INTERNAL",
      `column ${column} is of type ${chunk.getColumnVector(column).type}, not ${wanted}`,
    );
  const blobsOf = (column: number) => {
    const known = blobs.get(column);
    if (known !== undefined) return known;
    const vector = chunk.getColumnVector(column);
    if (!(vector instanceof duckdb.DuckDBBlobVector)) throw other(column, "BLOB");
    const found = createBlobs(vector, chunk.rowCount, duckdb.DuckDBBlobVector);
    blobs.set(column, found);
    return found;
  };
  return {
    rows: chunk.rowCount,
    ints(column) {
      const vector = chunk.getColumnVector(column);
      // biome-ignore lint/complexity/useLiteralKeys: private to the class, which gives out one value at a time
      if (vector instanceof duckdb.DuckDBIntegerVector) return vector["items"];
      throw other(column, "INTEGER");
    },
    longs(column) {
      const vector = chunk.getColumnVector(column);
      // biome-ignore lint/complexity/useLiteralKeys: as above
      if (vector instanceof duckdb.DuckDBBigIntVector) return vector["items"];
      throw other(column, "BIGINT");
    },
    doubles(column) {
      const vector = chunk.getColumnVector(column);
      // biome-ignore lint/complexity/useLiteralKeys: as above
      if (vector instanceof duckdb.DuckDBDoubleVector) return vector["items"];
      throw other(column, "DOUBLE");
    },
    lengths: (column) => blobsOf(column).lengths,
    bytes: (column, from, to) => blobsOf(column).copy(from, to),
  };
}

/**
 * Values of bytes as DuckDB holds them, 16 bytes each: the length (4 bytes, little-endian), then the bytes themselves where these are
 * no more than 12, else the first four of them and the address of all (8 bytes).
 */
const REFERENCE_BYTES = 16;
const INLINE_AT = 4;
const INLINE_BYTES = 12;
const ADDRESS_AT = 8;

type Blobs = { lengths: Int32Array; copy(from: number, to: number): RowBytes };

function createBlobs(vector: DuckDBBlobVector, rows: number, Vector: typeof DuckDBBlobVector): Blobs {
  // biome-ignore lint/complexity/useLiteralKeys: private to the class, which gives out one value at a time
  const [view, validity] = [vector["dataView"], vector["validity"]];
  // biome-ignore lint/complexity/useLiteralKeys: private to the class, which makes a big number of each look
  const valid = validity["data"];
  const bits = valid && new Uint8Array(valid.buffer, valid.byteOffset, valid.byteLength);
  const isNull = (row: number) => bits !== null && ((bits[row >> 3]! >> (row & 7)) & 1) === 0;
  const lengths = new Int32Array(rows);
  for (let row = 0; row < rows; row++)
    if (!isNull(row)) lengths[row] = view.getUint32(row * REFERENCE_BYTES, true);

  // Values that lie one behind the other, as sorted ones do, are fetched as if they were one: each fetch is a call into DuckDB.
  const reference = new DataView(new ArrayBuffer(REFERENCE_BYTES));
  const isThere = { itemValid: () => true } as unknown as ConstructorParameters<typeof DuckDBBlobVector>[1];
  // biome-ignore lint/complexity/useLiteralKeys: private to the class, and only handed back to it
  const fetcher = new Vector(reference, isThere, vector["vector"], 0, 1);
  return {
    lengths,
    copy(from, to) {
      let total = 0;
      for (let row = from; row < to; row++) total += lengths[row]!;
      const bytes = Buffer.allocUnsafeSlow(total);
      const starts = new Int32Array(to - from);
      const ends = new Int32Array(to - from);
      let [at, run, runEnd] = [0, -1, 0];
      const fetch = () => {
        if (run < 0) return;
        reference.setUint32(0, at - run, true);
        bytes.set(fetcher.getItemBytes(0)!, run);
        run = -1;
      };
      for (let row = from; row < to; row++) {
        const length = lengths[row]!;
        starts[row - from] = isNull(row) ? -1 : at;
        ends[row - from] = at + length;
        if (length === 0) continue;
        const place = row * REFERENCE_BYTES;
        if (length <= INLINE_BYTES) {
          fetch();
          for (let n = 0; n < length; n++) bytes[at + n] = view.getUint8(place + INLINE_AT + n);
        } else {
          const [low, high] = [
            view.getUint32(place + ADDRESS_AT, true),
            view.getUint32(place + ADDRESS_AT + 4, true),
          ];
          const address = high * 2 ** 32 + low;
          if (run < 0 || address !== runEnd) {
            fetch();
            run = at;
            reference.setUint32(ADDRESS_AT, low, true);
            reference.setUint32(ADDRESS_AT + 4, high, true);
          }
          runEnd = address + length;
        }
        at += length;
      }
      fetch();
      return { bytes, starts, ends };
    },
  };
}
