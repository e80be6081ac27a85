import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Engine, openEngine } from "../engine/instance.ts";
import { parseSql } from "../engine/sql-tree.ts";
import { givesOneRow, mayFollowWith, namesIn } from "./named-columns.ts";

const signal = new AbortController().signal;
let engine: Engine;
before(async () => {
  engine = await openEngine({ memoryLimitBytes: 500_000_000, threads: 1, tempDir: null });
});
after(() => engine.close());

const tree = (sql: string) => parseSql(engine, sql, signal);

test("a name counts wherever it stands in a statement, whatever its case", async () => {
  const named: [sql: string, names: string[]][] = [
    ["SELECT ID FROM t", ["id"]],
    ["SELECT count(*) FROM t WHERE t.Day = '2026-01-01' AND o.city IS NULL", ["day", "city", "o"]],
    ["SELECT 1 FROM t JOIN u USING (key)", ["key"]],
    ["SELECT sum(a) OVER (PARTITION BY b ORDER BY c) FROM t QUALIFY d > 1", ["a", "b", "c", "d"]],
    ["SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.x = t.y)", ["x", "y"]],
    ["SELECT list_transform(l, lambda e: e + n) FROM t", ["l", "n"]],
    ["SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY c LIMIT 1", ["a", "b", "c"]],
  ];
  for (const [sql, names] of named) {
    const found = namesIn(await tree(sql));
    for (const name of names) assert.ok(found?.has(name), `${name} of ${sql}`);
    assert.ok(!found?.has("unnamed"), sql);
  }
});

test("all columns may be meant by a star, by a row as a whole, and where columns are found by themselves or renamed", async () => {
  for (const sql of [
    "SELECT * FROM t",
    "SELECT t.* EXCLUDE (a) FROM t",
    "SELECT COLUMNS('a.*') FROM t",
    "FROM t",
    "SELECT T FROM t",
    "SELECT x FROM t AS x",
    "SELECT to_json(x) FROM t AS x",
    "SELECT 1 FROM t NATURAL JOIN u",
    "SELECT b FROM t AS x(b)",
  ])
    assert.equal(namesIn(await tree(sql)), undefined, sql);
});

test("a WITH may stand before plain queries, and before none that has names for tables of its own or asks for one", async () => {
  for (const sql of [
    "SELECT a FROM t, (SELECT b FROM u) WHERE a IN (SELECT c FROM v) ORDER BY 1 LIMIT 3",
    "(SELECT DISTINCT a FROM t) EXCEPT SELECT b FROM u",
    "SELECT a FROM t, range(3), (VALUES (1)) USING SAMPLE 3",
  ])
    assert.equal(mayFollowWith(await tree(sql)), true, sql);
  for (const sql of [
    "WITH x AS (SELECT 1) SELECT * FROM x",
    "SELECT * FROM (WITH t AS (SELECT * FROM t) SELECT * FROM t)",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r",
    "DESCRIBE t",
    "SUMMARIZE t",
  ])
    assert.equal(mayFollowWith(await tree(sql)), false, sql);
});

test("a statement gives one row that aggregates all it reads, and nothing beside", async () => {
  for (const sql of [
    "SELECT count(*), sum(a)::VARCHAR FROM t WHERE a > 1",
    "SELECT MAX(a) FROM t HAVING max(a) > 1",
  ])
    assert.ok(givesOneRow(await tree(sql)), sql);
  for (const sql of [
    ...["SELECT a FROM t", "SELECT count(*) FROM t GROUP BY a", "SELECT count(*) FROM t GROUP BY ALL"],
    ...["SELECT count(*) OVER () FROM t", "SELECT count(*), unnest(range(9)) FROM t"],
    ...["SELECT unnest(max(a)) FROM t", "SELECT (SELECT max(a) FROM t), b FROM t"],
    ...[
      "SELECT max(a) FROM t UNION ALL SELECT a FROM t",
      "SELECT count(*) FROM t GROUP BY GROUPING SETS ((a), ())",
    ],
    ...["FROM t", "VALUES (1), (2)", "SELECT array_agg(a) FROM t"],
  ])
    assert.ok(!givesOneRow(await tree(sql)), sql);
});
