import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import {
  batchOf,
  nullable,
  openWorkbench,
  planFor,
  signal,
  struct,
  withKafka,
} from "../test/support/encoder-fixture.ts";

const INPUT = struct({
  id: "long",
  placed_at: "timestamp",
  name: "string",
  items: { type: "array", elementType: "long", containsNull: true },
});

const ROW_LOCAL = [
  "SELECT * FROM messages",
  "FROM messages WHERE id > 1",
  "SELECT *, strftime(placed_at, '%Y-%m-%d') AS date FROM messages -- the day\n;",
  "SELECT id + 1 AS next, nullif(name, ''), list_sum(items), _kafka FROM messages",
  "SELECT * REPLACE (upper(name) AS name) FROM messages",
  "WITH m AS (SELECT * FROM messages WHERE id > 1) SELECT * EXCLUDE (placed_at) FROM m",
  "SELECT * FROM (SELECT id, _kafka FROM messages) AS m",
  "SELECT unnest(items) AS item, _kafka FROM messages",
  "SELECT list_transform(items, lambda x: x + 1) AS l, _kafka FROM messages",
  "SELECT CASE WHEN id < 0 THEN error('negative') ELSE id END AS id, _kafka FROM messages",
  "SELECT _kafka.offset AS o, messages._kafka FROM messages",
  "SELECT age(placed_at, placed_at)::VARCHAR AS a, _kafka FROM messages",
];

const REFUSED: readonly (readonly [sql: string, reason: RegExp])[] = [
  ["SELECT count(*), _kafka FROM messages GROUP BY _kafka", /GROUP BY/],
  ["SELECT sum(id) FROM messages", /aggregate sum/],
  ["SELECT row_number() OVER () AS n, _kafka FROM messages", /window function row_number/],
  ["SELECT id, _kafka FROM messages QUALIFY id = 1", /QUALIFY/],
  ["SELECT a.* FROM messages a JOIN messages b USING (id)", /joins/],
  ["SELECT * FROM messages, range(3)", /joins/],
  ["SELECT * FROM messages, unnest(items)", /joins/],
  ["SELECT (SELECT max(id) FROM messages) AS m, _kafka FROM messages", /subquery/],
  ["SELECT * FROM messages WHERE id IN (SELECT id FROM messages)", /subquery/],
  ["SELECT * FROM messages WHERE EXISTS (FROM messages)", /subquery/],
  ["SELECT * FROM messages ORDER BY id", /ORDER BY/],
  ["SELECT * FROM messages LIMIT 5", /LIMIT/],
  ["SELECT * FROM messages OFFSET 5", /LIMIT/],
  ["SELECT DISTINCT * FROM messages", /DISTINCT/],
  ["SELECT * FROM messages UNION ALL SELECT * FROM messages", /set operation/],
  ["SELECT * FROM messages TABLESAMPLE 10%", /sampling/],
  ["SELECT * FROM messages USING SAMPLE 3", /sampling/],
  ["WITH RECURSIVE r AS (SELECT * FROM messages UNION ALL SELECT * FROM r) SELECT * FROM r", /./],
  ["SELECT *, random() AS r FROM messages", /random\(\)/],
  ["SELECT *, uuid() AS u FROM messages", /uuid\(\)/],
  ["SELECT *, now() AS n FROM messages", /now\(\)/],
  ["SELECT *, list_transform(items, lambda x: x + random()) AS l FROM messages", /random\(\)/],
  ["SELECT *, current_timestamp AS n FROM messages", /current_timestamp/],
  ["SELECT *, CURRENT_DATE AS n FROM messages", /CURRENT_DATE/i],
  ["SELECT *, age(placed_at)::VARCHAR AS a FROM messages", /age\(\)/],
  ["SELECT id FROM messages", /lacks _kafka/],
  ["SELECT id, 1 AS _kafka FROM messages", /changes _kafka/],
  ['SELECT * REPLACE (struct_pack("offset" := 1) AS _kafka) FROM messages', /changes _kafka/],
  ["SELECT *, 1 AS ID FROM messages", /two columns named ID/],
  ["SELECT *, TIME '10:00' AS t FROM messages", /TIME.*CAST/],
  ["SELECT *, INTERVAL 1 DAY AS t FROM messages", /INTERVAL.*CAST/],
  ["SELECT *, TIMESTAMP '2020-01-01' AS t FROM messages", /TIMESTAMPTZ/],
  ["SELECT nope, _kafka FROM messages", /nope/],
  ["SELECT nope(id) AS x, _kafka FROM messages", /nope/],
  ["SELECT id + placed_at AS x, _kafka FROM messages", /\+/],
  ["SELECT * FROM orders", /orders, not from messages/],
  ["SELECT * FROM main.messages", /messages/],
  ["SELECT * FROM read_text('/etc/hostname')", /table function/],
  ["SELECT * FROM '/etc/hostname'", /not from messages/],
  ["VALUES (1)", /./],
  ["SELECT 1", /does not read from messages/],
  ["SELECT $1, _kafka FROM messages", /parameters/],
  ["SELECT * FROM messages; SELECT 1", /2 statements/],
  ["", /0 statements/],
  ["COPY messages TO '/tmp/x'", /SELECT/],
  ["PRAGMA version", /./],
  ["SELEC * FROM messages", /syntax error/],
];

test("SQL that looks at one message at a time is allowed", async (t) => {
  const { encoder } = await openWorkbench(t);
  for (const sql of ROW_LOCAL) await assert.doesNotReject(encoder.checkTransform(sql, INPUT, signal), sql);
});

test("SQL that is not row-local is refused with the reason", async (t) => {
  const { encoder } = await openWorkbench(t);
  for (const [sql, reason] of REFUSED) {
    await assert.rejects(
      encoder.checkTransform(sql, INPUT, signal),
      (error) => isLabError(error, "TRANSFORM_REFUSED") && reason.test(error.message),
      sql,
    );
  }
});

test("a checked transform says its columns in Delta's types", async (t) => {
  const { encoder } = await openWorkbench(t);
  const sql =
    "SELECT id, placed_at, 1.5 AS d, {'a': [name]} AS s, map {'k': id} AS m, id::HUGEINT AS h, _kafka FROM messages";
  const columns = await encoder.checkTransform(sql, INPUT, signal);
  assert.deepEqual(
    columns.map(({ name, type }) => [name, type]),
    [
      ["id", "long"],
      ["placed_at", "timestamp"],
      ["d", "decimal(2,1)"],
      ["s", struct({ a: { type: "array", elementType: "string", containsNull: true } })],
      ["m", { type: "map", keyType: "string", valueType: "long", valueContainsNull: true }],
      ["h", "decimal(38,0)"],
    ],
  );
});

test("a transform may rename, compute and leave out; what it leaves out is counted as skipped", async (t) => {
  const bench = await openWorkbench(t);
  const transform =
    "SELECT id * 2 AS twice, strftime(placed_at, '%Y-%m-%d') AS date, _kafka FROM messages WHERE id <> 2";
  const batch = batchOf([1, 2, 3, 4].map((id) => `{"id":${id},"placed_at":"2024-01-0${id}T00:00:00Z"}`));
  const schema = struct({ twice: "long", date: "string" });
  const plan = planFor(schema, {
    transform,
    input: INPUT,
    partitionColumns: ["date"],
    derived: [{ kind: "date", column: "date" }],
  });
  const { encoded, rows } = await bench.encode(batch, plan);
  assert.deepEqual([...rows].map(([place, row]) => [place, String(row.twice), row.date]).sort(), [
    [0, "2", "2024-01-01"],
    [2, "6", "2024-01-03"],
    [3, "8", "2024-01-04"],
  ]);
  assert.deepEqual(encoded.counts.get(1), { rows: 0, skipped: 1 });
  assert.deepEqual(encoded.counts.get(0), { rows: 2, skipped: 0 });
  assert.equal(encoded.evolvedSchema, undefined);
  assert.equal(encoded.evolvedInput, undefined);
});

test("each message that makes the statement fail is a letter, and only that one", async (t) => {
  const bench = await openWorkbench(t);
  const transform =
    "SELECT CASE WHEN id = 77 THEN error('no 77') ELSE CAST(name AS INTEGER) END AS n, _kafka FROM messages";
  const values = Array.from(
    { length: 300 },
    (_, id) => `{"id":${id},"name":"${id % 100 === 50 ? "x" : id}"}`,
  );
  const plan = planFor(struct({ n: "integer" }), { transform, input: INPUT });
  const { encoded, rows } = await bench.encode(batchOf([...values, "{bad"]), plan);
  assert.deepEqual(
    encoded.bad.map(({ index, stage }) => [index, stage]),
    [
      [50, "transform"],
      [77, "transform"],
      [150, "transform"],
      [250, "transform"],
      [300, "decode"],
    ],
  );
  assert.match(encoded.bad[1]!.message, /no 77/);
  assert.equal(rows.size, 296);
  assert.equal(String(rows.get(299)!.n), "299");
});

test("a value that does not fit the table's column, or lacks where it must not, is a letter", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({ id: "long", d: "decimal(3,1)" });
  const fields = [{ ...schema.fields[0]!, nullable: false }, schema.fields[1]!];
  const transform = "SELECT nullif(id, 2) AS id, CAST(id AS DECIMAL(10,1)) AS d, _kafka FROM messages";
  const plan = planFor({ type: "struct", fields }, { transform, input: INPUT });
  const { encoded, rows } = await bench.encode(batchOf(['{"id":1}', '{"id":2}', '{"id":1000}']), plan);
  assert.deepEqual(
    encoded.bad.map(({ index, code }) => [index, code]),
    [
      [1, "NULL_NOT_ALLOWED"],
      [2, "TRANSFORM_FAILED"],
    ],
  );
  assert.deepEqual([...rows.keys()], [0]);
});

test("a transform whose type would lose something in the table's column is a mismatch, not a rounding", async (t) => {
  const bench = await openWorkbench(t);
  const plan = planFor(struct({ x: "long" }), {
    transform: "SELECT id * 0.5 AS x, _kafka FROM messages",
    input: INPUT,
  });
  await assert.rejects(bench.encoder.encode(batchOf(['{"id":1}']), plan, signal), (error) =>
    isLabError(error, "SCHEMA_MISMATCH"),
  );
});

test("unnest numbers the rows of a message, and counts them", async (t) => {
  const bench = await openWorkbench(t);
  const transform = "SELECT unnest(items) AS item, _kafka FROM messages";
  const batch = batchOf(['{"items":[5,6,7]}', '{"items":[]}', "{}", '{"items":[8]}', '{"items":[3,null]}']);
  const schema = await bench.encoder.inferSchema(batch, { format: "json", transform }, signal);
  assert.deepEqual(schema, {
    type: "struct",
    fields: [nullable("item", "long"), nullable("_kafka_index", "integer")],
  });
  const encoded = await bench.encoder.encode(batch, planFor(schema!, { transform }), signal);
  assert.deepEqual(encoded.bad, []);
  const rows = await bench.reader.rows(
    `SELECT _kafka.offset::INTEGER AS o, _kafka_index AS i, item::INTEGER AS item FROM '${encoded.files[0]!.file}' ORDER BY ALL`,
  );
  assert.deepEqual(
    rows.map(({ o, i, item }) => [o, i, item]),
    [
      [0, 0, 5],
      [0, 1, 6],
      [0, 2, 7],
      [3, 0, 8],
      [4, 0, 3],
      [4, 1, null],
    ],
  );
  assert.deepEqual(encoded.counts.get(0), { rows: 4, skipped: 0 });
  assert.deepEqual(encoded.counts.get(1), { rows: 2, skipped: 1 });
  assert.deepEqual(encoded.counts.get(2), { rows: 0, skipped: 1 });
});

test("new fields of messages pass through SELECT * into the table's schema", async (t) => {
  const bench = await openWorkbench(t);
  const transform = "SELECT *, id + 1 AS next FROM messages";
  const first = batchOf(['{"id":1,"name":null}']);
  const input = await bench.encoder.inferInput(first, { format: "json" }, signal);
  const schema = await bench.encoder.inferSchema(first, { format: "json", transform }, signal);
  assert.deepEqual(schema, struct({ id: "long", name: "string", next: "long" }));
  const plan = planFor(schema!, { transform, input: input! });
  const { encoded, rows } = await bench.encode(batchOf(['{"id":5,"more":{"x":true}}']), plan);
  assert.deepEqual(
    encoded.evolvedInput,
    struct({ id: "long", name: "string", more: struct({ x: "boolean" }) }),
  );
  assert.deepEqual(
    encoded.evolvedSchema,
    withKafka(struct({ id: "long", name: "string", next: "long", more: struct({ x: "boolean" }) })),
  );
  assert.deepEqual(rows.get(0)!.more, { x: true });
});

test("without a declared input the messages of the batch tell it, in the table's types where they widen", async (t) => {
  const bench = await openWorkbench(t);
  const transform = "SELECT * FROM messages";
  const plan = planFor(struct({ id: "long", amount: "double", note: "string" }), { transform });
  const { rows } = await bench.encode(batchOf(['{"id":1,"amount":2,"note":7}']), plan);
  assert.equal(Number(rows.get(0)!.amount), 2);
  assert.equal(rows.get(0)!.note, "7");
  const later = await bench.encode(batchOf(['{"amount":2.5}']), plan);
  assert.equal(Number(later.rows.get(0)!.amount), 2.5);
  assert.equal(later.rows.get(0)!.id, null);
});

test("text messages can be transformed, and date comes from Kafka's time where nothing gives it", async (t) => {
  const bench = await openWorkbench(t);
  const transform = "SELECT upper(value) AS loud, _kafka FROM messages WHERE value IS NOT NULL";
  const schema = struct({ loud: "string", date: "string" });
  const plan = planFor(schema, {
    format: "text",
    transform,
    partitionColumns: ["date"],
    derived: [{ kind: "date", column: "date" }],
  });
  const { encoded, rows } = await bench.encode(batchOf(["One!", null]), plan);
  assert.deepEqual([rows.get(0)!.loud, rows.get(0)!.date], ["ONE!", "2025-11-25"]);
  assert.deepEqual(encoded.counts.get(1), { rows: 0, skipped: 1 });
});

test("a transform cannot reach the file system", async (t) => {
  const { encoder } = await openWorkbench(t);
  const reach = "SELECT *, (SELECT content FROM read_text('/etc/hostname')) AS c FROM messages";
  await assert.rejects(encoder.checkTransform(reach, INPUT, signal), (error) =>
    isLabError(error, "TRANSFORM_REFUSED"),
  );
});

test("a field called rowid is a field like any other: every message is a row or a letter, and rows keep their order", async (t) => {
  const bench = await openWorkbench(t);
  const values = Array.from(
    { length: 40 },
    (_, id) => `{"id":${id % 7 === 3 ? '"x"' : `"${id}"`},"rowid":"r${id}"}`,
  );
  const schema = struct({ id: "long", rowid: "string" });
  const plan = planFor(schema, { transform: "SELECT CAST(id AS BIGINT) AS id, rowid, _kafka FROM messages" });
  const { encoded, rows } = await bench.encode(batchOf(values), plan);
  const wrong = [3, 10, 17, 24, 31, 38];
  assert.deepEqual(
    encoded.bad.map(({ index }) => index),
    wrong,
  );
  assert.deepEqual(
    [...rows.keys()].filter((place) => wrong.includes(place)),
    [],
  );
  const many = planFor(struct({ rowid: "long", _kafka_index: "integer" }), {
    transform: "SELECT unnest([7, 5, 5]) AS rowid, _kafka FROM messages",
    configuration: { "delta.constraints.c": "rowid > 0" },
  });
  const { files } = await bench.encoder.encode(batchOf(["{}"]), many, signal);
  const read = await bench.reader.rows(
    `SELECT rowid::INTEGER AS r, _kafka_index AS i FROM read_parquet('${files[0]?.file}')`,
  );
  assert.deepEqual(read, [
    { r: 7, i: 0 },
    { r: 5, i: 1 },
    { r: 5, i: 2 },
  ]);
});
