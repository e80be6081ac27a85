import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { silentLog } from "../core/log.ts";
import { openTableReader } from "../query/reader.ts";
import { fakeLab } from "../test/support/fake-lab.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import { createDashboard } from "./server.ts";
import type {
  QueryAnswer,
  ResultSet,
  TableDiff,
  TableSummary,
  VersionDetail,
  VersionEntry,
} from "./tables.ts";

// The routes over real Delta tables in a folder, read by query/.

let base: string;
const closing: (() => unknown)[] = [];

before(async () => {
  const folder = await mkdtemp(join(tmpdir(), "dashboard-"));
  closing.push(() => rm(folder, { recursive: true }));
  const orders = await sqlTable(join(folder, "orders"), { id: "long", amount: "decimal(10,2)" });
  for (const n of [1, 2, 3]) {
    const lab = {
      v: 1,
      partitions: [{ topic: "orders", partition: 0, first: String(n * 2 - 2), last: String(n * 2 - 1) }],
    };
    const select = `SELECT 9007199254740992 + ${n}::BIGINT AS id, ${n}.5::DECIMAL(10,2) AS amount FROM range(2)`;
    await orders.append({ select, info: { lab } });
  }
  const tables = openTableReader({ store: folder });
  closing.unshift(() => tables.close());
  const app = createDashboard({
    ...{ tables, control: fakeLab().control, token: "secret", log: silentLog },
    allowedHosts: ["127.0.0.1"],
  });
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  closing.unshift(() => {
    server.close();
    server.closeAllConnections();
  });
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(async () => {
  for (const close of closing) await close();
});

const get = async <T>(path: string): Promise<T> => (await (await fetch(`${base}${path}`)).json()) as T;
const query = (body: unknown) =>
  fetch(`${base}/api/query`, {
    ...{ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
  });

test("tables and history come from the log, offsets included", async () => {
  const [table] = await get<TableSummary[]>("/api/tables");
  assert.deepEqual([table?.name, table?.version, table?.problem], ["orders", 3, null]);
  const history = await get<VersionEntry[]>("/api/tables/orders/history?after=1");
  assert.deepEqual(
    history.map(({ version, rowsAdded, offsets }) => [version, rowsAdded, offsets[0]?.last]),
    [
      [3, "2", "5"],
      [2, "2", "3"],
    ],
  );
});

test("a version has its own rows, exact beyond 2^53", async () => {
  const { rows, preview } = await get<VersionDetail & { preview: ResultSet }>(
    "/api/tables/orders/versions/2?rows=10",
  );
  assert.equal(rows, "4");
  assert.deepEqual(preview.rows.map(String).sort(), [
    ...["9007199254740993,1.50", "9007199254740993,1.50", "9007199254740994,2.50", "9007199254740994,2.50"],
  ]);
});

test("two versions differ in what was committed between them", async () => {
  const diff = await get<TableDiff>("/api/tables/orders/diff?from=1&to=3");
  assert.deepEqual([diff.rowsAdded, diff.rowsRemoved, diff.added.length], ["4", "0", 4]);
});

test("the console reads tables at a version or time, and nothing else", async () => {
  const count = { sql: "SELECT count(*) AS n FROM orders" };
  assert.deepEqual(((await (await query(count)).json()) as QueryAnswer).rows, [["6"]]);
  const older = (await (await query({ ...count, version: 1 })).json()) as QueryAnswer;
  assert.deepEqual([older.rows, older.version], [[["2"]], 1]);
  for (const sql of ["SELECT * FROM read_text('/etc/passwd')", "DROP TABLE orders", "SELECT 1; SELECT 2"]) {
    const refused = await query({ sql });
    assert.equal(refused.status, 400, sql);
    assert.match(((await refused.json()) as { code: string }).code, /^SQL_(REFUSED|ERROR)$/, sql);
  }
  const wrong = (await (await query({ sql: "SELECT nothing FROM orders" })).json()) as { position?: number };
  assert.equal(wrong.position, 7);
});
