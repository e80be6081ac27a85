import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rewriteSpark } from "./spark-syntax.ts";
import { tokenize } from "./tokens.ts";

const CASES: readonly (readonly [spark: string, duckdb: string])[] = [
  ["SELECT * FROM orders VERSION AS OF 3", "SELECT * FROM orders AT (VERSION => 3)"],
  [
    "select * from orders version as of 3 o where o.id = 1",
    "select * from orders o AT (VERSION => 3) where o.id = 1",
  ],
  [
    "SELECT * FROM orders FOR VERSION AS OF '3' AS o(a, b) LIMIT 1",
    "SELECT * FROM orders AS o(a, b) AT (VERSION => '3') LIMIT 1",
  ],
  [
    "SELECT * FROM a TIMESTAMP AS OF '2024-01-01' JOIN b FOR SYSTEM_TIME AS OF current_timestamp() - INTERVAL 1 HOUR ON a.x = b.x",
    "SELECT * FROM a AT (TIMESTAMP => '2024-01-01') JOIN b AT (TIMESTAMP => current_timestamp() - INTERVAL 1 HOUR) ON a.x = b.x",
  ],
  [
    'SELECT * FROM "my table" TIMESTAMP AS OF (now()) "t"',
    'SELECT * FROM "my table" "t" AT (TIMESTAMP => (now()))',
  ],
  [
    "SELECT * FROM a TIMESTAMP AS OF TIMESTAMP '2024-01-01' - INTERVAL '1 day', b SYSTEM_VERSION AS OF 2",
    "SELECT * FROM a AT (TIMESTAMP => TIMESTAMP '2024-01-01' - INTERVAL '1 day'), b AT (VERSION => 2)",
  ],
];

test("Spark's time travel becomes an AT clause after the alias", () => {
  for (const [spark, duckdb] of CASES) assert.equal(rewriteSpark(spark).sql, duckdb);
});

test("text that only looks like it is left alone", () => {
  for (const sql of [
    "SELECT 'FROM orders VERSION AS OF 3'",
    "SELECT * FROM orders -- VERSION AS OF 3",
    "SELECT * FROM orders /* x /* VERSION */ AS OF 3 */",
    'SELECT 1 AS "orders VERSION AS OF 3"',
    "SELECT version AS of FROM (SELECT 1 AS version)",
    "SELECT $$FROM orders VERSION AS OF 3$$",
    "SELECT * FROM orders VERSION AS OF",
    "SELECT * FROM orders AT (VERSION => 3)",
    "SELECT E'\\' orders VERSION AS OF 3'",
  ]) {
    assert.equal(rewriteSpark(sql).sql, sql);
  }
});

test("a position in the new text leads back to the old one", () => {
  for (const [spark, duckdb] of CASES) {
    const { toOriginal } = rewriteSpark(spark);
    for (const word of ["SELECT", "WHERE", "LIMIT", "a.x", "o.id"]) {
      const at = duckdb.search(new RegExp(word, "i"));
      if (at >= 0) assert.equal(toOriginal(at), spark.search(new RegExp(word, "i")), `${word} in ${spark}`);
    }
    assert.equal(toOriginal(duckdb.length), spark.length);
  }
});

test("tokens cover any text in order, without overlap", () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom("'", '"', "$", "a", "1", " ", "/", "*", "-", "\n", "(", "é", "\\", "e"),
      }),
      (sql) => {
        let end = 0;
        for (const token of tokenize(sql)) {
          assert.ok(token.start >= end && token.end > token.start && token.end <= sql.length);
          end = token.end;
        }
        assert.equal(typeof rewriteSpark(sql).sql, "string");
      },
    ),
  );
});
