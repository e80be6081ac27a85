/** Leaves of a table as a Parquet file, with the protocol's statistics. */

import { open } from "node:fs/promises";
import { LabError } from "../core/errors.ts";
import { type ColumnStats, statsJson } from "../delta/stats.ts";
import type { StatsTable } from "../delta/stats-columns.ts";
import type { Columns } from "./columns.ts";
import type { LeafVector } from "./leaf-vector.ts";
import { type ByteSink, clear, contents, createByteSink, putBytes, putWord } from "./parquet-bytes.ts";
import { type Chunk, createChunkWriter, type Extremes } from "./parquet-chunk.ts";
import { putFooter, type RowGroup } from "./parquet-footer.ts";
import type { ParquetSchema } from "./parquet-schema.ts";
import type { Compress } from "./parquet-zstd.ts";

export type ParquetFile = {
  schema: ParquetSchema;
  /** One a leaf of the schema, in its order, each of `rows` rows. */
  vectors: readonly LeafVector[];
  /** At least 1. */
  rows: number;
  /** Says which columns get statistics. */
  table: StatsTable;
};

export type WrittenFile = {
  /** Bytes. */
  size: number;
  /** The protocol's per-file statistics as a JSON string. */
  stats: string;
};

export type ParquetWriter = {
  /** Makes the file at `path`, which does not exist yet; what a failure left of it is the caller's. INTERNAL where vectors do not fit the schema. */
  write(path: string, file: ParquetFile, signal: AbortSignal): Promise<WrittenFile>;
};

export type WriterOptions = {
  compress: Compress;
  /** Most rows of a row group. */
  groupRows?: number;
  /** Most rows of a page. */
  pageRows?: number;
};

/** Engines share out a file by row groups, and hold one at a time. */
const GROUP_ROWS = 122_880;
/** As parquet-mr has it. */
const PAGE_ROWS = 20_000;
const MAGIC = Buffer.from("PAR1");

/** For vectors of `columns`. One file at a time: memory is kept from one to the next. */
export function createParquetWriter(columns: Columns, options: WriterOptions): ParquetWriter {
  const { compress, groupRows = GROUP_ROWS, pageRows = PAGE_ROWS } = options;
  const writeChunk = createChunkWriter(columns, compress, pageRows);
  const pending = createByteSink(1 << 20);

  return {
    async write(path, { schema, vectors, rows, table }, signal) {
      check(schema, vectors, rows);
      const handle = await open(path, "wx");
      try {
        let size = 0;
        const flush = async () => {
          await handle.appendFile(contents(pending), { signal });
          size += pending.length;
          clear(pending);
        };
        clear(pending);
        putBytes(pending, MAGIC);
        for (const { address } of vectors) columns.restart(address);
        const groups: RowGroup[] = [];
        for (let done = 0; done < rows; done += groupRows) {
          signal.throwIfAborted();
          const count = Math.min(groupRows, rows - done);
          const chunks = vectors.map((vector): Chunk => {
            return writeChunk(pending, size + pending.length, vector, count);
          });
          groups.push({ rows: count, chunks });
          await flush();
        }
        putEnd(pending, schema, vectors, groups);
        await flush();
        return { size, stats: statsOf(columns, vectors, groups, rows, table) };
      } finally {
        await handle.close();
      }
    },
  };
}

function putEnd(
  file: ByteSink,
  schema: ParquetSchema,
  vectors: readonly LeafVector[],
  groups: readonly RowGroup[],
): void {
  const start = file.length;
  putFooter(file, schema, vectors, groups);
  putWord(file, file.length - start);
  putBytes(file, MAGIC);
}

function check({ leaves }: ParquetSchema, vectors: readonly LeafVector[], rows: number): void {
  const isWhole = vectors.every(
    ({ leaf, entries }, at) =>
      leaf === leaves[at] && (leaf.maxRepetition > 0 ? entries >= rows : entries === rows),
  );
  if (rows < 1 || vectors.length !== leaves.length || !isWhole)
    throw new LabError(
      "INTERNAL",
      `vectors of ${vectors.length} leaves are no ${rows} rows of ${leaves.length} leaves`,
    );
}

function statsOf(
  module: Columns,
  vectors: readonly LeafVector[],
  groups: readonly RowGroup[],
  rows: number,
  table: StatsTable,
): string {
  const columns = vectors.flatMap((vector, at): ColumnStats[] => {
    const { leaf } = vector;
    if (leaf.statsPath === undefined) return [];
    const chunks = groups.map(({ chunks }) => chunks[at]!);
    const { min, max } = join(
      module,
      vector,
      chunks.map(({ extremes }) => extremes),
    );
    return [
      {
        path: leaf.statsPath,
        min: min < 0 ? undefined : vector.typedValue(min),
        max: max < 0 ? undefined : vector.typedValue(max),
        nullCount: chunks.reduce((sum, { nulls }) => sum + nulls, 0),
        hasNaN: chunks.some(({ extremes }) => extremes.hasNaN),
      },
    ];
  });
  return statsJson({ numRecords: rows, columns }, table);
}

function join(columns: Columns, { address }: LeafVector, parts: readonly Extremes[]) {
  const places = parts.flatMap(({ min, max }) => (min < 0 ? [] : [min, max]));
  const at = columns.inputFor(4 * places.length);
  new Int32Array(columns.memory.buffer, at, places.length).set(places);
  return {
    min: columns.leastOf(address, at, places.length),
    max: columns.largestOf(address, at, places.length),
  };
}
