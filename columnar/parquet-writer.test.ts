import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { access, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import { readFooter } from "../delta/parquet/footer.ts";
import { leafReader, type Value } from "../delta/parquet/leaf.ts";
import { listPages } from "../delta/parquet/pages.ts";
import { type Slice, sliceText } from "../delta/slice.ts";
import type { StructType } from "../delta/types.ts";
import { type Engine, openEngine, quoteText } from "../engine/instance.ts";
import { writeRowFiles } from "../engine/row-files.ts";
import { openColumns } from "./columns.ts";
import { createTableOf, EXAMPLE, exampleRow, field, struct, tables } from "./parquet-values.fixture.ts";
import { type Row, vectorsOf } from "./parquet-vectors.fixture.ts";
import { createParquetWriter, type ParquetFile, type WriterOptions } from "./parquet-writer.ts";
import { loadZstd } from "./parquet-zstd.ts";

const signal = new AbortController().signal;
const compress = loadZstd(1)!;
const columns = openColumns();
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

  async function write(schema: StructType, rows: readonly Row[], options: Partial<WriterOptions> = {}) {
    const path = join(folder, `${randomUUID()}.parquet`);
    const { parquet, vectors } = vectorsOf(columns, schema, rows);
    const table = { schema, partitionColumns: [], configuration: {} };
    const file = { schema: parquet, vectors, rows: rows.length, table };
    return {
      path,
      ...(await createParquetWriter(columns, { compress, ...options }).write(path, file, signal)),
    };
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

const columnOf = (engine: Engine, path: string, what: string) =>
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
  });
  await requireRows(path, EXAMPLE, rows);
  assert.equal(stats, await statsByDuckDb(EXAMPLE));
  assert.equal((await stat(path)).size, size);
  const groups = await columnOf(
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
  const encodings = await columnOf(engine, path, "encodings, compression");
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

test("nothing repeated pays: a column is written as it is where a dictionary or compression would not make it smaller", async (t) => {
  const { write, engine } = await openBench(t);
  const schema = struct(field("any", "long"), field("one", "string"), field("two", "binary"));
  const rows = Array.from({ length: 3000 }, (_, i) => ({
    any: BigInt.asIntN(64, BigInt(i) * 0x9e3779b97f4a7c15n),
    one: "the same again",
    two: new Uint8Array(randomBytes(20)),
  }));
  const { path } = await write(schema, rows);
  assert.deepEqual(
    (await columnOf(engine, path, "compression, encodings, total_compressed_size::INTEGER AS size")).map(
      ({ path: name, compression, encodings, size }) => [
        name,
        compression,
        encodings,
        (size as number) < 24_500,
      ],
    ),
    [
      ["any", "UNCOMPRESSED", "RLE, PLAIN", true],
      ["one", "UNCOMPRESSED", "PLAIN, RLE, RLE_DICTIONARY", true],
      ["two", "UNCOMPRESSED", "RLE, DELTA_LENGTH_BYTE_ARRAY", false],
    ],
  );
});

test("values whose hashes are alike, and columns that stop repeating themselves, are written all the same", async (t) => {
  const { write, requireRows } = await openBench(t);
  const schema = struct(field("late", "string"), field("long", "string"), field("number", "long"));
  // Long values are hashed by their ends: these differ in the middle only.
  const long = (i: number) => `${"x".repeat(300)}${i}${"y".repeat(300)}`;
  const rows = Array.from({ length: 1500 }, (_, i) => ({
    late: i < 700 ? `${i % 3}` : `new ${i}`,
    long: long(i % 200),
    number: BigInt(i < 800 ? i % 5 : i * 1_000_003),
  }));
  const { path } = await write(schema, rows);
  await requireRows(path, schema, rows);
});

test("the reader of checkpoints finds the same in plain and dictionary pages", async (t) => {
  const { write } = await openBench(t);
  const schema = struct(field("word", "string"), field("n", "long"), field("t", "boolean", false));
  const rows = Array.from({ length: 1000 }, (_, i) => ({
    word: i % 5 === 0 ? null : `w${i % 7}`,
    n: i % 3 === 0 ? null : BigInt(i % 4) * 10n ** 12n,
    t: i % 2 === 0,
  }));
  const { path } = await write(schema, rows, { groupRows: 600, pageRows: 250, compress: (bytes) => bytes });
  const bytes = await readFile(path);
  const { fields, rowGroups } = readFooter(bytes);
  const found: unknown[][] = [];
  const leaves = fields.map((node) => leafReader(node));
  for (const group of rowGroups) {
    for (const [at, chunk] of group.columns.entries())
      leaves[at]!.begin(listPages(bytes, chunk, fields[at]!)!);
    for (let row = 0; row < group.rows; row++) found.push(leaves.map((leaf) => plainValue(leaf.next())));
  }
  assert.deepEqual(
    found,
    rows.map(({ word, n, t: flag }) => [word, n, flag]),
  );
});

/** As the rows have it: the reader gives texts where they lie, and numbers that a double holds as such. */
function plainValue(value: Value | undefined): unknown {
  if (value === undefined) return null;
  if (typeof value === "number") return BigInt(value);
  return typeof value === "object" ? sliceText(value as Slice) : value;
}

test("vectors that do not fit the schema or the rows are refused before anything is written, and no file is written over", async (t) => {
  const { write } = await openBench(t);
  const schema = struct(field("a", "long"));
  const { path } = await write(schema, [{ a: 1n }]);
  const { parquet, vectors } = vectorsOf(columns, schema, [{ a: 1n }]);
  const table = { schema, partitionColumns: [], configuration: {} };
  const writer = createParquetWriter(columns, { compress });
  const isRefused = (file: Partial<ParquetFile>) =>
    assert.rejects(
      writer.write(`${path}.new`, { schema: parquet, vectors, rows: 1, table, ...file }, signal),
      (error) => isLabError(error, "INTERNAL"),
    );
  await isRefused({ rows: 0 });
  await isRefused({ rows: 2 });
  await isRefused({ vectors: [] });
  await isRefused({ vectors: vectorsOf(columns, schema, [{ a: 1n }]).vectors });
  await assert.rejects(access(`${path}.new`));
  await assert.rejects(
    writer.write(path, { schema: parquet, vectors, rows: 1, table }, signal),
    (error) => (error as NodeJS.ErrnoException).code === "EEXIST",
  );
  await assert.rejects(
    writer.write(`${path}.new`, { schema: parquet, vectors, rows: 1, table }, AbortSignal.abort()),
    { name: "AbortError" },
  );
});

test("statistics are written for the columns that the table's properties name", async (t) => {
  const schema = struct(field("a", "long"), field("b", "string"), field("day", "date"));
  const row = { a: 5n, b: "x", day: 1 };
  const { parquet, vectors } = vectorsOf(columns, schema, [row], { partitionColumns: ["day"] });
  const table = {
    schema,
    partitionColumns: ["day"],
    configuration: { "delta.dataSkippingStatsColumns": "b" },
  };
  const { write } = await openBench(t);
  const { path } = await write(schema, [row]);
  const file = { schema: parquet, vectors, rows: 1, table };
  const { stats } = await createParquetWriter(columns, { compress }).write(`${path}.2`, file, signal);
  assert.equal(stats, '{"numRecords":1,"minValues":{"b":"x"},"maxValues":{"b":"x"},"nullCount":{"b":0}}');
});
