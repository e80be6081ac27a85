import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { sqlTable } from "../test/support/sql-table.ts";
import { type DeltaTable, LabError, type NewRows, openTable } from "./table.ts";

/** Version 1 has ids 0 to 2, version 2 those up to 4. */
async function ordersTable(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "api-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "orders");
  const { append } = await sqlTable(path, { id: "long", note: "string" });
  await append({ select: "SELECT range::BIGINT AS id, 'n' || range AS note FROM range(3)" });
  await append({ select: "SELECT range::BIGINT AS id, 'n' || range AS note FROM range(3, 5)" });
  const open: DeltaTable[] = [];
  t.after(() => Promise.all(open.map((one) => one.close())));
  const table = async (options = {}) => {
    open.push(await openTable(path, options));
    return open.at(-1)!;
  };
  return { path, append, table };
}

test("rows, SQL and history of a table, by version, and integers that no number rounds", async (t) => {
  const { table } = await ordersTable(t);
  const orders = await table();
  assert.equal(orders.name, "orders");
  assert.equal(await orders.version(), 2);
  assert.deepEqual(await orders.query("SELECT count(*) AS n, max(id) AS id FROM orders"), [
    { n: "5", id: "4" },
  ]);
  assert.deepEqual(await orders.query("SELECT count(*) AS n FROM orders", { version: 1 }), [{ n: "3" }]);
  assert.deepEqual(await orders.query("SELECT count(*) AS n FROM orders AT (VERSION => 1)"), [{ n: "3" }]);
  const rows = [];
  for await (const row of orders.rows({ version: 1 })) rows.push(row);
  assert.deepEqual(rows.map(({ id, note }) => `${id} ${note}`).sort(), ["0 n0", "1 n1", "2 n2"]);
  const versions = [];
  for await (const { version } of orders.history({ after: 0 })) versions.push(version);
  assert.deepEqual(versions, [2, 1]);
  const { schema, numFiles } = await orders.describe({ version: 1 });
  assert.deepEqual([schema.map(({ name }) => name), numFiles], [["id", "note"], 1]);
  const { rowsAdded, rowsRemoved } = await orders.diff(1, 2);
  assert.deepEqual([rowsAdded, rowsRemoved], ["2", "0"]);
});

test("a time, as text or as a date, means the newest version that is not younger", async (t) => {
  const { table } = await ordersTable(t);
  const orders = await table();
  const counted = (at: string | Date) => orders.query("SELECT count(*) AS n FROM orders", { at });
  assert.deepEqual(await counted(new Date(Date.now() + 60_000)), [{ n: "5" }]);
  await assert.rejects(
    counted("2001-01-01"),
    (error) => error instanceof LabError && error.code === "TIMESTAMP_NOT_FOUND",
  );
});

test("a table has the name that it is given, and what is wrong has a code", async (t) => {
  const { path, table } = await ordersTable(t);
  const named = await table({ name: "o 1" });
  assert.deepEqual(await named.query('SELECT count(*) AS n FROM "o 1"'), [{ n: "5" }]);
  const refused = (work: Promise<unknown>, code: string) =>
    assert.rejects(work, (error) => error instanceof LabError && error.code === code);
  await refused(named.query("SELEC"), "SQL_ERROR");
  await refused(named.query('SELECT * FROM "o 1"', { version: 99 }), "VERSION_NOT_FOUND");
  await refused(openTable(`${path}-not`), "NOT_A_TABLE");
});

test("new rows come version by version; leaving the loop ends it, and so does the signal", async (t) => {
  const { append, table } = await ordersTable(t);
  const orders = await table();
  const seen: NewRows[] = [];
  for await (const batch of orders.follow({ after: 0 })) {
    seen.push(batch);
    if (batch.version === 2) await append({ select: "SELECT 9::BIGINT AS id, 'late' AS note" });
    if (batch.version === 3) break;
  }
  assert.deepEqual(
    seen.map(({ version, rows }) => [version, rows.length]),
    [
      [1, 3],
      [2, 2],
      [3, 1],
    ],
  );
  assert.deepEqual(seen[2]!.rows, [{ id: "9", note: "late" }]);
  const stop = new AbortController();
  const versions = [];
  for await (const { version } of orders.follow({ after: 2, signal: stop.signal })) {
    versions.push(version);
    stop.abort();
  }
  assert.deepEqual(versions, [3]);
});
