import assert from "node:assert/strict";
import { mkdtemp, rename, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import { openQuery } from "./query.ts";

const signal = new AbortController().signal;

test("of a table with a file that is cut or gone no query gives the rest as if it were all, and the file is named", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "damaged-"));
  const query = openQuery({ store: folder });
  t.after(async () => {
    await query.close();
    await rm(folder, { recursive: true });
  });
  const { append } = await sqlTable(join(folder, "t"), { id: "long" });
  const adds: Add[] = [];
  for (let n = 0; n < 12; n++) adds.push((await append({ select: `SELECT ${n}::BIGINT AS id` }))!);
  const file = join(folder, "t", adds[7]!.path);
  const ask = (sql: string) => query.query(sql, { signal });
  const named = (code: "CORRUPT_LOG" | "DATA_FILE_MISSING") => (error: unknown) =>
    isLabError(error, code) && error.message.includes(adds[7]!.path);
  await truncate(file, adds[7]!.size / 2);
  for (const sql of ["SELECT id FROM t", "SELECT count(*), sum(id) FROM t"])
    await assert.rejects(ask(sql), named("CORRUPT_LOG"), sql);
  await rm(file);
  await assert.rejects(ask("SELECT id FROM t"), named("DATA_FILE_MISSING"));
});

test("a data file that is another one since it was read is read as it is now", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "exchanged-"));
  const query = openQuery({ store: folder });
  t.after(async () => {
    await query.close();
    await rm(folder, { recursive: true });
  });
  const write = async (name: string, select: string) => {
    const { append } = await sqlTable(join(folder, name), { id: "long", note: "string" });
    return join(folder, name, (await append({ select }))!.path);
  };
  const file = await write("t", "SELECT 1::BIGINT AS id, 'one' AS note");
  const other = await write("u", "SELECT 'more' AS note, range::BIGINT AS id FROM range(101)");
  const ask = async () => (await query.query("SELECT sum(id)::VARCHAR FROM t", { signal })).rows;
  assert.deepEqual(await ask(), [["1"]]);
  await rename(other, file);
  assert.deepEqual(await ask(), [["5050"]]);
});
