import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import { openQuery, type Query } from "./query.ts";
import type { AskedPoint } from "./resolve.ts";

const signal = new AbortController().signal;
let folder: string;
let query: Query;
const commitTimes: number[] = [];

/** `orders` has ids 1, then 1..2, then 1..3 in versions 1, 2, 3; `customers` two versions; `Mixed` a name in two cases. */
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "query-"));
  const orders = await sqlTable(join(folder, "orders"), { id: "long", amount: "decimal(10,2)" });
  for (const id of [1, 2, 3]) {
    const lab = {
      v: 1,
      partitions: [
        { topic: "orders", partition: 0, first: String((id - 1) * 10), last: String(id * 10 - 1) },
        ...(id === 2 ? [{ topic: "orders", partition: 1, first: "0", last: "4" }] : []),
      ],
    };
    await orders.append({
      select: `SELECT ${id}::BIGINT AS id, ${id}.5::DECIMAL(10,2) AS amount`,
      info: { lab },
    });
    commitTimes.push((await orders.table.latest(signal)).timestampMs);
  }
  const customers = await sqlTable(join(folder, "customers"), { id: "long", name: "string" });
  await customers.append({ select: "SELECT 1::BIGINT AS id, 'Ann' AS name" });
  await customers.append({ select: "SELECT 2::BIGINT AS id, 'Bob' AS name" });
  const elsewhere = await sqlTable(join(folder, "elsewhere", "deep"), { x: "integer" });
  await elsewhere.append({ select: "SELECT 42 AS x" });
  query = openQuery({ store: folder, tables: new Map([["far", join(folder, "elsewhere", "deep")]]) });
});

after(async () => {
  await query.close();
  await rm(folder, { recursive: true });
});

async function rows(sql: string, point?: AskedPoint): Promise<unknown[][]> {
  return (await query.query(sql, { point, signal })).rows;
}

async function failure(sql: string, point?: AskedPoint) {
  const error = await rows(sql, point).then(
    () => assert.fail(`${sql} succeeded`),
    (error: unknown) => error,
  );
  assert.ok(isLabError(error), String(error));
  return error;
}

test("a table by name is its newest version, ignoring case where no name fits exactly", async () => {
  assert.deepEqual(await rows("SELECT * FROM orders ORDER BY id"), [
    ["1", "1.50"],
    ["2", "2.50"],
    ["3", "3.50"],
  ]);
  assert.deepEqual(await rows("SELECT ORDERS.id FROM Orders WHERE id = 2"), [["2"]]);
  assert.deepEqual(await rows("SELECT x FROM far"), [[42]]);
});

test("several versions and tables in one statement are each what they were", async () => {
  assert.deepEqual(
    await rows(`SELECT (SELECT count(*) FROM orders AT (VERSION => 1)), (SELECT count(*) FROM orders AT (VERSION => 2)),
      (SELECT count(*) FROM orders), (SELECT count(*) FROM customers AT (VERSION => 1))`),
    [["1", "2", "3", "1"]],
  );
  assert.deepEqual(
    await rows(
      "SELECT n.id FROM orders n LEFT JOIN orders o AT (VERSION => 1) USING (id) WHERE o.id IS NULL ORDER BY 1",
    ),
    [["2"], ["3"]],
  );
  assert.deepEqual(
    await rows(`WITH old AS (SELECT * FROM orders AT (VERSION => 1)), orders AS (SELECT 7 AS id)
      SELECT o.id, n.id FROM old o, orders n`),
    [["1", 7]],
  );
  assert.deepEqual(
    await rows("SELECT count(*) FROM orders EXCEPT SELECT count(*) FROM orders AT (VERSION => 0)"),
    [["3"]],
  );
});

test("a version can be computed, a time chosen, and Spark's words do", async () => {
  const iso = new Date(commitTimes[0]!).toISOString();
  assert.deepEqual(await rows("SELECT count(*) FROM orders AT (VERSION => 1 + 1)"), [["2"]]);
  assert.deepEqual(await rows("SELECT count(*) FROM orders AT (VERSION => '2')"), [["2"]]);
  assert.deepEqual(await rows(`SELECT count(*) FROM orders AT (TIMESTAMP => '${iso}')`), [["1"]]);
  assert.deepEqual(await rows("SELECT count(*) FROM orders AT (TIMESTAMP => now() + INTERVAL 1 HOUR)"), [
    ["3"],
  ]);
  assert.deepEqual(await rows("SELECT count(*) FROM orders VERSION AS OF 2 o WHERE o.id > 0"), [["2"]]);
  assert.deepEqual(await rows(`SELECT count(*) FROM orders TIMESTAMP AS OF '${iso}'`), [["1"]]);
});

test("an AT that cannot be computed says why in words", async () => {
  for (const [at, why] of [
    ["VERSION => nope(1)", "Scalar Function with name nope does not exist!"],
    ["TIMESTAMP => 'noon'", 'invalid timestamp field format: "noon"'],
  ] as const) {
    const { code, message } = await failure(`SELECT * FROM orders AT (${at})`);
    assert.equal(code, "SQL_ERROR");
    const unit = at.split(" ", 1)[0];
    assert.ok(message.startsWith(`AT (${unit} => ...) cannot be computed: ${why}`), message);
  }
});

test("a seed that one statement sets is not felt by the next", async () => {
  const drawn = async () => {
    await rows("SELECT setseed(0.25)");
    return (await rows("SELECT random(), random(), random()"))[0];
  };
  assert.notDeepEqual(await drawn(), await drawn());
});

test("constants keep their type where a statement is rewritten to read another version", async () => {
  const sql = (at: string) =>
    `SELECT typeof(1e0), 0.1::FLOAT = 1e-1, 0.30000000000000004e0, 1.5 FROM orders ${at}`;
  assert.deepEqual(
    await rows(`${sql("AT (VERSION => 1)")} WHERE id < 1.5e300`),
    await rows(`${sql("")} WHERE id = 1e0`),
  );
});

test("a default point applies to the one table without AT, and is refused for several or none", async () => {
  assert.deepEqual(await rows("SELECT count(*) FROM orders", { version: 1 }), [["1"]]);
  assert.deepEqual(await rows("SELECT count(*) FROM orders a, orders b", { version: 2 }), [["4"]]);
  assert.deepEqual(
    await rows("SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM customers AT (VERSION => 2))", {
      version: 1,
    }),
    [["1", "2"]],
  );
  assert.deepEqual(await rows("SELECT count(*) FROM orders", { timestampMs: commitTimes[1]! }), [["2"]]);
  for (const sql of [
    "SELECT * FROM orders, customers",
    "SELECT 1",
    "SELECT * FROM orders AT (VERSION => 1)",
  ]) {
    assert.equal((await failure(sql, { version: 1 })).code, "USAGE");
  }
});

test("an offset means the first version in which its partition is settled that far", async () => {
  const version = async (partition: number, offset: bigint) =>
    (await query.query("SELECT 1 FROM orders", { point: { partition, offset }, signal })).version;
  assert.equal(await version(0, 0n), 1);
  assert.equal(await version(0, 9n), 1);
  assert.equal(await version(0, 10n), 2);
  assert.equal(await version(0, 29n), 3);
  assert.equal(await version(1, 2n), 2);
  assert.match(
    (await failure("FROM orders", { partition: 0, offset: 30n })).message,
    /settled up to offset 29/,
  );
  assert.equal((await failure("FROM orders", { partition: 7, offset: 0n })).code, "VERSION_NOT_FOUND");
  assert.equal((await failure("FROM customers", { partition: 0, offset: 0n })).code, "VERSION_NOT_FOUND");
});

test("the answer names columns and types, says the version, and stops at its limit", async () => {
  const answer = await query.query("SELECT id, amount, [1] AS l FROM orders ORDER BY id", {
    maxRows: 2,
    signal,
  });
  assert.deepEqual(answer.columns, [
    { name: "id", type: "BIGINT" },
    { name: "amount", type: "DECIMAL(10,2)" },
    { name: "l", type: "INTEGER[]" },
  ]);
  assert.equal(answer.truncated, true);
  assert.equal(answer.rows.length, 2);
  assert.equal(answer.version, 3);
  assert.ok(answer.elapsedMs >= 0);
  const all = await query.query("SELECT * FROM orders, customers", { maxRows: 6, signal });
  assert.equal(all.truncated, false);
  assert.equal(all.version, null);
});

test("DESCRIBE and SUMMARIZE see the table's own types", async () => {
  const described = await rows("DESCRIBE orders");
  assert.deepEqual(
    described.map((row) => row.slice(0, 2)),
    [
      ["id", "BIGINT"],
      ["amount", "DECIMAL(10,2)"],
    ],
  );
  assert.equal((await rows("SUMMARIZE orders")).length, 2);
});

test("a wrong name is answered with the near ones, and with its place", async () => {
  const error = await failure("SELECT * FROM ordrs");
  assert.equal(error.code, "TABLE_NOT_FOUND");
  assert.match(error.hint!, /orders/);
  assert.equal(error.details.position, 14);
  assert.equal((await failure("SELECT * FROM orders AT (VERSION => 9)")).code, "VERSION_NOT_FOUND");
  assert.equal(
    (await failure("SELECT * FROM orders AT (TIMESTAMP => '1999-01-01')")).code,
    "TIMESTAMP_NOT_FOUND",
  );
});

test("an SQL error is one line with its place in the text as it was typed", async () => {
  const cases: [sql: string, at: string][] = [
    ["SELECT 'é', nope FROM orders", "nope"],
    ["SELECT 'é', id FROM orders WHERE é = 1 +", ""],
    ["SELECT 'é', o.nope FROM orders o AT (VERSION => 1)", "o.nope"],
    ["SELECT 'é', nope FROM orders VERSION AS OF 1 WHERE id = 1", "nope"],
    ["SELECT id FROM orders VERSION AS OF 1\nWHERE nope = 1", "nope"],
    ["SELECT 'x'::INT + id FROM orders", "::INT"],
  ];
  for (const [sql, at] of cases) {
    const error = await failure(sql);
    assert.equal(error.code, "SQL_ERROR", sql);
    assert.ok(!error.message.includes("\n"));
    assert.equal(
      error.details.position,
      at === "" ? sql.length : sql.indexOf(at),
      `${sql}: ${error.message}`,
    );
  }
});

test("what is no single query is refused before anything is read", async () => {
  for (const sql of [
    "DROP TABLE orders",
    "COPY orders TO '/tmp/x'",
    "SELECT 1; DROP TABLE orders",
    "PIVOT orders ON id",
  ]) {
    assert.equal((await failure(sql)).code, "SQL_REFUSED", sql);
  }
  for (const sql of ["", "-- nothing", "SELECT 1; SELECT 2"]) {
    assert.equal((await failure(sql)).code, "SQL_ERROR", JSON.stringify(sql));
  }
  assert.deepEqual(await rows("SELECT 1;"), [[1]]);
});

test("a statement with parameters or with the character 0 is refused: neither would be what was meant", async () => {
  const refusal = (pattern: RegExp) => (error: unknown) =>
    isLabError(error, "SQL_ERROR") && pattern.test(error.message);
  for (const sql of ["SELECT $1", "SELECT count(*) + ? FROM orders", "SELECT $x FROM orders"])
    await assert.rejects(query.query(sql, { signal }), refusal(/^the parameter (1|x) has no value/));
  await assert.rejects(query.query("SELECT 1 \0, 2", { signal }), refusal(/character 0/));
  assert.deepEqual((await query.query("SELECT '$1', 'a?'", { signal })).rows, [["$1", "a?"]]);
});

test("an AT clause that makes no version is an error that says so", async () => {
  for (const at of [
    "VERSION => -1",
    "VERSION => 1.5",
    "VERSION => NULL",
    "VERSION => (SELECT 1)",
    "TIMESTAMP => 'soon'",
    "VERSION => id",
  ]) {
    const error = await failure(`SELECT * FROM orders AT (${at})`);
    assert.equal(error.code, "SQL_ERROR", at);
    assert.match(error.message, /AT \((VERSION|TIMESTAMP)/);
  }
});

test("an abort ends a query that would run for ever, with the signal's reason", async () => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("enough")), 300);
  const endless = query.query("SELECT count(*) FROM range(100000000000) a, range(1000) b", {
    signal: controller.signal,
  });
  await assert.rejects(endless, /enough/);
});

test("a table that appears later is found, and new commits are seen", async () => {
  assert.equal((await failure("FROM later")).code, "TABLE_NOT_FOUND");
  const later = await sqlTable(join(folder, "later"), { x: "integer" });
  assert.deepEqual(await rows("FROM later"), []);
  await later.append({ select: "SELECT 1 AS x" });
  assert.deepEqual(await rows("FROM later"), [[1]]);
  assert.deepEqual(await query.catalog.names(signal), ["customers", "far", "later", "orders"]);
});

test("queries at the same time each read the version that they ask for", async () => {
  const versions = Array.from({ length: 12 }, (_, index) => 1 + (index % 3));
  const asked = versions.map((version) => rows("SELECT count(*) FROM orders", { version }));
  assert.deepEqual(
    await Promise.all(asked),
    versions.map((version) => [[String(version)]]),
  );
});

test("a statement that sets the engine up differently does so for itself alone", async () => {
  const isLogging = "SELECT current_setting('enable_logging')::BOOLEAN::VARCHAR";
  assert.deepEqual(await rows(isLogging), [["false"]]);
  await rows("SELECT count(*) FROM enable_logging()");
  assert.deepEqual(await rows(isLogging), [["false"]]);
});

test("a query larger than its memory spills, and leaves nothing behind", async () => {
  const spill = await mkdtemp(join(tmpdir(), "spill-"));
  const small = openQuery({
    store: folder,
    limits: { memoryLimitBytes: 60 * 1024 ** 2, threads: 1, tempDir: spill },
  });
  try {
    const sql =
      "SELECT count(*) FROM (SELECT range, md5(range::VARCHAR) AS h FROM range(1500000) ORDER BY h)";
    assert.deepEqual((await small.query(sql, { signal })).rows, [["1500000"]]);
    const rows =
      "SELECT x FROM (SELECT range || repeat('x', 40) AS x FROM range(2000000) ORDER BY md5(x)) LIMIT 1 OFFSET 1999999";
    assert.equal((await small.query(rows, { signal })).rows.length, 1);
    const [own, ...others] = await readdir(spill);
    assert.deepEqual(await readdir(join(spill, own!)), [], "files go with their query");
    assert.deepEqual(others, []);
    await small.close();
    assert.deepEqual(await readdir(spill), [], "the folder goes at the end");
  } finally {
    await small.close();
    await rm(spill, { recursive: true });
  }
});

test("a statement gives the same whether tables stand before it or are views", async () => {
  for (const sql of [
    "SELECT count(*) FROM orders",
    "SELECT id FROM orders WHERE amount > 1.5 ORDER BY id DESC",
    "SELECT o.id, c.name FROM orders o LEFT JOIN customers c USING (id) ORDER BY 1",
    "SELECT orders FROM orders ORDER BY id LIMIT 1",
    "SELECT (SELECT max(c.id) FROM customers c WHERE c.id <= o.id) FROM orders o ORDER BY o.id",
    "FROM orders AT (VERSION => 1) UNION ALL FROM orders AT (VERSION => 2) ORDER BY ALL",
    "SELECT x FROM far",
    "(SELECT name FROM customers) EXCEPT SELECT 'Bob'",
  ])
    assert.deepEqual(await rows(sql), await rows(`WITH nothing AS (SELECT 1) SELECT * FROM (${sql})`), sql);
});

test("a column that is not there is told by its place, beside all that are, though no other was named", async () => {
  const error = await failure("-- é\nSELECT amont FROM orders");
  assert.equal(error.code, "SQL_ERROR");
  assert.match(error.message, /amont.*"amount"/);
  assert.equal(error.details.position, 12);
  const late = await failure("SELECT CAST(name AS INTEGER) FROM customers");
  assert.equal(late.code, "SQL_ERROR");
  assert.ok(Number(late.details.position ?? 0) < 44);
});
