/** Formats on their way through a stream: what a message's bytes say becomes rows of the table, and what they do not say is a letter. */

import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import avsc from "avsc";
import { LabError } from "../core/errors.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { openDecoder } from "../formats/open-decoder.ts";
import type { Registry } from "../formats/registry.ts";
import type { Tombstones } from "../formats/tombstones.ts";
import type { Format, SchemaSource } from "../formats/wire.ts";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";
import type { StreamOptions } from "./options.ts";

const { signal } = new AbortController();
const value = (bytes: string | Uint8Array) => ({ key: null, value: Buffer.from(bytes) });

type Reading = {
  format: Format;
  tombstones?: Tombstones;
  schemas?: SchemaSource;
  header?: boolean;
  registry?: Registry;
};

/** Reads what is in topic `t` to its end. */
async function ingest(fixture: Fixture, reading: Reading, options: Partial<StreamOptions> = {}) {
  const { format, schemas = { kind: "none" }, header = false, registry = null } = reading;
  const { tombstones } = reading;
  const wire = { format, schemas, csv: { header, delimiter: "," }, ...(tombstones ? { tombstones } : {}) };
  const decoder = await openDecoder(wire, { registry, columns: options.schema ?? null }, signal);
  await fixture.start({ once: true, format, ...options }, decoder ? { decoder } : {}).ended;
}

async function topicOf(t: TestContext, ...values: (string | Uint8Array)[]): Promise<Fixture> {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, values.map(value));
  return fixture;
}

const lettersOf = (fixture: Fixture) =>
  fixture.rows('SELECT "offset" AS o, error_code AS code FROM letters ORDER BY o', "letters");

async function typesOf({ tableUri }: Fixture): Promise<Record<string, unknown>> {
  const { schema } = await (await openTable(await openStore(tableUri, { signal }), signal)).latest(signal);
  return Object.fromEntries(schema.fields.slice(0, -1).map(({ name, type }) => [name, type]));
}

/** What the newest commit says of the topic's only partition. */
async function settled({ tableUri }: Fixture): Promise<{ skipped: number }> {
  const table = await openTable(await openStore(tableUri, { signal }), signal);
  for await (const { commitInfo } of table.history({ signal, limit: 1 })) {
    const lab = commitInfo?.lab as { partitions: [{ skipped: number }] };
    return lab.partitions[0];
  }
  throw new Error("no commit");
}

/** A registry that knows these Avro schemas, by id from 1. */
function registryOf(...schemas: object[]): Registry {
  const known = schemas.map((schema, i) => ({
    ...{ id: i + 1, type: "AVRO", text: JSON.stringify(schema), references: [] },
  }));
  return {
    url: "http://registry",
    byId: async (id) => known[id - 1] ?? null,
    latest: async () => known.at(-1)!,
  };
}

function framed(id: number, schema: object, message: unknown): Buffer {
  const head = Buffer.alloc(5);
  head.writeInt32BE(id, 1);
  return Buffer.concat([head, avsc.Type.forSchema(schema as avsc.Schema).toBuffer(message)]);
}

test("JSON that a producer packed with gzip is a row, and its letter keeps the bytes as they came", async (t) => {
  const bad = gzipSync("{broken");
  const fixture = await topicOf(t, '{"id":1}', gzipSync('{"id":2}'), bad);
  await ingest(fixture, { format: "json" });
  assert.deepEqual(await fixture.rows("SELECT id FROM t ORDER BY id"), [{ id: 1n }, { id: 2n }]);
  const [letter] = await fixture.rows("SELECT hex(value) AS bytes FROM letters", "letters");
  assert.equal(letter?.bytes, bad.toString("hex").toUpperCase());
});

test("several objects of a message are rows with their numbers, and all of them a letter where one is bad", async (t) => {
  const fixture = await topicOf(t, '{"id":1}\n{"id":2}\n', '{"id":3}\n{"id":"x"}\n{"id":4}', '{"id":5}');
  await ingest(fixture, { format: "ndjson" }, { schema: { type: "struct", fields: [LONG_ID, INDEX] } });
  assert.deepEqual(
    await fixture.rows('SELECT id, _kafka_index AS n, _kafka."offset" AS o FROM t ORDER BY id'),
    [
      { id: 1n, n: 0, o: 0n },
      { id: 2n, n: 1, o: 0n },
      { id: 5n, n: 0, o: 2n },
    ],
  );
  assert.deepEqual(await lettersOf(fixture), [{ o: 1n, code: "WRONG_TYPE" }]);
});

const field = (name: string, type: "long" | "integer") => ({ name, type, nullable: true, metadata: {} });
const LONG_ID = field("id", "long");
const INDEX = field("_kafka_index", "integer");

test("several objects of a message make a table of what they hold", async (t) => {
  const fixture = await topicOf(t, '{"id":1}\n{"id":2,"more":"x"}');
  await ingest(fixture, { format: "ndjson" });
  assert.deepEqual(await typesOf(fixture), { _kafka_index: "integer", id: "long", more: "string" });
});

test("CSV with a header makes a table of texts, and with a schema of its types", async (t) => {
  const texts = await topicOf(t, "id,name\n1,ann\n", "id,name\n2,\n");
  await ingest(texts, { format: "csv", header: true });
  assert.deepEqual(await texts.rows("SELECT id, name FROM t ORDER BY id"), [
    { id: "1", name: "ann" },
    { id: "2", name: null },
  ]);
  const typed = await topicOf(t, "1", "x");
  await ingest(typed, { format: "csv" }, { schema: { type: "struct", fields: [LONG_ID] } });
  assert.deepEqual(await typed.rows("SELECT id FROM t"), [{ id: 1n }]);
  assert.deepEqual(await lettersOf(typed), [{ o: 1n, code: "WRONG_TYPE" }]);
});

const V1 = { type: "record", name: "R", fields: [{ name: "id", type: "int" }] };
const V2 = {
  ...V1,
  fields: [
    { name: "id", type: "int" },
    { name: "placed", type: ["null", { type: "long", logicalType: "timestamp-millis" }], default: null },
    { name: "tags", type: { type: "array", items: "string" } },
  ],
};

test("Avro makes the table of its schema, not of what the first messages happen to hold", async (t) => {
  const fixture = await topicOf(t, framed(2, V2, { id: 1, placed: null, tags: [] }));
  await ingest(fixture, { format: "avro", schemas: { kind: "registry" }, registry: registryOf(V1, V2) });
  assert.deepEqual(await typesOf(fixture), {
    id: "integer",
    placed: "timestamp",
    tags: { type: "array", elementType: "string", containsNull: true },
  });
});

test("a newer Avro schema adds its columns in the commit of the first message that has it", async (t) => {
  const fixture = await topicOf(t, framed(1, V1, { id: 1 }));
  const reading: Reading = { format: "avro", schemas: { kind: "registry" }, registry: registryOf(V1, V2) };
  await ingest(fixture, reading);
  fixture.kafka.append(
    "t",
    0,
    [framed(2, V2, { id: 2, placed: 1000, tags: ["a"] }), framed(9, V1, { id: 3 })].map(value),
  );
  await ingest(fixture, reading);
  assert.deepEqual(
    await fixture.rows("SELECT id, epoch_ms(placed) AS ms, tags[1] AS tag FROM t ORDER BY id"),
    [
      { id: 1, ms: null, tag: null },
      { id: 2, ms: 1000n, tag: "a" },
    ],
  );
  assert.deepEqual(await lettersOf(fixture), [{ o: 2n, code: "UNKNOWN_SCHEMA" }]);
});

test("an Avro schema that contradicts the table makes letters of its messages, and no guess", async (t) => {
  const fixture = await topicOf(t, framed(1, V1, { id: 1 }));
  const other = { ...V1, fields: [{ name: "id", type: "string" }] };
  const reading: Reading = { format: "avro", schemas: { kind: "registry" }, registry: registryOf(V1, other) };
  await ingest(fixture, reading);
  fixture.kafka.append("t", 0, [framed(2, other, { id: "x" }), framed(1, V1, { id: 2 })].map(value));
  await ingest(fixture, reading);
  assert.deepEqual(await fixture.rows("SELECT id FROM t ORDER BY id"), [{ id: 1 }, { id: 2 }]);
  assert.deepEqual(await lettersOf(fixture), [{ o: 1n, code: "WRONG_TYPE" }]);
});

test("a transform reads Avro's columns, also those that no message of the batch fills", async (t) => {
  const fixture = await topicOf(t, framed(2, V2, { id: 1, placed: null, tags: [] }));
  await ingest(
    fixture,
    { format: "avro", schemas: { kind: "registry" }, registry: registryOf(V1, V2) },
    { transform: "SELECT id * 2 AS twice, placed, _kafka FROM messages" },
  );
  assert.deepEqual(await typesOf(fixture), { twice: "integer", placed: "timestamp" });
});

test("a registry that does not answer is waited for, and no message is a letter for it", async (t) => {
  const fixture = await topicOf(t, framed(1, V1, { id: 1 }));
  const registry = registryOf(V1);
  const { byId } = registry;
  let tries = 0;
  registry.byId = async (id, signal) => {
    if (++tries < 3) throw new LabError("REGISTRY_UNREACHABLE", "away");
    return byId(id, signal);
  };
  await ingest(fixture, { format: "avro", schemas: { kind: "registry" }, registry });
  assert.deepEqual(await fixture.rows("SELECT id FROM t"), [{ id: 1 }]);
});

test("Protobuf of a file makes the table of its message", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-proto-"));
  const path = join(folder, "order.proto");
  await writeFile(path, 'syntax = "proto3"; message Order { int64 id = 1; string name = 2; }');
  const fixture = await topicOf(t, Buffer.from([0x08, 0x96, 0x01, 0x12, 0x01, 0x78]), Buffer.from([0x08]));
  await ingest(fixture, { format: "protobuf", schemas: { kind: "file", path } });
  assert.deepEqual(await fixture.rows("SELECT id, name FROM t"), [{ id: 150n, name: "x" }]);
  assert.equal((await lettersOf(fixture)).length, 1);
});

test("with keepRaw a row has the bytes of its message, whatever the format", async (t) => {
  const bytes = framed(1, V1, { id: 7 });
  const fixture = await topicOf(t, bytes);
  await ingest(
    fixture,
    { format: "avro", schemas: { kind: "registry" }, registry: registryOf(V1) },
    { keepRaw: true },
  );
  const [row] = await fixture.rows("SELECT hex(_kafka.value) AS bytes FROM t");
  assert.equal(row?.bytes, bytes.toString("hex").toUpperCase());
});

for (const [format, good] of [
  ["json", '{"id":"1"}'],
  ["ndjson", '{"id":"1"}'],
  ["text", "1"],
  ["bytes", "1"],
] as const)
  test(`a message of ${format} without a value is a letter, a row, or nothing, as it was said`, async (t) => {
    for (const tombstones of ["deadletter", "row", "skip"] as const) {
      const fixture = await topicOf(t, good);
      fixture.kafka.append("t", 0, [{ key: "k", value: null }]);
      await ingest(fixture, { format, tombstones });
      const rows = await fixture.rows(
        'SELECT _kafka."offset" AS o, _kafka.key IS NULL AS bare FROM t ORDER BY o',
      );
      const row = { o: 1n, bare: false };
      assert.deepEqual(rows, [{ o: 0n, bare: true }, ...(tombstones === "row" ? [row] : [])], tombstones);
      const letters = tombstones === "deadletter" ? await lettersOf(fixture) : [];
      assert.deepEqual(letters, tombstones === "deadletter" ? [{ o: 1n, code: "NULL_VALUE" }] : []);
      const { skipped } = await settled(fixture);
      assert.equal(skipped, tombstones === "skip" ? 1 : 0);
    }
  });
