import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { encodePath } from "../delta/path.ts";
import { localStore } from "../delta/store/local.ts";
import type { DataType, StructField } from "../delta/types.ts";
import { locateFiles } from "./data-files.ts";
import { openEngine, textList } from "./instance.ts";
import { stream, type Value } from "./result.ts";
import { createRelation, type RelationOptions, type ScanFile } from "./scan.ts";
import { relationText } from "./scan-text.ts";

const signal = new AbortController().signal;

/** Files that DuckDB writes into a folder of the test, read back as one relation. */
async function setUp(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "scan-"));
  const store = localStore(folder);
  const engine = await openEngine({
    memoryLimitBytes: 500_000_000,
    threads: 2,
    tempDir: null,
    preserveOrder: true,
  });
  t.after(async () => {
    engine.close();
    await rm(folder, { recursive: true });
  });
  return {
    engine,
    folder,
    async write(
      name: string,
      select: string,
      partitionValues: Record<string, string | null> = {},
    ): Promise<Add> {
      const file = join(folder, name).replaceAll("'", "''");
      await engine.run(`COPY (${select}) TO '${file}' (FORMAT parquet)`);
      return { path: encodePath(name), partitionValues, size: 1, modificationTime: 0, dataChange: true };
    },
    async read(
      fields: StructField[],
      adds: Add[],
      partitionColumns: string[] = [],
      sql = "SELECT * FROM t",
      mapping: "none" | "name" | "id" = "none",
    ) {
      const data = await locateFiles(store, adds, undefined, signal);
      const of = table(fields, partitionColumns, mapping);
      await createRelation(engine, { name: "t", table: of, data, signal });
      const run = async (statement: string, lists = {}) => {
        const rows: Value[][] = [];
        const result = await stream(engine, statement, signal, { lists });
        for await (const chunk of result.chunks) rows.push(...chunk);
        return {
          names: result.columns.map((column) => column.name),
          types: result.columns.map((c) => c.sql),
          rows,
        };
      };
      try {
        const found = await run(sql);
        // Without a view it is the same.
        const lists: Record<string, readonly string[]> = {};
        const listOf = (paths: readonly string[]) => {
          lists.files = paths;
          return "$files";
        };
        for (const how of [textList, listOf]) {
          const { constant: constantOf } = engine;
          const about = { table: of, files: data.files, names: undefined, listOf: how, constantOf };
          const text = await relationText(about);
          if (text === undefined) continue;
          assert.deepEqual(await run(`WITH t AS NOT MATERIALIZED (${text}) ${sql}`, lists), found);
        }
        return found;
      } catch (error) {
        throw await data.explain(error);
      }
    },
  };
}

function field(name: string, type: DataType): StructField {
  return { name, type, nullable: true, metadata: {} };
}

function table(
  fields: StructField[],
  partitionColumns: string[],
  mapping: "none" | "name" | "id",
): RelationOptions["table"] {
  const schema = { type: "struct" as const, fields };
  return {
    schema,
    partitionColumns,
    protocol: { minReaderVersion: mapping === "none" ? 1 : 2, minWriterVersion: 5 },
    metadata: {
      id: "t",
      format: { provider: "parquet", options: {} },
      schemaString: JSON.stringify(schema),
      partitionColumns,
      configuration: { "delta.columnMapping.mode": mapping },
    },
  };
}

test("columns come in the table's order and type, whatever order, case and width the file has", async (t) => {
  const { write, read } = await setUp(t);
  const add = await write("a.parquet", "SELECT 'x' AS name, 7::INTEGER AS ID, 'ignored' AS other");
  const { names, types, rows } = await read([field("id", "long"), field("name", "string")], [add]);
  assert.deepEqual(names, ["id", "name"]);
  assert.deepEqual(types, ["BIGINT", "VARCHAR"]);
  assert.deepEqual(rows, [[7n, "x"]]);
});

test("what a file lacks is NULL, at every level", async (t) => {
  const { write, read } = await setUp(t);
  const old = await write(
    "old.parquet",
    "SELECT 1 AS id, {'a': 1} AS s, [{'p': 1}] AS l, MAP {'k': {'m': 1}} AS m",
  );
  const young = await write(
    "young.parquet",
    "SELECT 2 AS id, {'b': 'q', 'a': 2} AS s, [{'q': 'n', 'p': 2}] AS l, MAP {'k': {'n': 2, 'm': 1}} AS m, 1.5 AS extra",
  );
  const struct = (...fields: StructField[]) => ({ type: "struct" as const, fields });
  const { rows } = await read(
    [
      field("id", "integer"),
      field("s", struct(field("a", "integer"), field("b", "string"))),
      field("l", {
        type: "array",
        elementType: struct(field("p", "integer"), field("q", "string")),
        containsNull: true,
      }),
      field("m", {
        type: "map",
        keyType: "string",
        valueType: struct(field("m", "integer"), field("n", "integer")),
        valueContainsNull: true,
      }),
      field("extra", "decimal(10,2)"),
      field("never", "binary"),
    ],
    [old, young],
  );
  assert.deepEqual(rows, [
    [1, [1, null], [[1, null]], [["k", [1, null]]], null, null],
    [2, [2, "q"], [[2, "n"]], [["k", [1, 2]]], 150n, null],
  ]);
});

test("partition columns are typed by the schema and come from the log alone", async (t) => {
  const { write, read } = await setUp(t);
  const types: [string, DataType, string, Value][] = [
    ["i", "integer", "07", 7],
    ["l", "long", "9223372036854775807", 9223372036854775807n],
    ["d", "date", "2024-02-29", 19782],
    ["t", "timestamp", "2020-01-01 00:00:00.000001", 1577836800000001n],
    ["z", "timestamp", "2020-01-01T00:00:00.000001Z", 1577836800000001n],
    ["n", "timestamp_ntz", "2020-01-01 00:00:00", 1577836800000000n],
    ["c", "decimal(5,2)", "12.5", 1250n],
    ["f", "double", "1.0E10", 1e10],
    ["b", "boolean", "true", true],
    ["y", "binary", "é", Buffer.from("é")],
    ["s", "string", "a=b/c %20 'quoted'", "a=b/c %20 'quoted'"],
  ];
  const values = Object.fromEntries(types.map(([name, , text]) => [name, text]));
  const none = Object.fromEntries(types.map(([name], index) => [name, index % 2 === 0 ? null : ""]));
  const full = await write("i=99.parquet", "SELECT 1 AS id", values);
  const empty = await write("empty.parquet", "SELECT 2 AS id", none);
  const fields = [field("id", "integer"), ...types.map(([name, type]) => field(name, type))];
  const partitionColumns = types.map(([name]) => name);
  const { rows } = await read(fields, [full, empty], partitionColumns, "SELECT * FROM t ORDER BY id");
  assert.deepEqual(rows[0], [1, ...types.map(([, , , value]) => value)]);
  assert.deepEqual(rows[1], [2, ...types.map(() => null)]);
});

test("the rows of a partitioned table come in the order of their files", async (t) => {
  const { write, read } = await setUp(t);
  const one = await write("one.parquet", "SELECT range::INTEGER AS id FROM range(5000)", { p: "2024-01-01" });
  const two = await write("two.parquet", "SELECT 5000 + range::INTEGER AS id FROM range(10)", { p: null });
  const fields = [field("id", "integer"), field("p", "date")];
  for (const adds of [[one], [two], [one, two]]) {
    const { rows, types } = await read(fields, adds, ["p"]);
    const ids = rows.map((row) => Number(row[0]));
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
    assert.deepEqual(types, ["INTEGER", "DATE"]);
    assert.equal(rows.at(-1)![1], adds.at(-1) === one ? 19723 : null);
  }
});

test("names with pattern characters, percent signs and quotes mean one file each", async (t) => {
  const { write, read } = await setUp(t);
  const names = [
    "a*b.parquet",
    "aXb.parquet",
    "a?b.parquet",
    "a[1]b.parquet",
    "a1b.parquet",
    "a%20b c'd.parquet",
    "é{x}.parquet",
  ];
  const adds = await Promise.all(names.map((name, index) => write(name, `SELECT ${index} AS id`)));
  for (const [index, add] of adds.entries()) {
    const { rows } = await read([field("id", "integer")], [add]);
    assert.deepEqual(rows, [[index]], names[index]);
  }
});

test("columns named like those of the scan itself are the table's own", async (t) => {
  const { write, read } = await setUp(t);
  const add = await write(
    "a.parquet",
    `SELECT 'mine' AS filename, 5 AS file_index, 6 AS file_row_number, 'q' AS "a""b.c"`,
  );
  const fields = [
    field("filename", "string"),
    field("file_index", "integer"),
    field("file_row_number", "integer"),
    field('a"b.c', "string"),
  ];
  const { rows } = await read(
    [...fields, field("p", "integer")],
    [{ ...add, partitionValues: { p: "1" } }],
    ["p"],
  );
  assert.deepEqual(rows, [["mine", 5, 6, "q", 1]]);
});

test("timestamps with and without zone are told apart by the schema, not by the file", async (t) => {
  const { write, read } = await setUp(t);
  const add = await write(
    "a.parquet",
    "SELECT TIMESTAMP '2020-01-01 00:00:00.000001' AS moment, TIMESTAMP_MS '1969-12-31 23:59:59.999' AS ms, TIMESTAMPTZ '2020-01-01 00:00:00+00' AS wall",
  );
  const { types, rows } = await read(
    [field("moment", "timestamp"), field("ms", "timestamp"), field("wall", "timestamp_ntz")],
    [add],
  );
  assert.deepEqual(types, ["TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP"]);
  assert.deepEqual(rows, [[1577836800000001n, -1000n, 1577836800000000n]]);
});

test("a table without files, or with only partition and void columns, has its columns and its rows", async (t) => {
  const { write, read } = await setUp(t);
  const none = await read([field("id", "long"), field("p", "date")], [], ["p"]);
  assert.deepEqual([none.types, none.rows], [["BIGINT", "DATE"], []]);
  const add = await write("a.parquet", "SELECT range AS id FROM range(3)", { p: "1" });
  const thin = await read([field("p", "integer"), field("v", "void")], [add], ["p"]);
  assert.deepEqual(thin.rows, [
    [1, null],
    [1, null],
    [1, null],
  ]);
});

test("a missing file is named, and so is a feature that is not read", async (t) => {
  const { write, read } = await setUp(t);
  const there = await write("a.parquet", "SELECT 1 AS id");
  const gone = { ...there, path: "gone%20one.parquet" };
  await assert.rejects(read([field("id", "integer")], [there, gone]), (error) => {
    return isLabError(error, "DATA_FILE_MISSING") && error.message.includes("gone%20one.parquet");
  });
  for (const fields of [[field("id", "variant")], []]) {
    await assert.rejects(read(fields, [there]), (error) => isLabError(error, "UNSUPPORTED_FEATURE"));
  }
});

/** A field known to files by another name and by an id. */
function mapped(name: string, type: DataType, physical: string, id: number): StructField {
  return {
    ...field(name, type),
    metadata: { "delta.columnMapping.physicalName": physical, "delta.columnMapping.id": id },
  };
}

test("columns are found by their physical names, at every level, and partition values too", async (t) => {
  const { write, read } = await setUp(t);
  const add = await write(
    "a.parquet",
    `SELECT 1 AS "col-a", {'x-1': 5, 'x-2': [{'y-1': 'q'}, NULL]} AS "col-s", NULL::STRUCT("x-1" INTEGER) AS "col-n",
     MAP {'k': {'z-1': 7}} AS "col-m", NULL::MAP(VARCHAR, STRUCT("z-1" INTEGER)) AS "col-u", 'wrong' AS name`,
    { "col-p": "2024-01-01" },
  );
  const struct = (...fields: StructField[]) => ({ type: "struct" as const, fields });
  const map = {
    type: "map" as const,
    keyType: "string" as const,
    valueType: struct(mapped("n", "integer", "z-1", 9)),
    valueContainsNull: true,
  };
  const list = {
    type: "array" as const,
    elementType: struct(mapped("y", "string", "y-1", 8)),
    containsNull: true,
  };
  const fields = [
    mapped("name", "integer", "col-a", 1),
    mapped(
      "s",
      struct(mapped("a", "integer", "x-1", 6), mapped("b", list, "x-2", 7), mapped("new", "date", "x-3", 10)),
      "col-s",
      2,
    ),
    mapped("n", struct(mapped("a", "integer", "x-1", 11)), "col-n", 3),
    mapped("m", map, "col-m", 4),
    mapped("u", map, "col-u", 5),
    mapped("p", "date", "col-p", 12),
  ];
  const { names, types, rows } = await read(fields, [add], ["p"], "SELECT * FROM t", "name");
  assert.deepEqual(names, ["name", "s", "n", "m", "u", "p"]);
  assert.equal(
    types[1],
    'STRUCT(a INTEGER, b STRUCT(y VARCHAR)[], "new" DATE)'.replace(
      /(\w+) (INTEGER|STRUCT|VARCHAR)/g,
      '"$1" $2',
    ),
  );
  assert.deepEqual(rows, [[1, [5, [["q"], null], null], null, [["k", [7]]], null, 19723]]);
});

test("columns are found by their ids where the table says so, and a file without ids has none of them", async (t) => {
  const { write, read, engine, folder } = await setUp(t);
  await engine.run(
    `COPY (SELECT 1 AS other, 'x' AS name) TO '${folder}/ids.parquet' (FORMAT parquet, FIELD_IDS {other: 7, name: 8})`,
  );
  const withIds = {
    path: "ids.parquet",
    partitionValues: {},
    size: 1,
    modificationTime: 0,
    dataChange: true,
  };
  const withoutIds = await write("none.parquet", "SELECT 2 AS other, 'y' AS name");
  const fields = [mapped("name", "integer", "other", 7), mapped("renamed", "string", "name", 8)];
  const { rows } = await read(fields, [withIds, withoutIds], [], "SELECT * FROM t", "id");
  assert.deepEqual(rows, [
    [1, "x"],
    [null, null],
  ]);
});

test("rows that a deletion vector takes out are not there", async (t) => {
  const { write, read } = await setUp(t);
  const plain = await write("plain.parquet", "SELECT range::INTEGER AS id FROM range(3)", { p: "a" });
  const cut = await write("cut.parquet", "SELECT 10 + range::INTEGER AS id FROM range(7)", { p: "b" });
  const pathOrInlineDv = "^Bg9^0rr910000000000iXQKl0rr91000935c8Xg000311onP9";
  const deletionVector = { storageType: "i" as const, pathOrInlineDv, sizeInBytes: 40, cardinality: 4n };
  const fields = [field("id", "integer"), field("p", "string")];
  const sql = "SELECT * FROM t ORDER BY id";
  const { rows } = await read(fields, [plain, { ...cut, deletionVector }], ["p"], sql);
  assert.deepEqual(rows, [
    [0, "a"],
    [1, "a"],
    [2, "a"],
    [12, "b"],
    [13, "b"],
    [16, "b"],
  ]);
  assert.deepEqual(
    (await read(fields, [{ ...cut, deletionVector }], ["p"], "SELECT count(*) FROM t WHERE id > 12")).rows,
    [[2n]],
  );
});

test("a partition value that does not fit its column is a damaged log", async (t) => {
  const { write, read } = await setUp(t);
  const add = await write("a.parquet", "SELECT 1 AS id", { p: "seven" });
  await assert.rejects(read([field("id", "integer"), field("p", "integer")], [add], ["p"]), (error) =>
    isLabError(error, "CORRUPT_LOG"),
  );
});

test("a data file that is no Parquet is a damaged one, by its name", async (t) => {
  const { write, read, folder } = await setUp(t);
  const whole = await write("a b.parquet", "SELECT 1 AS id");
  for (const bytes of ["", "PAR1", "PAR1 no Parquet PAR1"]) {
    await writeFile(join(folder, "a b.parquet"), bytes);
    await assert.rejects(
      read([field("id", "integer")], [whole]),
      (error) => isLabError(error, "CORRUPT_LOG") && error.message.includes("a%20b.parquet"),
    );
  }
});

test("what has no value here is refused by name: a struct without fields, and one with a field __proto__", async (t) => {
  const { write, read } = await setUp(t);
  const add = await write("a.parquet", `SELECT {'__proto__': 1} AS s`);
  for (const fields of [[], [field("__proto__", "integer")]])
    await assert.rejects(read([field("s", { type: "struct", fields })], [add]), (error) =>
      isLabError(error, "UNSUPPORTED_FEATURE"),
    );
});

test("a partition column named like something that every object has is NULL where the log says nothing", async (t) => {
  const { write, read } = await setUp(t);
  const add = await write("a.parquet", "SELECT 1 AS id");
  const names = ["constructor", "__proto__", "toString"];
  const { rows } = await read(
    [field("id", "integer"), ...names.map((name) => field(name, "string"))],
    [add],
    names,
  );
  assert.deepEqual(rows, [[1, null, null, null]]);
});

test("a relation is a text where nothing needs to be made for it, and of no more columns than are named", async () => {
  const of = table([field("day", "date"), field("ID", "long"), field("note", "string")], ["day"], "none");
  const file = (day: string, more: Partial<ScanFile> = {}): ScanFile => ({
    add: { path: "x", partitionValues: { day }, size: 1, modificationTime: 0, dataChange: true },
    file: "/x[1].parquet",
    ...more,
  });
  const constantOf = async (sql: string) => sql;
  const text = (files: readonly ScanFile[], names?: string[]) =>
    relationText({ table: of, files, names: names && new Set(names), listOf: textList, constantOf });
  const two = [file("2026-01-01"), file("2026-01-02")];
  assert.match(
    (await text([two[0]!]))!,
    /CAST\(\('2026-01-01'\) AS DATE\) AS "day", f\.c1 AS "ID", f\.c2 AS "note"/,
  );
  assert.match(
    (await text(two, ["day"]))!,
    /^SELECT \[.*2026-01-02.*\]\[CAST\(f\.file_index AS BIGINT\) \+ 1\] AS "day" FROM/,
  );
  const named = (await text(two, ["id", "nothing"]))!;
  assert.match(named, /^SELECT f\.c1 AS "ID" FROM read_parquet\(\['\/x\[\[\]1\]\.parquet'/);
  assert.doesNotMatch(named, /note|2026/);
  assert.match((await text(two, []))!, /^SELECT NULL AS "lab nothing" FROM/);
  assert.equal(await text([]), undefined);
  assert.equal(await text([file("2026-01-01", { deleted: new Float64Array(1) })]), undefined);
  assert.equal(await text([file("2026-01-01", { only: new Float64Array(1) })]), undefined);
  assert.equal(await text([file("1 May")]), undefined, "DuckDB is to complain of it");
  assert.equal(
    await text(Array.from({ length: 100 }, (_, n) => file(n < 99 ? "2026-01-01" : "2026-01-02"))),
    undefined,
  );
  const mapped = table([field("id", "long")], [], "id");
  const byId = { table: mapped, files: two, names: undefined, listOf: textList, constantOf };
  assert.equal(await relationText(byId), undefined);
});
