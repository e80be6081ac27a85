import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import { openSandbox, SANDBOX_LIMITS, type Sandbox } from "./sandbox.ts";

const signal = new AbortController().signal;
let folder: string;
let secret: string;
let dataFile: string;
let sandbox: Sandbox;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandbox-"));
  const orders = await sqlTable(join(folder, "orders"), { id: "long", note: "string" });
  const first = await orders.append({ select: "SELECT 1::BIGINT AS id, 'a' AS note" });
  await orders.append({ select: "SELECT 2::BIGINT AS id, 'b' AS note" });
  dataFile = join(folder, "orders", first!.path);
  secret = join(folder, "secret.csv");
  await writeFile(secret, "key\nhunter2\n");
  sandbox = openSandbox({ store: folder, limits: { deadlineMs: 20_000 } });
});

after(async () => {
  await sandbox.close();
  await rm(folder, { recursive: true });
});

async function failure(sql: string) {
  const error = await sandbox.run(sql, { signal }).then(
    (answer) => assert.fail(`${sql} gave ${JSON.stringify(answer.rows).slice(0, 200)}`),
    (error: unknown) => error,
  );
  assert.ok(isLabError(error), String(error));
  assert.ok(!error.message.includes("hunter2"));
  return error;
}

test("a harmless query is answered as the contract says", async () => {
  const answer = await sandbox.run("SELECT * FROM orders ORDER BY id", { signal });
  assert.deepEqual(answer.columns, [
    { name: "id", type: "BIGINT" },
    { name: "note", type: "VARCHAR" },
  ]);
  assert.deepEqual(answer.rows, [
    ["1", "a"],
    ["2", "b"],
  ]);
  assert.equal(answer.truncated, false);
  assert.equal(answer.version, 2);
  const old = await sandbox.run("SELECT count(*) FROM orders", { point: { version: 1 }, signal });
  assert.deepEqual(old.rows, [["1"]]);
});

test("what people write in a console passes the gate", async () => {
  for (const sql of [
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT sum(n)::DECIMAL(10,2) FROM t",
    "SELECT o.note, count(*) FILTER (id > 1), row_number() OVER (PARTITION BY note ORDER BY id DESC) FROM orders o GROUP BY note, id ORDER BY ALL LIMIT 50%",
    "SELECT DISTINCT ON (note) * REPLACE (id + 1 AS id) FROM orders a JOIN orders b USING (id, note) QUALIFY rank() OVER (ORDER BY id) = 1",
    "FROM orders SELECT [x * 2 FOR x IN range(3)], {'a': id}, MAP {note: id}, CASE WHEN id = 1 THEN 'x' END, id IN (SELECT id FROM orders AT (VERSION => 1))",
    "VALUES (1, 'a'), (2, 'b') EXCEPT SELECT 1, 'a'",
    "SELECT * FROM (PIVOT orders ON note IN ('a', 'b') USING sum(id))",
    "SELECT * FROM orders UNPIVOT (v FOR n IN (id))",
    "SELECT * FROM generate_series(1, 3) g(x), unnest(['p', 'q']) u(y), orders TABLESAMPLE 100%",
    "DESCRIBE orders",
    "SUMMARIZE SELECT id FROM orders",
    "SELECT INTERVAL 1 DAY, DATE '2024-01-01', now() > TIMESTAMP '2000-01-01', 'x'::VARCHAR COLLATE NOCASE, COLUMNS('i.*') FROM orders",
    "SELECT grouping(note), sum(id) FROM orders GROUP BY CUBE (note), ROLLUP (id)",
    "SELECT (SELECT max(id) FROM orders), EXISTS (FROM orders), id BETWEEN 1 AND 2, note LIKE 'a%' FROM orders POSITIONAL JOIN orders p(x, y)",
  ]) {
    await assert.doesNotReject(sandbox.run(sql, { signal }), sql);
  }
});

test("no statement but one SELECT is run", async () => {
  for (const sql of [
    `COPY (SELECT 1) TO '${secret}'`,
    `COPY orders TO '${dataFile}' (FORMAT parquet, USE_TMP_FILE false)`,
    `ATTACH '${folder}/x.db'`,
    "LOAD httpfs",
    "INSTALL httpfs",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "SET VARIABLE x = 1",
    "CREATE TABLE x AS SELECT 1",
    "CREATE MACRO m() AS 1",
    "INSERT INTO orders VALUES (3, 'c')",
    "DROP VIEW orders",
    "PRAGMA database_list",
    "CALL pragma_version()",
    `EXPORT DATABASE '${folder}/dump'`,
    "EXPLAIN ANALYZE SELECT 1",
    "SELECT 1; SELECT 2",
    `SELECT 1; COPY (SELECT 1) TO '${secret}'`,
    "CHECKPOINT",
    "USE memory",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
  ]) {
    const { code } = await failure(sql);
    assert.ok(code === "SQL_REFUSED" || code === "SQL_ERROR", `${sql}: ${code}`);
  }
});

test("no file can be read, however it is named", async () => {
  for (const sql of [
    `SELECT * FROM '${secret}'`,
    `SELECT * FROM "${secret}"`,
    `SELECT * FROM read_csv('${secret}')`,
    `SELECT * FROM read_text('${secret}')`,
    `SELECT * FROM read_blob('${dataFile}')`,
    `SELECT * FROM read_parquet('${dataFile}')`,
    `SELECT * FROM parquet_metadata('${dataFile}')`,
    `SELECT * FROM glob('${folder}/*')`,
    `SELECT * FROM sniff_csv('${secret}')`,
    `SELECT * FROM query('SELECT * FROM read_text(''${secret}'')')`,
    `SELECT * FROM query_table('orders')`,
    `SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))`,
    `WITH x AS (SELECT * FROM read_text('${secret}')) SELECT * FROM x`,
    `SELECT (SELECT content FROM read_text('${secret}'))`,
    `SELECT * FROM orders WHERE note IN (FROM read_text('${secret}') SELECT content)`,
    `SELECT * FROM range(1), LATERAL (SELECT * FROM read_text('${secret}'))`,
    `SUMMARIZE SELECT * FROM read_csv('${secret}')`,
    `DESCRIBE '${secret}'`,
    "SELECT * FROM 'http://127.0.0.1:1/x.parquet'",
    `SELECT * FROM "../${folder.split("/").at(-1)}/secret.csv"`,
    `SELECT * FROM orders AT (VERSION => (SELECT count(*) FROM read_text('${secret}')))`,
    `SELECT 1 ORDER BY (SELECT content FROM read_text('${secret}'))`,
    `SELECT 1 LIMIT (SELECT count(*) FROM read_text('${secret}'))`,
    `SELECT * FROM (PIVOT (FROM read_text('${secret}')) ON size IN (1) USING count(*))`,
    `VALUES ((SELECT content FROM read_text('${secret}')))`,
    `SELECT list_transform([1], lambda x: (SELECT content FROM read_text('${secret}')))`,
    `SELECT sum(1) OVER (ORDER BY (SELECT content FROM read_text('${secret}')))`,
    `SELECT 1 FROM orders a JOIN orders b ON (SELECT true FROM read_text('${secret}'))`,
  ]) {
    const { code } = await failure(sql);
    assert.match(code, /^(SQL_REFUSED|SQL_ERROR|TABLE_NOT_FOUND)$/, sql);
  }
  assert.equal(await readFile(secret, "utf8"), "key\nhunter2\n");
});

test("nothing of the machine or of the engine's settings is told", async () => {
  for (const sql of [
    "SELECT current_setting('allowed_paths')",
    "SELECT getvariable('lab_scan_files_1')",
    "SELECT main.getvariable('lab_scan_files_1')",
    "SELECT getenv('HOME')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_views()",
    "SELECT * FROM duckdb_variables()",
    "SELECT * FROM pragma_database_size()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM pg_catalog.pg_views",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM lab_scan.parts_1",
    "SHOW TABLES",
    "SHOW ALL TABLES",
    "SELECT write_log('x')",
  ]) {
    const { code } = await failure(sql);
    assert.match(code, /^(SQL_REFUSED|SQL_ERROR|TABLE_NOT_FOUND)$/, sql);
  }
});

test("a query that does not end is killed at the deadline, and the next one works", async () => {
  const hasty = openSandbox({ store: folder, limits: { deadlineMs: 2_000 } });
  try {
    const endless = hasty.run("SELECT count(*) FROM range(100000000000) a, range(1000) b", { signal });
    await assert.rejects(endless, (error) => isLabError(error, "QUERY_LIMIT") && /2 s/.test(error.message));
  } finally {
    await hasty.close();
  }
  assert.equal((await failure("SELECT pg_sleep(60)")).code, "SQL_REFUSED");
  assert.deepEqual((await sandbox.run("SELECT 1", { signal })).rows, [[1]]);
});

test("a query that wants all memory is stopped, and the next one works", async () => {
  const greedy = openSandbox({
    store: folder,
    limits: { memoryLimitBytes: 100 * 1024 ** 2, deadlineMs: 20_000 },
  });
  try {
    for (const sql of [
      "SELECT list(a.range) FROM range(1000000000) a",
      "SELECT string_agg(repeat('x', 1000000), '') FROM range(100000)",
      "SELECT DISTINCT a.range, md5(a.range::VARCHAR) FROM range(1000000000) a",
    ]) {
      const error = await greedy.run(sql, { signal }).then(
        () => assert.fail(sql),
        (error: unknown) => error,
      );
      assert.ok(isLabError(error, "QUERY_LIMIT"), `${sql}: ${error}`);
    }
    assert.deepEqual((await greedy.run("SELECT 1", { signal })).rows, [[1]]);
  } finally {
    await greedy.close();
  }
});

test("an answer is cut at its rows and at its bytes, and says so", async () => {
  const many = await sandbox.run("SELECT * FROM range(100000)", { signal });
  assert.equal(many.rows.length, SANDBOX_LIMITS.maxRows);
  assert.equal(many.truncated, true);
  const wide = await sandbox.run("SELECT repeat('x', 1000000) FROM range(100)", { signal });
  assert.ok(wide.rows.length < 20);
  assert.equal(wide.truncated, true);
});

test("an abort kills the query with the signal's reason; more queries than may run at once wait", async () => {
  const controller = new AbortController();
  const endless = "SELECT count(*) FROM range(100000000000) a, range(1000) b";
  const running = Array.from({ length: SANDBOX_LIMITS.parallel }, () =>
    sandbox.run(endless, { signal: controller.signal }),
  );
  const waiting = sandbox.run("SELECT 7", { signal });
  setTimeout(() => controller.abort(new Error("went away")), 500);
  for (const end of running) await assert.rejects(end, /went away/);
  assert.deepEqual((await waiting).rows, [[7]]);
});

test("errors have their place in the text", async () => {
  assert.equal((await failure("SELECT nope FROM orders")).details.position, 7);
  assert.equal((await failure("SELECT 'é', x FROM read_text('a')")).details.position, 19);
  assert.equal((await failure("SELECT * FROM ordes")).details.position, 14);
});

test("the store is as it was", async () => {
  assert.deepEqual((await readdir(folder)).sort(), ["orders", "secret.csv"]);
  const again = await sandbox.run("SELECT count(*) FROM orders", { signal });
  assert.deepEqual(again.rows, [["2"]]);
});
