import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { decodePath } from "../delta/path.ts";
import { signal, type TestTable, testTable } from "../test/support/upkeep-table.ts";
import { deleteRows } from "./delete.ts";
import { overwriteRows } from "./overwrite.ts";
import { updateRows } from "./update.ts";

const COLUMNS = { id: "long", p: "string", v: "double" } as const;
const PARTITIONED = { partitionColumns: ["p"] };
const PARTITIONED_BY_ROWID = { partitionColumns: ["rowid"] };
const FEED = { configuration: { "delta.enableChangeDataFeed": "true" } };
const ids = (from: number, to: number, p = "id % 2") =>
  `SELECT range AS id, CAST(${p.replace("id", "range")} AS VARCHAR) AS p, range / 2.0 AS v FROM range(${from}, ${to})`;

async function idsIn(one: TestTable, version?: number): Promise<number[]> {
  return (await one.rows(version)).map((row) => JSON.parse(row).id).sort((a, b) => a - b);
}

test("a delete takes the rows for which the condition is true, and no others", async (t) => {
  const one = await testTable(t, COLUMNS);
  await one.append("SELECT * FROM (VALUES (1, 'a', 1.0), (2, NULL, 2.0), (3, 'b', NULL)) AS x(id, p, v)");
  const result = await deleteRows(one.table, { ...one, where: "p <> 'b'", signal });
  assert.equal(result.deleted, 1n);
  assert.deepEqual(await idsIn(one), [2, 3], "unknown is not true");
  assert.deepEqual(await idsIn(one, 1), [1, 2, 3], "older versions stay");
});

test("a delete writes again only the files that keep some rows, and removes those that keep none", async (t) => {
  const one = await testTable(t, COLUMNS);
  await one.append(ids(0, 10));
  await one.append(ids(10, 20));
  await one.append(ids(20, 30));
  const result = await deleteRows(one.table, { ...one, where: "id BETWEEN 5 AND 19", signal });
  assert.deepEqual(
    { ...result, version: undefined },
    {
      version: undefined,
      deleted: 15n,
      updated: 0n,
      inserted: 0n,
      copied: 5n,
      filesAdded: 1,
      filesRemoved: 2,
      decisions: 1,
    },
  );
  assert.deepEqual(await idsIn(one), [0, 1, 2, 3, 4, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
});

test("a delete that finds nothing makes no version; one without a condition empties the table", async (t) => {
  const one = await testTable(t, COLUMNS);
  await one.append(ids(0, 10));
  assert.equal((await deleteRows(one.table, { ...one, where: "id > 99", signal })).version, null);
  assert.equal((await deleteRows(one.table, { ...one, signal })).deleted, 10n);
  assert.deepEqual(await idsIn(one), []);
});

test("an update sets columns of the rows that are meant; they may move to another partition", async (t) => {
  const one = await testTable(t, COLUMNS, PARTITIONED);
  await one.append(ids(0, 6));
  const set = { p: "'moved'", v: "v + id" };
  const result = await updateRows(one.table, { ...one, set, where: "id >= 4", signal });
  assert.equal(result.updated, 2n);
  assert.equal(result.copied, 4n);
  const rows = (await one.rows()).map((row) => JSON.parse(row));
  assert.deepEqual(
    rows.filter((row) => row.id >= 3).map(({ id, p, v }) => [id, p, v]),
    [
      [3, "1", 1.5],
      [4, "moved", 6],
      [5, "moved", 7.5],
    ],
  );
  const partitions = [...(await one.snapshot()).files()].map((add) => add.partitionValues.p);
  assert.deepEqual(partitions.sort(), ["0", "1", "moved"]);
});

test("an overwrite puts new rows in the place of all rows, and may make them of the old ones", async (t) => {
  const one = await testTable(t, COLUMNS);
  await one.append(ids(0, 4));
  await one.append(ids(2, 6));
  const select = "SELECT DISTINCT * FROM current";
  const result = await overwriteRows(one.table, { ...one, select, replace: "table", signal });
  assert.equal(result.deleted, 8n);
  assert.equal(result.inserted, 6n);
  assert.deepEqual(await idsIn(one), [0, 1, 2, 3, 4, 5]);
});

test("an overwrite by condition replaces the rows that it takes, and refuses new ones that it does not", async (t) => {
  const one = await testTable(t, COLUMNS);
  await one.append(ids(0, 10));
  const replace = { where: "id < 5" };
  const outside = overwriteRows(one.table, { ...one, select: "SELECT 7 AS id", replace, signal });
  await assert.rejects(outside, (error) => isLabError(error, "SCHEMA_MISMATCH"));
  const select = "SELECT -1 AS id";
  const result = await overwriteRows(one.table, { ...one, select, replace, signal });
  assert.deepEqual([result.deleted, result.inserted, result.copied], [5n, 1n, 5n]);
  assert.deepEqual(await idsIn(one), [-1, 5, 6, 7, 8, 9]);
});

test("a dynamic overwrite replaces just the partitions that the new rows fall into", async (t) => {
  const one = await testTable(t, { id: "long", p: "date" }, PARTITIONED);
  await one.append(
    "SELECT range AS id, DATE '2024-01-01' + CAST(range % 3 AS INTEGER) AS p FROM range(0, 9)",
  );
  const select = "SELECT 100 AS id, DATE '2024-01-02' AS p UNION ALL SELECT 101, NULL";
  await overwriteRows(one.table, { ...one, select, replace: "partitions", signal });
  assert.deepEqual(await idsIn(one), [0, 2, 3, 5, 6, 8, 100, 101]);
});

test("columns that the table lacks and values that do not fit are refused, and no file stays", async (t) => {
  const one = await testTable(t, COLUMNS);
  await one.append(ids(0, 2));
  const overwrite = (select: string) =>
    overwriteRows(one.table, { ...one, select, replace: "table", signal });
  await assert.rejects(overwrite("SELECT 1 AS id, 2 AS w"), (error) => isLabError(error, "SCHEMA_MISMATCH"));
  await assert.rejects(overwrite("SELECT 'x' AS id"), (error) => isLabError(error, "SQL_ERROR"));
  const update = (set: Record<string, string>) => updateRows(one.table, { ...one, set, signal });
  await assert.rejects(update({ w: "1" }), (error) => isLabError(error, "SCHEMA_MISMATCH"));
  await assert.rejects(update({ id: "nope" }), (error) => isLabError(error, "SQL_ERROR"));
  const files = (await readdir(join(one.folder, "table"))).filter((name) => name.endsWith(".parquet"));
  assert.equal(files.length, 1);
});

test("a condition over many rows, of chance or of the time is refused: it would not come out the same twice", async (t) => {
  const one = await testTable(t, COLUMNS);
  await one.append(ids(0, 2));
  for (const where of [
    "random() < 0.5",
    "id = (SELECT max(id) FROM current)",
    "sum(id) > 1",
    "id < 1); SELECT (1",
  ]) {
    await assert.rejects(
      deleteRows(one.table, { ...one, where, signal }),
      (error) => isLabError(error, "SQL_REFUSED", "SQL_ERROR"),
      where,
    );
  }
  assert.deepEqual(await idsIn(one), [0, 1]);
});

test("with the change data feed on, each changed row is told once, whole files by their removes alone", async (t) => {
  const one = await testTable(t, COLUMNS, FEED);
  await one.append(ids(0, 2));
  await one.append(ids(2, 4));
  const whole = await deleteRows(one.table, { ...one, where: "id < 2", signal });
  assert.deepEqual(await one.changes(whole.version!), []);
  const updated = await updateRows(one.table, { ...one, set: { v: "0" }, where: "id = 2", signal });
  const told = (await one.changes(updated.version!)).map((row) => JSON.parse(row));
  assert.deepEqual(
    told.map(({ id, v, _change_type }) => [id, v, _change_type]),
    [
      [2, 0, "update_postimage"],
      [2, 1, "update_preimage"],
    ],
  );
  const deleted = await deleteRows(one.table, { ...one, where: "id = 3", signal });
  assert.equal((await one.changes(deleted.version!)).length, 1);
});

test("files that partition values or statistics rule out are not read, nor those of which they say that all rows go", async (t) => {
  const one = await testTable(t, COLUMNS, PARTITIONED);
  await one.append(ids(0, 10));
  await one.append(ids(10, 20));
  const { table } = one;
  for (const add of (await one.snapshot()).files())
    if (add.partitionValues.p === "0") await rm(join(one.folder, "table", add.path));
  assert.equal(
    (await updateRows(table, { ...one, set: { v: "0" }, where: "p = '1' AND id = 3", signal })).updated,
    1n,
  );
  assert.equal((await deleteRows(table, { ...one, where: "p = '0'", signal })).deleted, 10n);
  for (const add of (await one.snapshot()).files())
    if (JSON.parse(add.stats!).minValues.id > 10) await rm(join(one.folder, "table", decodePath(add.path)));
  assert.equal((await deleteRows(table, { ...one, where: "id < 6", signal })).deleted, 3n);
});

test("a change that another writer got ahead of is decided anew", async (t) => {
  const one = await testTable(t, COLUMNS);
  await one.append(ids(0, 10));
  const { table } = one;
  const racing = {
    ...table,
    async commit(...args: Parameters<typeof table.commit>) {
      racing.commit = table.commit;
      await updateRows(table, { ...one, set: { v: "-1" }, where: "id >= 2", signal });
      return table.commit(...args);
    },
  };
  assert.equal((await deleteRows(racing, { ...one, where: "id < 3", signal })).decisions, 2);
  const rows = (await one.rows()).map((row) => JSON.parse(row));
  assert.deepEqual(
    rows.map(({ id, v }) => [id, v]),
    [3, 4, 5, 6, 7, 8, 9].map((id) => [id, -1]),
  );
});

test("a table that allows appends only is left alone", async (t) => {
  const one = await testTable(t, COLUMNS, { configuration: { "delta.appendOnly": "true" } });
  await one.append(ids(0, 2));
  const refused = (error: unknown) => isLabError(error, "APPEND_ONLY");
  await assert.rejects(deleteRows(one.table, { ...one, signal }), refused);
  await assert.rejects(updateRows(one.table, { ...one, set: { v: "1" }, signal }), refused);
});

test("columns may be called like what every relation of the engine has", async (t) => {
  const columns = { rowid: "string", hits: "long", rows: "long", place: "long", current: "long" } as const;
  const one = await testTable(t, columns, { ...PARTITIONED_BY_ROWID, ...FEED });
  const select =
    "SELECT 'k' || range % 3 AS rowid, range AS hits, 1 AS rows, 2 AS place, 3 AS current FROM range(9)";
  await one.append(select);
  const options = { ...one, where: "hits < 6 AND place = 2 AND current = 3 AND rowid <> 'k0'", signal };
  assert.equal((await updateRows(one.table, { ...options, set: { current: "4" } })).updated, 4n);
  assert.equal(
    (await deleteRows(one.table, { ...options, where: "current = 4 AND rowid = 'k1'" })).deleted,
    2n,
  );
  assert.equal((await one.rows()).length, 7);
});
