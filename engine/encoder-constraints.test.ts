import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { DataType, StructType } from "../delta/types.ts";
import {
  arrayOf,
  batchOf,
  nullable,
  openWorkbench,
  planFor,
  signal,
  struct,
} from "../test/support/encoder-fixture.ts";

const ROW = struct({ id: "long", amount: "double" });
const POSITIVE = { configuration: { "delta.constraints.positive": "amount > 0" } };
const required = (name: string, type: DataType) => ({ ...nullable(name, type), nullable: false });

test("a message that violates a constraint is a letter which says how, and the others are rows", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf([
    '{"id":0,"amount":1}',
    '{"id":1,"amount":-2.5}',
    '{"id":2}',
    '{"id":3,"amount":4}',
    "{",
  ]);
  const { encoded, rows } = await bench.encode(batch, planFor(ROW, POSITIVE));
  assert.deepEqual(encoded.bad, [
    {
      index: 1,
      stage: "constraint",
      code: "CONSTRAINT_VIOLATED",
      message: "constraint positive (amount > 0) is violated with amount = -2.5",
    },
    {
      index: 2,
      stage: "constraint",
      code: "CONSTRAINT_VIOLATED",
      message: "constraint positive (amount > 0) is violated with amount = null",
    },
    { index: 4, stage: "decode", code: "MALFORMED_JSON", message: encoded.bad[2]!.message },
  ]);
  assert.deepEqual([...rows.keys()], [0, 3]);
  assert.equal(String(rows.get(3)!.id), "3");
});

test("constraints hold in each partition, with fields that messages bring, and where no row is left", async (t) => {
  const bench = await openWorkbench(t);
  const plan = planFor(struct({ id: "long", p: "string" }), {
    partitionColumns: ["p"],
    configuration: { "delta.constraints.c": "p <> 'x' AND id % 2 = 0" },
  });
  const { encoded, rows } = await bench.encode(
    batchOf([
      '{"id":0,"p":"a","new":1}',
      '{"id":2,"p":"b"}',
      '{"id":1,"p":"a"}',
      '{"id":2,"p":"x"}',
      '{"id":4,"p":""}',
    ]),
    plan,
  );
  assert.deepEqual([...rows.keys()].sort(), [0, 1]);
  assert.deepEqual(
    encoded.bad.map(({ index }) => index),
    [2, 3, 4],
    "no text is none in a partition column",
  );
  assert.ok(encoded.evolvedSchema?.fields.some(({ name }) => name === "new"));
  const none = await bench.encode(batchOf(['{"id":1,"p":"a"}']), plan);
  assert.deepEqual([none.encoded.files, none.encoded.bad.length], [[], 1]);
});

test("one row in violation letters all rows of its message", async (t) => {
  const bench = await openWorkbench(t);
  const transform = "SELECT id, unnest(amounts) AS amount, _kafka FROM messages WHERE id > 0";
  const schema: StructType = { type: "struct", fields: [...ROW.fields, nullable("_kafka_index", "integer")] };
  const plan = planFor(schema, {
    ...POSITIVE,
    transform,
    input: struct({ id: "long", amounts: arrayOf("double") }),
  });
  const messages = ['{"id":1,"amounts":[1,-2,-3]}', '{"id":0,"amounts":[]}', '{"id":3,"amounts":[7]}'];
  const encoded = await bench.encoder.encode(batchOf(messages), plan, signal);
  assert.deepEqual(
    encoded.bad.map(({ index, stage, message }) => [index, stage, message]),
    [[0, "constraint", "constraint positive (amount > 0) is violated with amount = -2.0"]],
  );
  const sum = [...encoded.counts.values()].reduce((a, b) => ({
    rows: a.rows + b.rows,
    skipped: a.skipped + b.skipped,
  }));
  assert.deepEqual(sum, { rows: 1, skipped: 1 });
});

test("a transform's rows have no null where none may be, at any depth", async (t) => {
  const bench = await openWorkbench(t);
  const inner: StructType = { type: "struct", fields: [required("x", "long")] };
  const transform = "SELECT {x: nullif(id, 2)} AS s, [id, nullif(id, 3)] AS a, _kafka FROM messages";
  const schema: StructType = {
    type: "struct",
    fields: [
      required("s", inner),
      nullable("a", { type: "array", elementType: "long", containsNull: false }),
    ],
  };
  const plan = planFor(schema, { transform, input: struct({ id: "long" }) });
  const { encoded, rows } = await bench.encode(batchOf(['{"id":1}', '{"id":2}', '{"id":3}']), plan);
  assert.deepEqual(
    encoded.bad.map(({ index, stage, code, message }) => [index, stage, code, message]),
    [
      [1, "schema", "NULL_NOT_ALLOWED", "s.x: is null and must not be"],
      [2, "schema", "NULL_NOT_ALLOWED", "a.element: is null and must not be"],
    ],
  );
  assert.deepEqual([...rows.keys()], [0]);
});

test("a partition column that takes no nulls takes no empty text, and a column that no text message fills none at all", async (t) => {
  const bench = await openWorkbench(t);
  const schema: StructType = { type: "struct", fields: [nullable("id", "long"), required("p", "string")] };
  const json = await bench.encode(
    batchOf(['{"id":1,"p":"a"}', '{"id":2,"p":""}']),
    planFor(schema, { partitionColumns: ["p"] }),
  );
  assert.deepEqual(
    json.encoded.bad.map(({ index, code }) => [index, code]),
    [[1, "NULL_NOT_ALLOWED"]],
  );
  const text: StructType = {
    type: "struct",
    fields: [nullable("value", "string"), required("other", "string")],
  };
  const { encoded } = await bench.encode(batchOf(["a"]), planFor(text, { format: "text" }));
  assert.deepEqual(
    encoded.bad.map(({ index, code }) => [index, code]),
    [[0, "NULL_NOT_ALLOWED"]],
  );
});

test("a constraint that cannot be checked is refused, with a batch or without", async (t) => {
  const bench = await openWorkbench(t);
  const configuration = { "delta.constraints.young": "current_date() > '2020-01-01'" };
  const isRefused = (error: unknown) =>
    isLabError(error, "UNSUPPORTED_FEATURE") &&
    error.message.includes("young (current_date() > '2020-01-01')");
  const table = { configuration, schema: ROW, partitionColumns: [] };
  await assert.rejects(bench.encoder.checkConstraints(table, signal), isRefused);
  await assert.rejects(
    bench.encoder.encode(batchOf(["{}"]), planFor(ROW, { configuration }), signal),
    isRefused,
  );
  await bench.encoder.checkConstraints({ ...table, ...POSITIVE }, signal);
});
