import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { sqlTable } from "../test/support/sql-table.ts";
import { openQuery, type Query } from "./query.ts";
import { answer } from "./run.ts";

const signal = new AbortController().signal;
let folder: string;
let query: Query;

/** Ids from 10n + 1 to 10n + 10 in each file; `orders` has four files of a day each, `customers` four, `tags` two. */
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "filters-"));
  const make = async (
    name: string,
    files: number,
    extra: string,
    columns: Record<string, "string">,
    day: boolean,
  ) => {
    const { append } = await sqlTable(
      join(folder, name),
      { id: "long", ...columns, ...(day ? { day: "date" } : {}) },
      day ? { partitionColumns: ["day"] } : {},
    );
    for (let file = 0; file < files; file++) {
      const [first, last] = [file * 10 + 1, file * 10 + 10];
      await append({
        select: `SELECT range::BIGINT AS id, ${extra} FROM range(${first}, ${last + 1})`,
        ...(day ? { partitionValues: { day: `2026-01-0${file + 1}` } } : {}),
        stats: { minValues: { id: first }, maxValues: { id: last }, nullCount: { id: 0 } },
      });
    }
  };
  await make("orders", 4, "'n' || range AS note", { note: "string" }, true);
  await make("customers", 4, "'c' || range AS name", { name: "string" }, false);
  const tags = await sqlTable(join(folder, "tags"), {
    tag: "string",
    orders: { type: "struct", fields: [{ name: "id", type: "long", nullable: true, metadata: {} }] },
  });
  for (const id of [7, 40]) {
    await tags.append({
      select: `SELECT 't${id}' AS tag, {'id': ${id}::BIGINT} AS orders`,
      stats: {
        minValues: { orders: { id } },
        maxValues: { orders: { id } },
        nullCount: { orders: { id: 0 } },
      },
    });
  }
  query = openQuery({ store: folder });
});

after(async () => {
  await query.close();
  await rm(folder, { recursive: true });
});

/** Asks twice, once of all files; gives the files that were read as `read/total`. */
async function filesRead(sql: string): Promise<string> {
  const options = { maxRows: 10_000, maxBytes: 1e9, signal };
  const pruned = await answer(query.context, sql, options);
  const whole = await answer(query.context, sql, { ...options, readAll: true });
  const sorted = (rows: unknown[][]) => rows.map((row) => JSON.stringify(row)).sort();
  assert.deepEqual(sorted(pruned.rows), sorted(whole.rows), sql);
  assert.equal(whole.files.read, whole.files.total);
  return `${pruned.files.read}/${pruned.files.total}`;
}

async function check(cases: [sql: string, files: string][]) {
  for (const [sql, files] of cases) assert.equal(await filesRead(sql), files, sql);
}

test("a query reads the files of the partitions and statistics that its WHERE leaves", () =>
  check([
    ["SELECT * FROM orders", "4/4"],
    ["SELECT * FROM orders WHERE day = '2026-01-02'", "1/4"],
    ["SELECT * FROM orders o WHERE o.ID = 15", "1/4"],
    ["SELECT * FROM orders WHERE main.orders.id = 15", "4/4"],
    ["SELECT * FROM Orders WHERE ORDERS.id BETWEEN 5 AND 15 AND note <> 'x'", "2/4"],
    ["SELECT * FROM orders WHERE day > '2026-01-01' AND id < 15", "1/4"],
    ["SELECT * FROM orders WHERE id = 1 OR day = DATE '2026-01-04'", "2/4"],
    ["SELECT * FROM orders WHERE NOT (id > 10)", "1/4"],
    ["SELECT * FROM orders WHERE id IN (1, 40)", "2/4"],
    ["SELECT * FROM orders WHERE 100 < id", "0/4"],
    ["SELECT max(id) FROM orders WHERE day IS NULL", "0/4"],
    ["SELECT * FROM orders WHERE id % 2 = 0", "4/4"],
    ["SELECT id + 1 AS id FROM orders WHERE id = 10", "1/4"],
    ["SELECT day, count(*) FROM orders WHERE id <= 10 GROUP BY day HAVING count(*) > 1 ORDER BY 1", "1/4"],
    ["FROM orders WHERE id = (SELECT 5)", "4/4"],
    ["SELECT * FROM orders t(a, b, c) WHERE a = 1", "4/4"],
  ]));

test("each version that a statement reads is pruned by what is asked of it", () =>
  check([
    ["SELECT * FROM orders AT (VERSION => 2) WHERE id = 1", "1/2"],
    [
      "SELECT * FROM orders a JOIN orders b AT (VERSION => 2) USING (id) WHERE a.id = 1 AND b.day < '2026-01-02'",
      "2/6",
    ],
    ["SELECT * FROM orders VERSION AS OF 3 WHERE id > 1e1 AND id < 1.5e1", "1/3"],
  ]));

test("a table that is named more than once is read where any of its uses needs it", () =>
  check([
    ["SELECT * FROM orders a, orders b WHERE a.id = 1 AND b.id = 40", "2/4"],
    ["SELECT * FROM orders WHERE id = 1 UNION ALL SELECT * FROM orders WHERE id = 40", "2/4"],
    ["SELECT * FROM orders WHERE id = 1 UNION ALL SELECT * FROM orders", "4/4"],
    ["SELECT id FROM orders WHERE id = 1 EXCEPT SELECT id FROM orders", "4/4"],
    ["SELECT * FROM orders WHERE id = 1 AND note IN (SELECT note FROM orders)", "4/4"],
  ]));

test("a join hands a condition to the table that it is about", () =>
  check([
    ["SELECT * FROM orders o JOIN customers c ON o.id = c.id WHERE c.id = 3", "5/8"],
    ["SELECT * FROM orders o JOIN customers c ON o.id = c.id AND c.id > 30 AND o.day < '2026-01-03'", "3/8"],
    ["SELECT * FROM orders o, customers c WHERE o.id = c.id AND name = 'c3' AND day = '2026-01-01'", "5/8"],
    // Which of two columns a bare name is, only DuckDB knows.
    ["SELECT * FROM orders JOIN customers USING (id) WHERE id = 3", "8/8"],
    ["SELECT * FROM orders NATURAL JOIN customers WHERE day = '2026-01-01'", "8/8"],
    ["SELECT * FROM orders NATURAL JOIN customers WHERE orders.id = 3", "5/8"],
    ["SELECT * FROM orders SEMI JOIN customers USING (id) WHERE orders.id = 3", "5/8"],
    ["SELECT * FROM orders ANTI JOIN customers ON orders.id = customers.id + 10 WHERE orders.id < 15", "6/8"],
    ["SELECT * FROM (SELECT 3 AS x) s JOIN orders ON id = x WHERE id = 3 AND x = 3", "1/4"],
    [
      "SELECT * FROM orders o, LATERAL (SELECT * FROM customers c WHERE c.id = o.id AND c.id < 5) l WHERE o.id < 25",
      "4/8",
    ],
  ]));

test("a condition on the side of a join that may be NULL takes no file away", () =>
  check([
    ["SELECT * FROM orders o LEFT JOIN customers c ON o.id = c.id + 5 WHERE c.id IS NULL", "8/8"],
    ["SELECT * FROM orders o LEFT JOIN customers c ON o.id = c.id + 5 WHERE c.id = 3", "8/8"],
    ["SELECT * FROM orders o LEFT JOIN customers c ON o.id = c.id WHERE o.id = 3", "5/8"],
    ["SELECT * FROM orders o LEFT JOIN customers c ON o.id = c.id AND o.id = 3", "8/8"],
    ["SELECT * FROM orders o RIGHT JOIN customers c ON o.id = c.id WHERE o.id IS NULL AND c.id < 5", "5/8"],
    ["SELECT * FROM orders o FULL JOIN customers c ON o.id = c.id WHERE o.id = 3", "8/8"],
    [
      "SELECT * FROM customers a LEFT JOIN (orders o JOIN customers c ON o.id = c.id AND o.id = 3) ON a.id = o.id",
      "5/8",
    ],
    [
      "SELECT * FROM (orders o LEFT JOIN customers c ON o.id = c.id) JOIN tags t ON c.id IS NULL OR c.id = 3",
      "10/10",
    ],
  ]));

test("joins by place, samples and nearest matches see all rows", async () => {
  await check([
    ["SELECT * FROM orders POSITIONAL JOIN customers WHERE customers.id = 3", "8/8"],
    ["SELECT * FROM orders o ASOF JOIN customers c ON o.id >= c.id WHERE c.id < 3", "8/8"],
  ]);
  const { files } = await query.query("SELECT * FROM orders WHERE id = 1 USING SAMPLE 10 ROWS", { signal });
  const one = await query.query("SELECT * FROM orders TABLESAMPLE 5 ROWS WHERE id = 1", { signal });
  assert.deepEqual(
    [files, one.files],
    [
      { read: 4, total: 4 },
      { read: 4, total: 4 },
    ],
  );
});

test("conditions count where they stand: in a CTE, a subquery, a name of its own", () =>
  check([
    ["WITH q AS (SELECT * FROM orders WHERE id = 1) SELECT * FROM q WHERE id = 40", "1/4"],
    ["WITH orders AS (SELECT 40 AS id) SELECT * FROM orders WHERE id = 40", "0/0"],
    ["WITH orders AS (SELECT * FROM orders WHERE id < 5) SELECT * FROM orders WHERE id = 40", "1/4"],
    ["SELECT * FROM (SELECT * FROM orders) WHERE id = 3", "4/4"],
    [
      "SELECT (SELECT count(*) FROM customers c WHERE c.id = o.id AND c.id < 5) FROM orders o WHERE o.id = 1",
      "2/8",
    ],
    ["SELECT * FROM orders o WHERE NOT EXISTS (FROM customers c WHERE o.id = 40 AND c.id = 1)", "5/8"],
    [
      "SELECT * FROM orders WHERE EXISTS (SELECT 1 FROM customers WHERE orders.id = 3 AND name = 'c3')",
      "8/8",
    ],
    [
      `WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r, orders WHERE orders.id = 1 AND n < 3)
       SELECT * FROM r`,
      "1/4",
    ],
    ["SUMMARIZE SELECT id FROM orders WHERE id = 1", "1/4"],
  ]));

test("a name before a dot is a table first and a struct where there is no such table", () =>
  check([
    ["SELECT * FROM tags WHERE orders.id = 40", "1/2"],
    ["SELECT * FROM tags t WHERE t.orders.id = 40", "1/2"],
    ["SELECT * FROM tags, orders WHERE orders.id = 40", "3/6"],
    ["SELECT * FROM tags AS orders WHERE orders.orders.id = 40", "2/2"],
  ]));
