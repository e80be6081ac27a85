import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { createTable } from "../delta/create.ts";
import { openTable } from "../delta/open.ts";
import { serializeSchema } from "../delta/schema.ts";
import { openStore } from "../delta/store/open.ts";
import type { StructField, StructType } from "../delta/types.ts";
import { KAFKA_FIELD } from "../engine/kafka-column.ts";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";

const { signal } = new AbortController();
const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });
const field = (name: string, type: StructField["type"], nullable = true): StructField => ({
  name,
  type,
  nullable,
  metadata: {},
});
const SCHEMA: StructType = {
  type: "struct",
  fields: [
    field("id", "long", false),
    field("amount", "double"),
    field("lines", {
      type: "array",
      elementType: { type: "struct", fields: [field("sku", "string", false)] },
      containsNull: false,
    }),
    KAFKA_FIELD,
  ],
};

async function tableWith(t: TestContext, configuration: Record<string, string>): Promise<Fixture> {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  const store = await openStore(fixture.tableUri, { signal });
  await createTable(store, { schema: SCHEMA, configuration }, signal);
  return fixture;
}

/** What another writer does to the table. */
async function configure(
  fixture: Fixture,
  configuration: Record<string, string>,
  schema = SCHEMA,
): Promise<void> {
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  for (;;) {
    const readSnapshot = await table.latest(signal);
    const { metadata } = readSnapshot;
    const writerFeatures = ["appendOnly", "invariants", "checkConstraints", "generatedColumns"];
    const result = await table.commit(
      {
        readSnapshot,
        operation: "ADD CONSTRAINT",
        protocol: { minReaderVersion: 1, minWriterVersion: 7, writerFeatures },
        metadata: {
          ...metadata,
          schemaString: serializeSchema(schema),
          configuration: { ...metadata.configuration, ...configuration },
        },
      },
      signal,
    );
    if (result.kind === "committed") return;
  }
}

const ids = async (fixture: Fixture) =>
  (await fixture.rows("SELECT id FROM t ORDER BY id")).map((row) => Number(row.id));
const letters = async (fixture: Fixture) =>
  (
    await fixture.rows(
      'SELECT stage, error_code AS code, error_message AS message, "offset" AS o FROM letters ORDER BY o',
      "letters",
    )
  ).map(({ stage, code, message }) => [stage, code, message]);

test("rows that a table does not take are letters, whichever rule it is, and the others are there", async (t) => {
  const fixture = await tableWith(t, { "delta.constraints.positive": "amount > 0" });
  fixture.kafka.append("t", 0, [
    json({ id: 0, amount: 1, lines: [{ sku: "a" }] }),
    json({ id: 1, amount: 0 }),
    json({ amount: 1 }),
    json({ id: 3, amount: 1, lines: [{ sku: "a" }, {}] }),
    json({ id: 4, amount: 1, lines: [null] }),
    json({ id: 5, amount: 2 }),
  ]);
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), [0, 5]);
  assert.deepEqual(await letters(fixture), [
    ["constraint", "CONSTRAINT_VIOLATED", "constraint positive (amount > 0) is violated with amount = 0.0"],
    ["schema", "NULL_NOT_ALLOWED", "id: is absent or null and must not be"],
    ["schema", "NULL_NOT_ALLOWED", "lines[1].sku: is absent or null and must not be"],
    ["schema", "NULL_NOT_ALLOWED", "lines[0]: is null and must not be"],
  ]);
});

test("a constraint that comes while rows wait holds for them, too", async (t) => {
  const fixture = await tableWith(t, {});
  const flush = { latencyMs: 60_000, rows: 3, bytes: 256 << 20 };
  const worker = fixture.start({ flush });
  fixture.kafka.append("t", 0, [
    json({ id: 0, amount: 1 }),
    json({ id: 1, amount: 1 }),
    json({ id: 2, amount: 1 }),
  ]);
  await fixture.hasRows(3);
  fixture.kafka.append("t", 0, [json({ id: 3, amount: -1 }), json({ id: 4, amount: 1 })]);
  await until("records wait", async () => worker.ingest.reports()[0]!.buffer.rows === 2);
  await configure(fixture, { "delta.constraints.positive": "amount > 0" });
  fixture.kafka.append("t", 0, [json({ id: 5, amount: -5 })]);
  await until("the good row", async () => (await ids(fixture)).includes(4));
  await worker.end();
  assert.deepEqual(await ids(fixture), [0, 1, 2, 4]);
  assert.deepEqual(
    (await letters(fixture)).map(([, code]) => code),
    ["CONSTRAINT_VIOLATED", "CONSTRAINT_VIOLATED"],
  );
});

test("a constraint that cannot be checked ends a start before a record is read, and a stream when it comes", async (t) => {
  const today = { "delta.constraints.young": "amount > rand()" };
  const isRefused = (error: unknown) =>
    isLabError(error, "UNSUPPORTED_FEATURE") && error.message.includes("young (amount > rand())");
  const fixture = await tableWith(t, {});
  fixture.kafka.append("t", 0, [json({ id: 0, amount: 1 })]);
  const worker = fixture.start();
  await fixture.hasRows(1);
  await configure(fixture, today);
  fixture.kafka.append("t", 0, [json({ id: 1, amount: 1 })]);
  await assert.rejects(worker.ended, isRefused);
  await assert.rejects(fixture.start({ once: true }).ended, isRefused);
  assert.deepEqual(await ids(fixture), [0]);
});

test("columns that a table wants to be computed are refused at the start", async (t) => {
  const fixture = await tableWith(t, {});
  const generated = { ...field("twice", "long"), metadata: { "delta.generationExpression": "id * 2" } };
  await configure(fixture, {}, { type: "struct", fields: [generated, ...SCHEMA.fields] });
  await assert.rejects(
    fixture.start({ once: true }).ended,
    (error) =>
      isLabError(error, "UNSUPPORTED_FEATURE") && /generatedColumns \(column twice\)/.test(error.message),
  );
});
