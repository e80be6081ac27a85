import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Add, Remove } from "../delta/actions.ts";
import { signal, testTable } from "../test/support/upkeep-table.ts";
import { deleteRows } from "./delete.ts";
import { optimize } from "./optimize.ts";

const COLUMNS = { id: "long", p: "string", v: "string" } as const;
const rows = (from: number, to: number) =>
  `SELECT range AS id, CAST(range % 2 AS VARCHAR) AS p, 'v' || range AS v FROM range(${from}, ${to})`;

test("small files become one for each partition; rows, versions and the change of data stay what they were", async (t) => {
  const one = await testTable(t, COLUMNS, { partitionColumns: ["p"] });
  for (let i = 0; i < 5; i++) await one.append(rows(i * 10, i * 10 + 10));
  const before = await one.rows();
  const progress: number[] = [];
  const result = await optimize(one.table, { ...one, onProgress: (done) => progress.push(done), signal });
  assert.deepEqual([result.version, result.filesRemoved, result.filesAdded], [6, 10, 2]);
  assert.deepEqual(await one.rows(), before);
  assert.deepEqual(await one.rows(5), before, "older versions are read as ever");
  assert.equal(progress.at(-1), result.bytesRemoved);
  const actions = await one.table.commitActions(6, signal);
  const files = actions.flatMap<Add | Remove>((action) =>
    "add" in action ? [action.add] : "remove" in action ? [action.remove] : [],
  );
  assert.deepEqual(new Set(files.map((file) => file.dataChange)), new Set([false]));
  assert.equal((await optimize(one.table, { ...one, signal })).version, null, "nothing is left to do");
});

test("an optimize beside a busy appender: both always succeed, and no row is lost or doubled", async (t) => {
  const one = await testTable(t, COLUMNS);
  for (let i = 0; i < 4; i++) await one.append(rows(i * 5, i * 5 + 5));
  let isDone = false;
  const appended = (async () => {
    let next = 20;
    while (!isDone || next < 100) {
      await one.append(rows(next, next + 5));
      next += 5;
    }
    return next;
  })();
  for (let round = 0; round < 4; round++) {
    const result = await optimize(one.table, { ...one, signal });
    assert.equal(result.skipped, 0);
  }
  isDone = true;
  const count = await appended;
  const ids = (await one.rows()).map((row) => JSON.parse(row).id).sort((a, b) => a - b);
  assert.deepEqual(
    ids,
    Array.from({ length: count }, (_, id) => id),
  );
});

test("files that a delete changes meanwhile are left out, the others are joined, and the new file of the lost group goes", async (t) => {
  const one = await testTable(t, COLUMNS, { partitionColumns: ["p"] });
  for (let i = 0; i < 3; i++) await one.append(rows(i * 10, i * 10 + 10));
  const { table } = one;
  const racing = {
    ...table,
    async commit(...args: Parameters<typeof table.commit>) {
      racing.commit = table.commit;
      await deleteRows(table, { ...one, where: "id = 3", signal });
      return table.commit(...args);
    },
  };
  const result = await optimize(racing, { ...one, signal });
  assert.deepEqual([result.skipped, result.filesRemoved, result.filesAdded], [1, 3, 1]);
  const ids = (await one.rows()).map((row) => JSON.parse(row).id).sort((a, b) => a - b);
  assert.deepEqual(
    ids,
    Array.from({ length: 30 }, (_, id) => id).filter((id) => id !== 3),
  );
  const known = new Set<string>();
  for (let version = 0; version <= (await one.snapshot()).version; version++)
    for (const add of (await table.at({ version }, signal)).files()) known.add(add.path);
  const stored = (await readdir(join(one.folder, "table"), { recursive: true })).filter(
    (path) => path.endsWith(".parquet") && !path.startsWith("_"),
  );
  assert.deepEqual(
    stored.filter((path) => !known.has(path)),
    [],
  );
});

test("rows in Z-order fill files so that a filter on either column leaves most of them out", async (t) => {
  const one = await testTable(t, { x: "long", y: "long" });
  await one.append("SELECT hash(range) % 1000 AS x, hash(range + 7) % 1000 AS y FROM range(0, 20000)");
  const before = await one.rows();
  const { sizeBytes } = await one.snapshot();
  const options = { ...one, zorder: ["x", "Y"], targetBytes: sizeBytes / 16, signal };
  const result = await optimize(one.table, options);
  assert.equal(result.filesAdded, 16);
  assert.deepEqual(await one.rows(), before);
  const ranges = [...(await one.snapshot()).files()].map((add) => JSON.parse(add.stats!));
  for (const column of ["x", "y"]) {
    const values = Array.from({ length: 20 }, (_, i) => i * 50 + 25);
    const hits = values.map(
      (value) => ranges.filter((s) => s.minValues[column] <= value && s.maxValues[column] >= value).length,
    );
    const mean = hits.reduce((sum, hit) => sum + hit, 0) / hits.length;
    assert.ok(mean < 8, `${mean} of 16 files are read for one value of ${column}`);
  }
  assert.equal((await optimize(one.table, options)).version, null, "what is sorted so is left alone");
});

test("columns that no order helps are refused by name", async (t) => {
  const one = await testTable(
    t,
    { p: "string", a: "long", list: { type: "array", elementType: "long", containsNull: true }, b: "long" },
    { partitionColumns: ["p"], configuration: { "delta.dataSkippingNumIndexedCols": "2" } },
  );
  for (const column of ["p", "list", "b", "missing"]) {
    await assert.rejects(
      optimize(one.table, { ...one, zorder: [column], signal }),
      (error) => isLabError(error, "SCHEMA_MISMATCH") && error.message.includes(column),
    );
  }
});
