/** Leaves of a table as a Parquet file, with the protocol's statistics. */

import { open } from "node:fs/promises";
import { LabError } from "../core/errors.ts";
import { type ColumnStats, statsJson } from "../delta/stats.ts";
import type { StatsTable } from "../delta/stats-columns.ts";
import { type Extremes, extremesOf, typedValue } from "./leaf-stats.ts";
import type { LeafVector } from "./leaf-vector.ts";
import { type ByteSink, clear, contents, createByteSink, putBytes, putWord } from "./parquet-bytes.ts";
import { type Chunk, createChunkWriter } from "./parquet-chunk.ts";
import { putFooter, type RowGroup } from "./parquet-footer.ts";
import { nextRows, type Stretch } from "./parquet-pages.ts";
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

/** One file at a time: memory is kept from one to the next. */
export function createParquetWriter(options: WriterOptions): ParquetWriter {
  const { compress, groupRows = GROUP_ROWS, pageRows = PAGE_ROWS } = options;
  const writeChunk = createChunkWriter(compress, pageRows);
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
        const stretches: Stretch[] = vectors.map(() => ({ first: 0, end: 0, firstValue: 0, endValue: 0 }));
        const groups: RowGroup[] = [];
        for (let done = 0; done < rows; done += groupRows) {
          signal.throwIfAborted();
          const count = Math.min(groupRows, rows - done);
          const chunks = vectors.map((vector, at): Chunk => {
            stretches[at] = nextRows(vector, stretches[at]!, count);
            return writeChunk(pending, size + pending.length, vector, stretches[at]);
          });
          groups.push({ rows: count, chunks });
          await flush();
        }
        putEnd(pending, schema, vectors, groups);
        await flush();
        return { size, stats: statsOf(vectors, groups, rows, table) };
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
  vectors: readonly LeafVector[],
  groups: readonly RowGroup[],
  rows: number,
  table: StatsTable,
): string {
  const columns = vectors.flatMap(({ leaf, values }, at): ColumnStats[] => {
    if (leaf.statsPath === undefined) return [];
    const chunks = groups.map(({ chunks }) => chunks[at]!);
    const { min, max } = join(
      values,
      chunks.map(({ extremes }) => extremes),
    );
    return [
      {
        path: leaf.statsPath,
        min: min < 0 ? undefined : typedValue(leaf, values, min),
        max: max < 0 ? undefined : typedValue(leaf, values, max),
        nullCount: chunks.reduce((sum, { nulls }) => sum + nulls, 0),
        hasNaN: chunks.some(({ extremes }) => extremes.hasNaN),
      },
    ];
  });
  return statsJson({ numRecords: rows, columns }, table);
}

function join(values: LeafVector["values"], parts: readonly Extremes[]): Extremes {
  const places = parts.flatMap(({ min, max }) => (min < 0 ? [] : [min, max]));
  return extremesOf(values, 0, places.length, places);
}
