import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { sqlTable } from "../test/support/sql-table.ts";
import { openQuery } from "./query.ts";

const signal = new AbortController().signal;
const CDC = {
  type: "struct",
  fields: [{ name: "deleted", type: "boolean", nullable: true, metadata: {} }],
} as const;
const ROWS = `SELECT * FROM (VALUES (1, {deleted: false}), (2, {deleted: true}), (3, NULL)) AS v(id, _cdc)`;

async function tableWith(t: TestContext, configuration: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), "hidden-rows-"));
  const made = await sqlTable(join(folder, "t"), { id: "integer", _cdc: CDC }, { configuration });
  await made.append({ select: ROWS });
  const query = openQuery({ store: folder, tables: new Map() });
  t.after(async () => {
    await query.close();
    await rm(folder, { recursive: true });
  });
  return async (sql: string) => (await query.query(sql, { point: undefined, signal })).rows;
}

test("rows that stand for deleted ones are not seen, whichever columns are asked for", async (t) => {
  const rows = await tableWith(t, { "lab.cdc.deletes": "hidden" });
  assert.deepEqual(await rows("SELECT id FROM t ORDER BY id"), [[1], [3]]);
  assert.deepEqual(await rows("SELECT count(*) FROM t"), [["2"]]);
  assert.deepEqual(await rows("SELECT * FROM t WHERE id > 1"), [[3, null]]);
  assert.deepEqual(await rows("SELECT count(*) FROM t old AT (VERSION => 1)"), [["2"]]);
});

test("they are seen where the table shows them, or says nothing of it", async (t) => {
  for (const configuration of [{ "lab.cdc.deletes": "shown" }, {}]) {
    const rows = await tableWith(t, configuration);
    assert.deepEqual(await rows("SELECT id FROM t ORDER BY id"), [[1], [2], [3]]);
  }
});
