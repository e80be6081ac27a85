/** Schemas that change while a stream runs: by its own messages, and by other writers between two of its commits. */

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Metadata, Protocol } from "../delta/actions.ts";
import { openTable } from "../delta/open.ts";
import { serializeSchema } from "../delta/schema.ts";
import { mergeSchema } from "../delta/schema-merge.ts";
import { openStore } from "../delta/store/open.ts";
import type { Snapshot } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import type { Decoder } from "../formats/decoder.ts";
import { arrayOf, mapOf, struct } from "../test/support/encoder-fixture.ts";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";

const { signal } = new AbortController();

async function withTable<T>(
  fixture: Fixture,
  work: (table: Awaited<ReturnType<typeof openTable>>) => Promise<T>,
): Promise<T> {
  const store = await openStore(fixture.tableUri, { signal });
  try {
    return await work(await openTable(store, signal));
  } finally {
    await store.close();
  }
}

const latest = (fixture: Fixture): Promise<Snapshot> => withTable(fixture, (table) => table.latest(signal));

/** What another writer does to the table's metadata. */
async function change(
  fixture: Fixture,
  to: (snapshot: Snapshot) => { metadata?: Metadata; protocol?: Protocol },
): Promise<void> {
  await withTable(fixture, async (table) => {
    const readSnapshot = await table.latest(signal);
    const result = await table.commit(
      { readSnapshot, operation: "CHANGE COLUMN", ...to(readSnapshot) },
      signal,
    );
    assert.equal(result.kind, "committed");
  });
}

const withSchema = (snapshot: Snapshot, schema: StructType): Metadata => ({
  ...snapshot.metadata,
  schemaString: serializeSchema(schema),
});

async function streamWith(t: TestContext, ...values: readonly string[]): Promise<Fixture> {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  send(fixture, ...values);
  return fixture;
}

function send(fixture: Fixture, ...values: readonly string[]): void {
  for (const value of values) fixture.kafka.append("t", 0, [{ key: null, value }]);
}

const WIDENING = { "delta.enableTypeWidening": "true" };
const N = struct({ n: "integer" });
const ordered = "SELECT CAST(n AS VARCHAR) AS n FROM t ORDER BY _kafka.offset";
const numbers = async (fixture: Fixture) => (await fixture.rows(ordered)).map((row) => row.n);
const lettersOf = async (fixture: Fixture) =>
  (await fixture.rows('SELECT error_code FROM letters ORDER BY "offset"', "letters")).map(
    (row) => row.error_code,
  );

test("a number that an int column has no room for widens it in the commit of its row, where the table allows it; older files are read with it", async (t) => {
  const fixture = await streamWith(t, '{"n":1}', '{"n":-2}');
  const options = { once: true, schema: N, tableProperties: WIDENING };
  await fixture.start(options).ended;
  assert.deepEqual((await latest(fixture)).protocol.readerFeatures, ["typeWidening"]);
  send(fixture, '{"n":3000000000}', '{"n":1.5}', '{"n":4}');
  await fixture.start(options).ended;
  const snapshot = await latest(fixture);
  assert.deepEqual(snapshot.schema.fields[0], {
    name: "n",
    type: "long",
    nullable: true,
    metadata: { "delta.typeChanges": [{ fromType: "integer", toType: "long" }] },
  });
  assert.equal(snapshot.version, 2);
  assert.deepEqual(await numbers(fixture), ["1", "-2", "3000000000", "4"]);
  assert.deepEqual(await lettersOf(fixture), ["NOT_AN_INTEGER"]);
  assert.deepEqual(await fixture.rows("SELECT count(*)::INTEGER AS c FROM t WHERE n < 2000000000"), [
    { c: 3 },
  ]);
});

test("a number that an int column has no room for is a letter where the table does not allow types to change", async (t) => {
  const fixture = await streamWith(t, '{"n":1}', '{"n":3000000000}');
  await fixture.start({ once: true, schema: N }).ended;
  assert.deepEqual(await numbers(fixture), ["1"]);
  assert.deepEqual(await lettersOf(fixture), ["OUT_OF_RANGE"]);
});

test("columns that another writer adds at any depth while the stream runs are filled from then on, and nothing is lost", async (t) => {
  const fixture = await streamWith(t);
  const item = struct({ a: "long" });
  const schema = struct({ n: "long", s: item, l: arrayOf(item), m: mapOf(arrayOf(item)) });
  const value = (n: number) => {
    const inner = `{"a":${n},"b":"b${n}"}`;
    return `{"n":${n},"b":"b${n}","s":${inner},"l":[${inner}],"m":{"k":[${inner}]}}`;
  };
  const worker = fixture.start({ schema, onUnknownField: "ignore" });
  send(fixture, ...Array.from({ length: 20 }, (_, n) => value(n)));
  await fixture.hasRows(20);
  const more = struct({ a: "long", b: "string" });
  const grown = struct({ b: "string", s: more, l: arrayOf(more), m: mapOf(arrayOf(more)) });
  await change(fixture, (snapshot) => ({
    metadata: withSchema(snapshot, mergeSchema(snapshot.schema, grown, { widen: undefined }).schema),
  }));
  send(fixture, ...Array.from({ length: 20 }, (_, n) => value(20 + n)));
  await fixture.hasRows(40);
  await worker.end();
  const read = await fixture.rows(
    `SELECT n::INTEGER AS n, b, s.b AS s, l[1].b AS l, m['k'][1].b AS m FROM t ORDER BY n`,
  );
  // What was on its way when the column came may be with it or without; from the first row with it all are.
  const since = read.findIndex(({ b }) => b !== null);
  assert.ok(since >= 20 && since < 40, String(since));
  assert.deepEqual(
    read,
    Array.from({ length: 40 }, (_, n) => {
      const b = n < since ? null : `b${n}`;
      return { n, b, s: b, l: b, m: b };
    }),
  );
});

test("a type that another writer widens while the stream runs is followed", async (t) => {
  const fixture = await streamWith(t, '{"n":1}');
  const worker = fixture.start({ schema: N, tableProperties: WIDENING, onUnknownField: "ignore" });
  await fixture.hasRows(1);
  await change(fixture, (snapshot) => ({
    metadata: withSchema(
      snapshot,
      mergeSchema(snapshot.schema, struct({ n: "long" }), { widen: () => true }).schema,
    ),
  }));
  send(fixture, '{"n":2}');
  await fixture.hasRows(2);
  send(fixture, '{"n":3000000000}');
  await fixture.hasRows(3);
  await worker.end();
  assert.deepEqual(await numbers(fixture), ["1", "2", "3000000000"]);
});

test("two that widen a column at once both go on: the second on what the first left", async (t) => {
  const fixture = await streamWith(t, '{"n":1}');
  const worker = fixture.start({ schema: N, tableProperties: WIDENING });
  await fixture.hasRows(1);
  for (let n = 0; n < 3; n++) {
    send(fixture, `{"n":${3_000_000_000 + n},"x${n}":{"a":${n}}}`);
    await change(fixture, (snapshot) => ({
      metadata: withSchema(
        snapshot,
        mergeSchema(snapshot.schema, struct({ n: "long", [`y${n}`]: "date" }), { widen: () => true }).schema,
      ),
    }));
  }
  await fixture.hasRows(4);
  await worker.end();
  const { schema } = await latest(fixture);
  const names = schema.fields.map(({ name }) => name).filter((name) => name !== "_kafka");
  assert.deepEqual(names.sort(), ["n", "x0", "x1", "x2", "y0", "y1", "y2"]);
  assert.deepEqual(schema.fields[0]?.metadata["delta.typeChanges"], [
    { fromType: "integer", toType: "long" },
  ]);
  assert.deepEqual(await numbers(fixture), ["1", "3000000000", "3000000001", "3000000002"]);
});

test("columns that another writer maps to other names, as to drop or rename one, are refused by name, and the records wait", async (t) => {
  const fixture = await streamWith(t, '{"n":1,"old":"a"}');
  const worker = fixture.start();
  await fixture.hasRows(1);
  const before = await latest(fixture);
  const fields = before.schema.fields.map((field, i) => ({
    ...field,
    name: field.name === "old" ? "new" : field.name,
    metadata: { "delta.columnMapping.id": i + 1, "delta.columnMapping.physicalName": field.name },
  }));
  const configuration = {
    ...before.metadata.configuration,
    "delta.columnMapping.mode": "name",
    "delta.columnMapping.maxColumnId": String(fields.length),
  };
  const lines = [
    { commitInfo: { timestamp: Date.now(), operation: "RENAME COLUMN" } },
    { protocol: { minReaderVersion: 2, minWriterVersion: 5 } },
    { metaData: { ...withSchema(before, { type: "struct", fields }), configuration } },
  ];
  const store = await openStore(fixture.tableUri, { signal });
  t.after(() => store.close());
  const name = `_delta_log/${String(before.version + 1).padStart(20, "0")}.json`;
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  await store.putIfAbsent(name, Buffer.from(body), signal);
  send(fixture, '{"n":2,"old":"b"}');
  const isRefused = (error: unknown) =>
    isLabError(error, "UNSUPPORTED_FEATURE") && /columnMapping/.test(error.message);
  await assert.rejects(worker.ended, isRefused);
  await assert.rejects(fixture.start({ once: true }).ended, isRefused);
  assert.equal((await latest(fixture)).version, before.version + 1);
});

test("with keepRaw a table that was made without it gets a place for the bytes", async (t) => {
  const fixture = await streamWith(t, '{"n":1}');
  await fixture.start({ once: true }).ended;
  send(fixture, '{ "n": 2 }');
  await fixture.start({ once: true, keepRaw: true }).ended;
  send(fixture, '{"n":3}');
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await fixture.rows("SELECT decode(_kafka.value) AS v FROM t ORDER BY n"), [
    { v: null },
    { v: '{ "n": 2 }' },
    { v: null },
  ]);
});

test("hours and buckets partition a new table, and a start under other settings derives the same; other buckets are refused", async (t) => {
  const fixture = await streamWith(t, '{"n":1,"id":"a"}', '{"n":2}');
  const partitionBy = ["date", "hour", "bucket(16,id)"];
  await fixture.start({ once: true, partitionBy }).ended;
  send(fixture, '{"n":3,"id":"a"}');
  await fixture.start({ once: true }).ended;
  const snapshot = await latest(fixture);
  assert.deepEqual(snapshot.partitionColumns, ["date", "hour", "id_bucket"]);
  assert.deepEqual(await fixture.rows("SELECT n::INTEGER AS n, id_bucket FROM t ORDER BY n"), [
    { n: 1, id_bucket: 9 },
    { n: 2, id_bucket: null },
    { n: 3, id_bucket: 9 },
  ]);
  const folders = await readdir(join(fixture.folder, "table"), { recursive: true });
  assert.ok(
    folders.some((path) => /^date=[\d-]{10}\/hour=\d\d\/id_bucket=9\/part-/.test(path)),
    folders.join(),
  );
  await assert.rejects(
    fixture.start({ once: true, partitionBy: ["date", "hour", "bucket(8,id)"] }).ended,
    (error) => isLabError(error, "SCHEMA_MISMATCH") && /16 buckets/.test(error.message),
  );
});

/** A format whose newest schema is what is given: values are JSON as they stand. */
const promising = (schema: StructType): Decoder => ({
  prepare: async () => {},
  decode: (value) => ({ objects: value ? [value] : [] }),
  schema: () => schema,
});

test("a schema that promises wider types and new columns changes the table before any message needs it, where the table allows it", async (t) => {
  const fixture = await streamWith(t, '{"n":1}');
  const options = { once: true, format: "avro" as const, tableProperties: WIDENING };
  await fixture.start(options, { decoder: promising(N) }).ended;
  assert.equal((await latest(fixture)).schema.fields[0]?.type, "integer");
  send(fixture, '{"n":2}');
  const promised = struct({ n: "double", N: "long", s: struct({ x: arrayOf("date") }) });
  await fixture.start(options, { decoder: promising(promised) }).ended;
  const { schema } = await latest(fixture);
  assert.deepEqual(
    schema.fields.slice(0, -1).map(({ name, type }) => [name, type]),
    [
      ["n", "double"],
      ["s", struct({ x: arrayOf("date") })],
    ],
  );
  assert.deepEqual(schema.fields[0]?.metadata["delta.typeChanges"], [
    { fromType: "integer", toType: "double" },
  ]);
  assert.deepEqual(await numbers(fixture), ["1.0", "2.0"]);
});

test("a schema that promises a wider type leaves a table that does not allow it as it is: what has no room is a letter", async (t) => {
  const fixture = await streamWith(t, '{"n":1}');
  const options = { once: true, format: "avro" as const };
  await fixture.start(options, { decoder: promising(N) }).ended;
  send(fixture, '{"n":2}', '{"n":3000000000}');
  await fixture.start(options, { decoder: promising(struct({ n: "long" })) }).ended;
  assert.equal((await latest(fixture)).schema.fields[0]?.type, "integer");
  assert.deepEqual(await numbers(fixture), ["1", "2"]);
  assert.deepEqual(await lettersOf(fixture), ["OUT_OF_RANGE"]);
});

test("with keepRaw rows keep the bytes of a message of several objects, also where another one of them is bad", async (t) => {
  const fixture = await streamWith(t, '{"n":1}', '{"n":"x"}{"n":5}');
  const split: Decoder = {
    ...promising(N),
    decode: (value) => ({
      objects: Buffer.from(value!)
        .toString()
        .split(/(?<=})/)
        .map((text) => Buffer.from(text)),
    }),
  };
  await fixture.start({ once: true, format: "avro", keepRaw: true }, { decoder: split }).ended;
  assert.deepEqual(await fixture.rows("SELECT n, decode(_kafka.value) AS v FROM t"), [
    { n: 1, v: '{"n":1}' },
  ]);
  assert.deepEqual(await lettersOf(fixture), ["WRONG_TYPE"]);
});

test("partition values of any kind are read back as they came, also where they share a folder, and late ones join theirs", async (t) => {
  const long = "é".repeat(2000);
  const values = [
    "a b",
    "a/b",
    "..",
    ".",
    "50%",
    "%2F",
    "a=b",
    "日本 😀",
    "a:b*c?#",
    "tab\tline\n",
    long,
    `${long}!`,
  ];
  const messages = values.map((p, n) => JSON.stringify({ n, p }));
  const fixture = await streamWith(t, ...messages);
  await fixture.start({ once: true, partitionBy: ["p"] }).ended;
  send(fixture, ...messages);
  await fixture.start({ once: true }).ended;
  const read = await fixture.rows("SELECT p, count(*)::INTEGER AS c FROM t GROUP BY p, n ORDER BY n");
  assert.deepEqual(
    read,
    values.map((p) => ({ p, c: 2 })),
  );
  for (const [n, p] of values.entries()) {
    const found = await fixture.rows(`SELECT n::INTEGER AS n FROM t WHERE p = '${p}' GROUP BY n`);
    assert.deepEqual(found, [{ n }], p.slice(0, 20));
  }
});

test("files of one commit may be from before and after a column was widened", async (t) => {
  const fixture = await streamFixture(t, { mostRecordsPerBatch: 1 });
  fixture.kafka.createTopic("t", 1);
  const worker = fixture.start(
    { schema: N, tableProperties: WIDENING, flush: { latencyMs: 700, rows: 1_000_000, bytes: 256 << 20 } },
    { chunkBytes: 1 << 20 },
  );
  await until("the table is there", () =>
    latest(fixture).then(
      () => true,
      () => false,
    ),
  );
  // Each fills a chunk by itself.
  const space = " ".repeat(1 << 20);
  const values = ['"n":1', '"n":2', '"n":3000000000', '"n":4,"x":{"y":1}', '"n":5,"x":{"z":300}'];
  send(fixture, ...values.map((value) => `{${value}${space}}`));
  await fixture.hasRows(5);
  await worker.end();
  const snapshot = await latest(fixture);
  assert.deepEqual([snapshot.version, snapshot.numFiles], [1, 5]);
  assert.deepEqual(await numbers(fixture), ["1", "2", "3000000000", "4", "5"]);
  assert.deepEqual(snapshot.schema.fields[1]?.type, struct({ y: "long", z: "long" }));
});
