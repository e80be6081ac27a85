import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { access, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import type { StructType } from "../delta/types.ts";
import { type Engine, openEngine, quoteText } from "../engine/instance.ts";
import { writeRowFiles } from "../engine/row-files.ts";
import { createTableOf, EXAMPLE, exampleRow, field, struct, tables } from "./parquet-values.fixture.ts";
import { type Row, vectorsOf } from "./parquet-vectors.fixture.ts";
import { createParquetWriter, type WriterOptions } from "./parquet-writer.ts";
import { loadZstd } from "./parquet-zstd.ts";

const signal = new AbortController().signal;
const compress = loadZstd(1)!;
const MEMORY = 512 << 20;

async function openBench(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "parquet-writer-"));
  const engine = await openEngine({
    memoryLimitBytes: MEMORY,
    threads: 1,
    tempDir: null,
    preserveOrder: true,
  });
  t.after(async () => {
    engine.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function write(
    schema: StructType,
    rows: readonly Row[],
    options: Partial<WriterOptions> & { hasGaps?: boolean } = {},
  ) {
    const path = join(folder, `${randomUUID()}.parquet`);
    const { parquet, vectors } = vectorsOf(schema, rows, options);
    const table = { schema, partitionColumns: [], configuration: {} };
    const file = { schema: parquet, vectors, rows: rows.length, table };
    return { path, ...(await createParquetWriter({ compress, ...options }).write(path, file, signal)) };
  }

  /** Fails where DuckDB reads other rows than it was given, also by so little as the sign of a zero. */
  async function requireRows(path: string, schema: StructType, rows: readonly Row[]): Promise<void> {
    await createTableOf(engine, "expected", schema, rows);
    const different = await engine.rows(
      `SELECT e::VARCHAR AS expected, r::VARCHAR AS was
       FROM (SELECT row_number() OVER () AS place, e FROM expected AS e)
       FULL JOIN (SELECT row_number() OVER () AS place, r FROM read_parquet(${quoteText(path)}) AS r) USING (place)
       WHERE e IS DISTINCT FROM r OR e::VARCHAR IS DISTINCT FROM r::VARCHAR LIMIT 3`,
    );
    assert.deepEqual(different, []);
  }

  /** What DuckDB's own encoder says of the same rows. */
  async function statsByDuckDb(schema: StructType): Promise<string> {
    const [file] = await writeRowFiles({
      engine,
      rows: "expected",
      keys: "expected",
      schema,
      partitionColumns: [],
      configuration: {},
      stagingDir: folder,
      signal,
    });
    await rm(file!.file);
    return file!.stats;
  }
  return { engine, write, requireRows, statsByDuckDb };
}

const column = (engine: Engine, path: string, what: string) =>
  engine.rows(
    `SELECT row_group_id::INTEGER AS "group", path_in_schema AS path, ${what} FROM parquet_metadata(${quoteText(path)})
     ORDER BY row_group_id, column_id`,
  );

test("DuckDB reads any rows of any schema as they were, and its own file has the same statistics", async (t) => {
  const { write, requireRows, statsByDuckDb } = await openBench(t);
  await fc.assert(
    fc.asyncProperty(
      tables(60),
      fc.record({
        groupRows: fc.constantFrom(7, 1000),
        pageRows: fc.constantFrom(3, 1000),
        hasGaps: fc.boolean(),
      }),
      async ({ schema, rows }, options) => {
        const { path, stats } = await write(schema, rows, options);
        await requireRows(path, schema, rows);
        assert.equal(stats, await statsByDuckDb(schema));
      },
    ),
    { numRuns: Number(process.env.LAB_PROPERTY_RUNS ?? 60) },
  );
});

test("long columns of every encoding come back, over several pages and row groups", async (t) => {
  const { write, requireRows, statsByDuckDb, engine } = await openBench(t);
  const rows = Array.from({ length: 2500 }, (_, i) => exampleRow(i));
  const { path, size, stats } = await write(EXAMPLE, rows, {
    groupRows: 1100,
    pageRows: 300,
    hasGaps: true,
  });
  await requireRows(path, EXAMPLE, rows);
  assert.equal(stats, await statsByDuckDb(EXAMPLE));
  assert.equal((await stat(path)).size, size);
  const groups = await column(
    engine,
    path,
    "row_group_num_rows::INTEGER AS rows, stats_null_count::INTEGER AS nulls",
  );
  const ids = groups.filter((group) => group.path === "id");
  assert.deepEqual(
    ids.map(({ rows, nulls }) => [rows, nulls]),
    [
      [1100, 0],
      [1100, 0],
      [300, 0],
    ],
  );
  const nulls = groups.filter((group) => group.path === "in, a").map((group) => group.nulls as number);
  assert.equal(nulls[2], rows.slice(2200).filter((row) => !row.in).length);
  const encodings = await column(engine, path, "encodings, compression");
  const encodingOf = (name: string) => String(encodings.find((each) => each.path === name)!.encodings);
  for (const [name, encoding] of [
    ["near", "DELTA_BINARY_PACKED"],
    ["far", "DELTA_BINARY_PACKED"],
    ["i", "DELTA_BINARY_PACKED"],
    ["any", "PLAIN"],
    ["d", "PLAIN"],
    ["few", "RLE_DICTIONARY"],
    ["word", "RLE_DICTIONARY"],
    ["text", "DELTA_LENGTH_BYTE_ARRAY"],
    ["structs, list, element, k", "RLE_DICTIONARY"],
  ] as const)
    assert.match(encodingOf(name), new RegExp(`${encoding}$`), name);
});
