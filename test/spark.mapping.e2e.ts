import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openQuery } from "../query/query.ts";
import { startSpark } from "./support/spark.ts";

const signal = new AbortController().signal;

test("a struct of which all fields were dropped and others added is read as Spark reads it, mapped by name and by id", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "spark-mapping-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const spark = await startSpark(t, folder);
  for (const mode of ["name", "id"]) {
    const path = join(folder, mode);
    const table = `delta.\`${path}\``;
    for (const sql of [
      `CREATE TABLE ${table} (id INT, s STRUCT<x: INT>, l ARRAY<STRUCT<x: INT>>) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = '${mode}')`,
      `INSERT INTO ${table} VALUES (1, struct(1), array(struct(1))), (2, null, array(null)), (3, struct(null), array())`,
      `ALTER TABLE ${table} ADD COLUMNS (s.y INT, l.element.y STRING)`,
      `ALTER TABLE ${table} DROP COLUMNS (s.x, l.element.x)`,
      `INSERT INTO ${table} VALUES (4, struct(4), array(struct('four')))`,
    ])
      await spark({ sql });
    const ask = (size: string, first: string) =>
      `id, s IS NULL AS none, s.y AS y, ${size} AS size, ${first} IS NULL AS first, ${first}.y AS text`;
    const bySpark = await spark({ sql: `SELECT ${ask("size(l)", "get(l, 0)")} FROM ${table} ORDER BY id` });
    const query = openQuery({ store: folder, tables: new Map([["t", path]]) });
    t.after(() => query.close());
    const { columns, rows } = await query.query(`SELECT ${ask("len(l)::INT", "l[1]")} FROM t ORDER BY id`, {
      signal,
    });
    const ours = rows.map((row) => Object.fromEntries(row.map((cell, at) => [columns[at]!.name, cell])));
    assert.deepEqual(ours, bySpark, mode);
  }
});
