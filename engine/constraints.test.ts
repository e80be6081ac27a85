import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { DataType, StructType } from "../delta/types.ts";
import { arrayOf, mapOf, nullable, signal, struct } from "../test/support/encoder-fixture.ts";
import { type ConstrainedTable, compileConstraints } from "./constraints.ts";
import { type Engine, openEngine, quoteName } from "./instance.ts";
import { sqlType } from "./sql-types.ts";
import { requireFulfilled } from "./violations.ts";

const SCHEMA = struct({
  id: "long",
  n: "integer",
  f: "float",
  d: "double",
  price: "decimal(10,2)",
  wide: "decimal(38,10)",
  t: "string",
  ok: "boolean",
  day: "date",
  z: "timestamp",
  s: struct({ x: "long" }),
  a: arrayOf("long"),
  m: mapOf("long"),
  nothing: "void",
});

function open(t: TestContext): Promise<Engine> {
  return openEngine({ memoryLimitBytes: 256 << 20, threads: 1, tempDir: null }).then((engine) => {
    t.after(() => engine.close());
    return engine;
  });
}

const check = (expression: string, schema: StructType = SCHEMA): ConstrainedTable => ({
  configuration: { "delta.constraints.c": expression },
  schema,
  partitionColumns: [],
});

/** What a row of some columns is told for each constraint of a table; the other columns are null. */
async function verdicts(engine: Engine, table: ConstrainedTable, row: Record<string, string> = {}) {
  const checks = await compileConstraints(engine, table, signal);
  const columns = table.schema.fields
    .filter((field) => field.type !== "void")
    .map(({ name, type }) => `CAST(${row[name] ?? "NULL"} AS ${sqlType(type)}) AS ${quoteName(name)}`);
  const [found] = await engine.rows(
    `SELECT [${checks.map(({ sql }) => sql).join(", ")}] AS verdicts FROM (SELECT ${columns.join(", ")})`,
  );
  return found!.verdicts as unknown as boolean[];
}

const isUnsupported = (error: unknown) =>
  isLabError(error, "UNSUPPORTED_FEATURE") && /constraint c \(/.test(error.message);

test("a row fulfils a check where it is true: null is not enough", async (t) => {
  const engine = await open(t);
  const told = async (row: Record<string, string>) => (await verdicts(engine, check("n > 0"), row))[0];
  assert.deepEqual([await told({ n: "1" }), await told({ n: "0" }), await told({})], [true, false, false]);
});

test("signs, words and constants mean what they mean in Spark", async (t) => {
  const engine = await open(t);
  for (const expression of [
    "10 / 4 = 2.5D",
    "7 DIV 2 = 3 AND -7 DIV 2 = -3 AND -7 % 4 = -3",
    "'a' || 'b' || 'c' = 'abc'",
    "concat('a', NULL) IS NULL",
    String.raw`'it\'s' LIKE 'it\'_' AND 'a_b' LIKE 'a\\_b' AND NOT 'axb' LIKE 'a\\_b'`,
    String.raw`'1.5' RLIKE '^\\d\\.\\d$' AND 'x\n' RLIKE 'x$' AND NOT 'a\rb' RLIKE 'a.b'`,
    "substring('abc', 2) = 'bc' AND trim('  a ') = 'a' AND trim('\ta') = '\ta'",
    "length('日本語') = 3 AND octet_length('日本語') = 9",
    "upper('groß') IS NULL AND upper('abc') = 'ABC'",
    "NULL <=> NULL AND NOT 1 <=> NULL AND 1 IS DISTINCT FROM NULL",
    "NOT false AND !false OR false",
    "1 = 1 = true",
    "1 + 2 * 3 = 7 AND (1 + 2) * 3 = 9 AND - 2 * 3 = -6",
    "2 BETWEEN 1 AND 3 AND 2 NOT BETWEEN 3 AND 4 AND 2 IN (1, 2) AND 2 NOT IN (1, 3)",
    "CASE WHEN false THEN 1 ELSE 2 END = 2 AND CASE 3 WHEN 3 THEN 'x' END = 'x'",
    "0.1 + 0.2 = 0.3 AND 1.0 = 1 AND 1e2 = 100 AND 3L = 3",
    "'2024-02-29'::date = DATE '2024-02-29' AND 1::bigint = 1L",
    "DATE '2024-02-29' > '2024-02-28' AND year(DATE '2024-02-29') = 2024",
    "TIMESTAMP '2024-01-01 01:00:00+01:00' = TIMESTAMP '2024-01-01T00:00:00Z'",
    "coalesce(NULL, 1) = 1 AND nullif(1, 1) IS NULL AND if(true, 1, 2) = 1",
  ])
    assert.deepEqual(await verdicts(engine, check(expression)), [true], expression);
});

test("what fails is null, and never an error: overflow, division by zero, places outside of an array", async (t) => {
  const engine = await open(t);
  const row = { n: "2147483647", d: "1", a: "[1]" };
  for (const [expression, verdict] of [
    ["n + 1 > 0", false],
    ["n + 1 > 0 OR n = 2147483647", true],
    ["n / 0 > 1", false],
    ["d / 0 > 1", false],
    ["n % 0 = 0", false],
    ["a[1] > 0", false],
    ["a[0] > 0", true],
  ] as const)
    assert.deepEqual(await verdicts(engine, check(expression), row), [verdict], expression);
});

test("columns are found whatever their case, their names may be quoted, and hold anything", async (t) => {
  const engine = await open(t);
  const schema = struct({ 'a `b" c': "long", Amount: "long" });
  assert.deepEqual(
    await verdicts(engine, check('`a ``b" c` = 1 AND aMOUNT = 2', schema), { 'a `b" c': "1", Amount: "2" }),
    [true],
  );
});

test("items of arrays and maps are looked at one by one; null among them is neither true nor false", async (t) => {
  const engine = await open(t);
  const row = { a: "[1, NULL]", m: "MAP {'k': 5}" };
  for (const [expression, verdict] of [
    ["forall(a, x -> x > 0)", false],
    ["forall(a, x -> x > 0) IS NULL", true],
    ["NOT forall(a, x -> x > 1)", true],
    ["exists(a, x -> x > 0)", true],
    ["NOT exists(a, x -> x > 1)", false],
    ["forall(map_values(m), v -> exists(a, x -> x < v AND x < n))", false],
    ["forall(map_values(m), v -> exists(a, x -> x < v))", true],
    ["forall(a, x -> x * 9223372036854775807 > 1) IS NULL", true],
    ["array_contains(a, 1) AND NOT coalesce(array_contains(a, 2), false)", true],
    ["size(a) = 2 AND cardinality(m) = 1 AND m['k'] = 5 AND m['x'] IS NULL", true],
  ] as const)
    assert.deepEqual(await verdicts(engine, check(expression), row), [verdict], expression);
});

test("what engines or their settings read in different ways is refused by its name", async (t) => {
  const engine = await open(t);
  for (const expression of [
    "t = 1",
    "t > day",
    "z > '2024-01-01 00:00:00'",
    "z > TIMESTAMP '2024-01-01 00:00:00'",
    "day > z",
    "day > '2024-1-1'",
    "year(z) = 2024",
    "ok = 1",
    "f = n",
    "f + n > 0",
    "wide = d",
    "wide * wide > 0",
    "price / 2 > 1",
    "price % 2 > 1",
    "t || 1 = 'a1'",
    "n > 0 AND \"t\" = 'x'",
    "t = 'it''s'",
    "t = r'x'",
    "t RLIKE '\\\\bword'",
    "t RLIKE '(?i)a'",
    "t RLIKE 'a++'",
    "t RLIKE '(a)\\\\1'",
    "t RLIKE t",
    "t LIKE t",
    "t LIKE 'a\\\\bc'",
    "substring(t, -1) = 'a'",
    "substring(t, n) = 'a'",
    "trim(BOTH FROM t) = 'a'",
    "rand() > 0.5",
    "day < current_date()",
    "id IN (SELECT id FROM x)",
    "sum(n) > 0",
    "n & 1 = 1",
    "n > 0 -- positive",
    "n",
    "n > ",
    "n > 0)",
    "missing > 0",
    "s.missing > 0",
    "s = s",
    "a = a",
    "",
    "CAST(t AS INT) > 0",
    "t::int > 0",
    "CAST(d AS INT) > 0",
    "x -> x",
    "date_format(day, 'y') = '2024'",
  ])
    await assert.rejects(verdicts(engine, check(expression)), isUnsupported, expression);
});

test("an expression that grows beyond all bounds is refused, not waited for", async (t) => {
  const engine = await open(t);
  let expression = "ok";
  for (let level = 0; level < 60; level++) expression = `(${expression} BETWEEN false AND true)`;
  await assert.rejects(verdicts(engine, check(expression)), isUnsupported);
});

test("nulls are found at any depth, and not where a parent is null", async (t) => {
  const engine = await open(t);
  const required = (type: DataType) => ({ ...nullable("x", type), nullable: false });
  const inner: StructType = { type: "struct", fields: [required("long")] };
  const schema: StructType = {
    type: "struct",
    fields: [
      { ...nullable("id", "long"), nullable: false },
      nullable("s", inner),
      nullable("a", { type: "array", elementType: inner, containsNull: false }),
      nullable("m", { type: "map", keyType: "string", valueType: "long", valueContainsNull: false }),
    ],
  };
  const table = { configuration: {}, schema, partitionColumns: [] };
  const names = (await compileConstraints(engine, table, signal)).map(({ name }) => name);
  assert.deepEqual(names, ["id", "s.x", "a.element", "a.element.x", "m.value"]);
  assert.deepEqual(await verdicts(engine, table, { id: "1" }), [true, true, true, true, true]);
  const bad = { s: "{x: NULL}", a: "[{x: 1}, NULL, {x: NULL}]", m: "MAP {'k': NULL}" };
  assert.deepEqual(await verdicts(engine, table, bad), [false, false, false, false, false]);
});

test("a partition column has no empty text: it is stored as null", async (t) => {
  const engine = await open(t);
  const schema: StructType = { type: "struct", fields: [{ ...nullable("p", "string"), nullable: false }] };
  const table = { configuration: {}, schema, partitionColumns: ["p"] };
  assert.deepEqual(await verdicts(engine, table, { p: "''" }), [false]);
  assert.deepEqual(await verdicts(engine, { ...table, partitionColumns: [] }, { p: "''" }), [true]);
});

test("an invariant of a column is one of the row", async (t) => {
  const engine = await open(t);
  const metadata = { "delta.invariants": '{"expression":{"expression":"n > 3"}}' };
  const schema: StructType = { type: "struct", fields: [{ ...nullable("n", "long"), metadata }] };
  const table = { configuration: {}, schema, partitionColumns: [] };
  assert.deepEqual(await verdicts(engine, table, { n: "4" }), [true]);
  assert.deepEqual(await verdicts(engine, table, { n: "3" }), [false]);
});

test("a violation tells the constraint, how many rows violate it, and what one of them holds", async (t) => {
  const engine = await open(t);
  const checks = await compileConstraints(engine, check("price > 0 AND s.x = n"), signal);
  const rows =
    "(SELECT 1 AS n, r::DECIMAL(10,2) AS price, {x: 1} AS s FROM (VALUES (1), (-2.5), (-2.5)) AS x(r))";
  await assert.rejects(requireFulfilled(engine, rows, checks, signal), (error) => {
    assert.ok(isLabError(error, "CONSTRAINT_VIOLATED"));
    assert.equal(
      error.message,
      "constraint c (price > 0 AND s.x = n) is violated by 2 of the new rows, one of them with price = -2.50, s.x = 1, n = 1",
    );
    return true;
  });
});
