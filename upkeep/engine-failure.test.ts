import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { signal, testTable } from "../test/support/upkeep-table.ts";
import { deleteRows } from "./delete.ts";
import { optimize } from "./optimize.ts";
import { overwriteRows } from "./overwrite.ts";
import { updateRows } from "./update.ts";

const COLUMNS = { id: "long", p: "string" } as const;
const ROWS = "SELECT range AS id, 'p' || range AS p FROM range(10)";

test("what cannot be computed for some row is an error of the SQL, and nothing stays of the change", async (t) => {
  const one = await testTable(t, COLUMNS, { configuration: { "delta.enableChangeDataFeed": "true" } });
  await one.append(ROWS);
  const before = await readdir(one.tablePath, { recursive: true });
  const options = { ...one, signal };
  const changes = [
    () => deleteRows(one.table, { ...options, where: "CAST(p AS INTEGER) = 1" }),
    () => deleteRows(one.table, { ...options, where: "CASE WHEN id = 9 THEN error('no') ELSE id > 1 END" }),
    () => updateRows(one.table, { ...options, set: { id: "p" } }),
    () => updateRows(one.table, { ...options, set: { id: "id + 9223372036854775807" } }),
    () => updateRows(one.table, { ...options, set: { id: "'x'" }, where: "id = 3" }),
  ];
  for (const change of changes)
    await assert.rejects(change, (error) => isLabError(error, "SQL_ERROR"), change.toString());
  assert.deepEqual(await readdir(one.tablePath, { recursive: true }), before);
});

test("conditions and values are over the columns of the table and nothing else", async (t) => {
  const one = await testTable(t, COLUMNS);
  await one.append(ROWS);
  const options = { ...one, signal };
  for (const where of ['"lab file" = 0', 'current."lab row" > 3', "rowid = 1"])
    await assert.rejects(
      deleteRows(one.table, { ...options, where }),
      (error) => isLabError(error, "SQL_ERROR"),
      where,
    );
  await assert.rejects(updateRows(one.table, { ...options, set: { p: '"lab row"' } }), (error) =>
    isLabError(error, "SQL_ERROR"),
  );
  assert.equal((await deleteRows(one.table, { ...options, where: "current.id = 1" })).deleted, 1n);
});

test("a column that is given twice is refused, in whatever case", async (t) => {
  const one = await testTable(t, COLUMNS);
  await one.append(ROWS);
  const options = { ...one, signal };
  await assert.rejects(updateRows(one.table, { ...options, set: { id: "1", ID: "2" } }), (error) =>
    isLabError(error, "USAGE"),
  );
  const select = "SELECT 1 AS id, 2 AS ID";
  await assert.rejects(overwriteRows(one.table, { ...options, select, replace: "table" }), (error) =>
    isLabError(error, "SCHEMA_MISMATCH"),
  );
});

test("a data file that is damaged inside is named as damage, not as a fault of the program", async (t) => {
  const one = await testTable(t, COLUMNS);
  for (let i = 0; i < 2; i++) await one.append(ROWS);
  const [add] = (await one.snapshot()).files();
  const path = join(one.tablePath, add!.path);
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill(255, 4, 100));
  const damaged = (error: unknown) => isLabError(error, "CORRUPT_LOG");
  await assert.rejects(deleteRows(one.table, { ...one, where: "id = 3", signal }), damaged);
  await assert.rejects(optimize(one.table, { ...one, signal }), damaged);
});

test("memory that is too small is said with the way out, and nothing stays of the change", async (t) => {
  const one = await testTable(t, COLUMNS);
  for (let i = 0; i < 2; i++)
    await one.append("SELECT range AS id, repeat(md5(range::VARCHAR), 50000) AS p FROM range(4)");
  const before = await readdir(one.tablePath, { recursive: true });
  const options = { ...one, memoryLimitBytes: 4 * 1024 * 1024, signal };
  await assert.rejects(
    updateRows(one.table, { ...options, set: { id: "1" } }),
    (error) => isLabError(error, "QUERY_LIMIT") && error.hint?.includes("--memory") === true,
  );
  assert.deepEqual(await readdir(one.tablePath, { recursive: true }), before);
});

test("files whose statistics count rows wrongly are joined by the rows that are in them", async (t) => {
  const one = await testTable(t, COLUMNS);
  for (let i = 0; i < 2; i++) await one.append(ROWS);
  const log = join(one.tablePath, "_delta_log", `${"1".padStart(20, "0")}.json`);
  const text = await readFile(log, "utf8");
  await writeFile(log, text.replace('\\"numRecords\\":10', '\\"numRecords\\":11'));
  const before = await one.rows();
  assert.equal((await optimize(one.table, { ...one, signal })).filesAdded, 1);
  assert.deepEqual(await one.rows(), before);
  const [add] = (await one.snapshot()).files();
  assert.equal(JSON.parse(add!.stats!).numRecords, 20);
});
