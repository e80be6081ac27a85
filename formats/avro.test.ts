import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import avsc from "avsc";
import { isLabError, LabError } from "../core/errors.ts";
import { fixedRegistry, framed } from "../test/support/fixed-registry.ts";
import { writerOf } from "./avro.fixture.ts";
import { createAvroDecoder } from "./avro.ts";
import { fingerprint } from "./avro-fingerprint.ts";
import { canonicalForm, parseAvroSchema } from "./avro-schema.ts";
import type { Decoded, Decoder } from "./decoder.ts";
import type { Registry } from "./registry.ts";

const { signal } = new AbortController();

const V1 = { type: "record", name: "acme.Order", fields: [{ name: "id", type: "int" }] };
const V2 = {
  type: "record",
  name: "acme.Order",
  fields: [
    { name: "id", type: "long" },
    { name: "note", type: ["null", "string"], default: null },
  ],
};
const v1 = (id: number) => writerOf(structuredClone(V1)).toBuffer({ id });
const v2 = (id: bigint, note: string | null) =>
  writerOf(structuredClone(V2)).toBuffer({ id, note: note === null ? null : { string: note } });

/** A registry of Avro schemas by id, unless they say otherwise; it may be down, and its one subject has them all. */
function registryOf(schemas: Record<number, unknown>) {
  const fixed = fixedRegistry([]);
  const add = (id: number, schema: unknown) => fixed.add(id, { type: "AVRO", text: JSON.stringify(schema) });
  for (const [id, schema] of Object.entries(schemas)) add(Number(id), schema);
  let isDown = false;
  const registry: Registry = {
    ...fixed,
    async byId(id) {
      if (isDown) throw new LabError("REGISTRY_UNREACHABLE", "the schema registry does not answer");
      return fixed.byId(id, signal);
    },
    latest: async () => (await fixed.byId(Math.max(...Object.keys(schemas).map(Number)), signal))!,
  };
  return {
    registry,
    asked: fixed.asked,
    add,
    addOther: fixed.add,
    down(value: boolean) {
      isDown = value;
    },
  };
}

function singleObject(schema: unknown, body: Uint8Array): Buffer {
  const head = Buffer.from([0xc3, 0x01, 0, 0, 0, 0, 0, 0, 0, 0]);
  const type = parseAvroSchema({ text: JSON.stringify(schema), references: [] });
  head.writeBigUInt64LE(fingerprint(canonicalForm(type)), 2);
  return Buffer.concat([head, body]);
}

const text = (decoded: Decoded) =>
  "bad" in decoded
    ? decoded.bad.code
    : decoded.objects.map((object) => Buffer.from(object).toString("utf8")).join();
const names = (decoder: Decoder) =>
  decoder.schema()?.fields.map(({ name, type }) => `${name} ${type}`) ?? null;

async function prepared(decoder: Decoder, ...values: (Uint8Array | null)[]) {
  await decoder.prepare(values, signal);
  return values.map((value) => decoder.decode(value));
}

async function folderOf(t: TestContext, files: Record<string, unknown>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "avro-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const [name, schema] of Object.entries(files))
    await writeFile(join(folder, name), JSON.stringify(schema));
  return folder;
}

test("each message is read by the schema that wrote it, asked for once", async () => {
  const { registry, asked } = registryOf({ 1: V1, 300000: V2 });
  const decoder = await createAvroDecoder({ framing: "confluent", registry }, signal);
  assert.equal(decoder.schema(), null);
  const values = [framed(1, v1(5)), framed(300_000, v2(2n ** 60n, "x")), framed(1, v1(-6)), null];
  assert.deepEqual((await prepared(decoder, ...values)).map(text), [
    '{"id":5}',
    '{"id":1152921504606846976,"note":"x"}',
    '{"id":-6}',
    "NULL_VALUE",
  ]);
  await prepared(decoder, ...values);
  assert.deepEqual(asked, [1, 300_000]);
});

test("the columns are those of the schemas seen, the highest id last, in whatever order messages come", async () => {
  const V3 = {
    ...V2,
    fields: [
      { name: "id", type: "string" },
      { name: "more", type: "int" },
    ],
  };
  const { registry } = registryOf({ 1: V1, 2: V2, 3: V3 });
  const decoder = await createAvroDecoder({ framing: "confluent", registry }, signal);
  await prepared(decoder, framed(2, v2(1n, null)));
  assert.deepEqual(names(decoder), ["id long", "note string"]);
  await prepared(decoder, framed(1, v1(1)));
  assert.deepEqual(names(decoder), ["id long", "note string"]);
  await prepared(decoder, framed(3, Buffer.alloc(2)));
  assert.deepEqual(names(decoder), ["id string", "note string", "more integer"]);
});

test("with a subject its newest schema is known before the first message", async () => {
  const { registry } = registryOf({ 1: V1, 2: V2 });
  const decoder = await createAvroDecoder(
    { framing: "confluent", registry, subject: "orders-value" },
    signal,
  );
  assert.deepEqual(names(decoder), ["id long", "note string"]);
  const proto = registryOf({ 1: {} });
  proto.addOther(1, { type: "PROTOBUF", text: 'syntax = "proto3";' });
  await assert.rejects(
    createAvroDecoder({ framing: "confluent", registry: proto.registry, subject: "orders-value" }, signal),
    (error) =>
      isLabError(error, "SCHEMA_INVALID") &&
      /orders-value: schema 1 is PROTOBUF, not Avro/.test(error.message),
  );
});

test("an unknown schema makes a bad record, and is asked for with the next chunk again", async () => {
  const { registry, add } = registryOf({});
  const decoder = await createAvroDecoder({ framing: "confluent", registry }, signal);
  const value = framed(9, v1(5));
  const [decoded] = await prepared(decoder, value);
  assert.deepEqual(decoded, {
    bad: {
      stage: "decode",
      code: "UNKNOWN_SCHEMA",
      message: "the schema registry at memory: does not know schema 9, or one that it refers to",
    },
  });
  add(9, V1);
  assert.deepEqual((await prepared(decoder, value)).map(text), ['{"id":5}']);
});

test("an outage of the registry is an outage, not a bad record", async () => {
  const fake = registryOf({ 1: V1 });
  const decoder = await createAvroDecoder({ framing: "confluent", registry: fake.registry }, signal);
  const values = Array.from({ length: 30 }, (_, i) => framed(i + 1, v1(5)));
  fake.down(true);
  await assert.rejects(decoder.prepare(values, signal), (error) => isLabError(error, "REGISTRY_UNREACHABLE"));
  fake.down(false);
  assert.equal(text((await prepared(decoder, ...values))[0]!), '{"id":5}');
});

test("a schema that is no Avro, or cannot be read, makes bad records that say so", async () => {
  const fake = registryOf({ 2: { type: "record", name: "A", fields: [{ name: "a-b", type: "int" }] } });
  fake.addOther(1, { type: "JSON", text: "{}" });
  const { registry } = fake;
  const decoder = await createAvroDecoder({ framing: "confluent", registry }, signal);
  const messages = (await prepared(decoder, framed(1, v1(1)), framed(2, v1(1)))).map((decoded) =>
    "bad" in decoded ? [decoded.bad.code, decoded.bad.message] : [],
  );
  assert.deepEqual(messages, [
    ["UNREADABLE_SCHEMA", "schema 1 is JSON, not Avro"],
    ["UNREADABLE_SCHEMA", "schema 2 cannot be read: invalid field name: a-b"],
  ]);
  assert.equal(decoder.schema(), null);
});

test("single objects are read by the schema of their fingerprint", async (t) => {
  const folder = await folderOf(t, { "1.avsc": V1, "2.avsc": V2 });
  const decoder = await createAvroDecoder({ framing: "single-object", schemas: folder }, signal);
  assert.deepEqual(names(decoder), ["id long", "note string"]);
  const unknown = singleObject({ ...V1, name: "acme.Other" }, v1(1));
  const decoded = await prepared(decoder, singleObject(V1, v1(7)), singleObject(V2, v2(8n, null)), unknown);
  assert.deepEqual(decoded.map(text), ['{"id":7}', '{"id":8,"note":null}', "UNKNOWN_SCHEMA"]);
  assert.ok("bad" in decoded[2]!);
  assert.match(decoded[2].bad.message, /^no schema in .* has the fingerprint [0-9a-f]{16}$/);
});

test("a message under another framing is a bad record that names the right one", async (t) => {
  const folder = await folderOf(t, { "1.avsc": V1 });
  const { registry } = registryOf({ 1: V1 });
  const decoders = {
    confluent: await createAvroDecoder({ framing: "confluent", registry }, signal),
    "single-object": await createAvroDecoder({ framing: "single-object", schemas: folder }, signal),
    plain: await createAvroDecoder({ framing: "plain", schema: join(folder, "1.avsc") }, signal),
  };
  const values = {
    plain: v1(5),
    confluent: framed(77, v1(5)),
    "single-object": singleObject(V1, v1(5)),
    container: Buffer.concat([Buffer.from("Obj\x01"), Buffer.alloc(30)]),
  };
  const said = async (framing: keyof typeof decoders, value: keyof typeof values) => {
    const [decoded] = await prepared(decoders[framing], values[value]);
    assert.ok(decoded && "bad" in decoded);
    assert.equal(decoded.bad.stage, "decode");
    assert.equal(decoded.bad.code, value === "container" ? "CONTAINER_FILE" : "WRONG_FRAMING");
    return decoded.bad.message;
  };
  assert.match(await said("confluent", "plain"), /begins with byte 10, not with 0 .* framing plain$/);
  assert.match(
    await said("confluent", "single-object"),
    /C3 01 .* it is framing single-object, not confluent$/,
  );
  assert.match(await said("single-object", "plain"), /may be framing plain$/);
  assert.match(
    await said("single-object", "confluent"),
    /schema id 77 .* framing confluent, not single-object$/,
  );
  assert.match(
    await said("plain", "confluent"),
    /schema id 77 .* framing confluent, not plain \(5 bytes follow the value\)$/,
  );
  assert.match(await said("plain", "single-object"), /framing single-object, not plain/);
  for (const framing of Object.keys(decoders) as (keyof typeof decoders)[])
    assert.match(
      await said(framing, "container"),
      /container file .* not one record: send each record by itself/,
    );
});

test("null, no bytes and half a frame are bad records under every framing", async (t) => {
  const folder = await folderOf(t, { "1.avsc": V1, "empty.json": { type: "record", name: "E", fields: [] } });
  const { registry } = registryOf({ 1: V1 });
  const decoders = [
    await createAvroDecoder({ framing: "confluent", registry }, signal),
    await createAvroDecoder({ framing: "single-object", schemas: folder }, signal),
    await createAvroDecoder({ framing: "plain", schema: join(folder, "1.avsc") }, signal),
  ];
  for (const decoder of decoders)
    assert.deepEqual((await prepared(decoder, null, Buffer.alloc(0))).map(text), [
      "NULL_VALUE",
      "EMPTY_VALUE",
    ]);
  for (const value of [Buffer.from([0, 0, 0]), Buffer.from([0xc3, 1, 5])])
    for (const decoder of decoders)
      assert.match(text(decoder.decode(value)), /^(WRONG_FRAMING|MALFORMED_AVRO)$/);
  // A record without fields has no bytes, and no columns.
  const empty = await createAvroDecoder({ framing: "plain", schema: join(folder, "empty.json") }, signal);
  assert.equal(text(empty.decode(Buffer.alloc(0))), "{}");
  assert.equal(empty.schema(), null);
});

test("a real container file is told from a record", async () => {
  const { registry } = registryOf({ 1: V1 });
  const decoder = await createAvroDecoder({ framing: "confluent", registry }, signal);
  const encoder = new avsc.streams.BlockEncoder(structuredClone(V1) as avsc.Schema);
  encoder.end({ id: 1 });
  const parts: Buffer[] = [];
  for await (const part of encoder) parts.push(part as Buffer);
  assert.equal(text(decoder.decode(Buffer.concat(parts))), "CONTAINER_FILE");
});
