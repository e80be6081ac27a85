import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { isLosslessNumber, parse } from "lossless-json";
import { isLabError } from "../core/errors.ts";
import { framed } from "../test/support/fixed-registry.ts";
import { ORDER, SHOP_PROTO } from "../test/support/protobuf-fixture.ts";
import { refereeCommand, runReferee } from "../test/support/python.ts";
import { sharedRegistry } from "../test/support/registry.ts";
import { writerOf } from "./avro.fixture.ts";
import { createAvroDecoder } from "./avro.ts";
import { fingerprint } from "./avro-fingerprint.ts";
import { canonicalForm, parseAvroSchema } from "./avro-schema.ts";
import type { Decoded } from "./decoder.ts";
import { createRegistryJsonSchemaDecoder } from "./json-schema.ts";
import { createRegistryProtobufDecoder } from "./protobuf.ts";
import { createRegistry } from "./registry.ts";

const { signal } = new AbortController();
const DRAFT_7 = "http://json-schema.org/draft-07/schema#";
const subjectOf = (name: string) => `${name}-${randomUUID().slice(0, 8)}-value`;

function textOf(decoded: Decoded): string {
  return "bad" in decoded ? decoded.bad.code : Buffer.from(decoded.objects[0]!).toString("utf8");
}

const record = (name: string, ...fields: [name: string, type: unknown, fallback?: unknown][]) => ({
  type: "record",
  name,
  namespace: "acme",
  fields: fields.map(([name, type, fallback]) => ({
    name,
    type,
    ...(fallback === undefined ? {} : { default: fallback }),
  })),
});

test("a schema that evolves in a real registry: old and new messages decode side by side", async () => {
  const server = await sharedRegistry();
  const registry = createRegistry({ url: server.url });
  const subject = subjectOf("orders");
  const V1 = record("Order", ["id", "int"]);
  const V2 = record("Order", ["id", "long"], ["note", ["null", "string"], null]);
  const first = await server.register(subject, JSON.stringify(V1));
  const decoder = await createAvroDecoder({ framing: "confluent", registry, subject }, signal);
  const second = await server.register(subject, JSON.stringify(V2));
  const values = [
    framed(first, writerOf(structuredClone(V1)).toBuffer({ id: 5 })),
    framed(second, writerOf(structuredClone(V2)).toBuffer({ id: 2n ** 62n, note: { string: "n" } })),
    framed(2_000_000_000, Buffer.alloc(1)),
  ];
  await decoder.prepare(values, signal);
  assert.deepEqual(
    values.map((value) => textOf(decoder.decode(value))),
    ['{"id":5}', '{"id":4611686018427387904,"note":"n"}', "UNKNOWN_SCHEMA"],
  );
  assert.deepEqual(
    decoder.schema()?.fields.map(({ name, type }) => [name, type]),
    [
      ["id", "long"],
      ["note", "string"],
    ],
  );
  assert.equal((await registry.latest(subject, signal)).id, second);
});

test("references arrive from a real registry, for Avro, Protobuf and JSON Schema", async () => {
  const server = await sharedRegistry();
  const registry = createRegistry({ url: server.url });
  const money = subjectOf("money");
  const moneySchema = record("Money", ["cents", "long"]);
  await server.register(money, JSON.stringify(moneySchema));
  const order = record("Order", ["total", "acme.Money"]);
  const id = await server.register(subjectOf("order"), JSON.stringify(order), {
    references: [{ name: "acme.Money", subject: money, version: 1 }],
  });
  const decoder = await createAvroDecoder({ framing: "confluent", registry }, signal);
  const writer = writerOf(record("Order", ["total", structuredClone(moneySchema)]));
  const value = framed(id, writer.toBuffer({ total: { cents: 250n } }));
  await decoder.prepare([value], signal);
  assert.equal(textOf(decoder.decode(value)), '{"total":{"cents":250}}');

  const others = [
    {
      type: "PROTOBUF",
      name: "money.proto",
      part: 'syntax = "proto3"; message Money { int64 cents = 1; }',
      whole: 'syntax = "proto3"; import "money.proto"; message Order { Money total = 1; }',
    },
    {
      type: "JSON",
      name: "money.json",
      part: `{"$schema":"${DRAFT_7}","type":"integer"}`,
      whole: `{"$schema":"${DRAFT_7}","type":"object","properties":{"total":{"$ref":"money.json"}}}`,
    },
  ];
  for (const { type, name, part, whole } of others) {
    const subject = subjectOf(type);
    await server.register(subject, part, { type });
    const referring = await server.register(subjectOf(type), whole, {
      type,
      references: [{ name, subject, version: 1 }],
    });
    const schema = await registry.byId(referring, signal);
    assert.equal(schema?.type, type);
    assert.deepEqual(
      schema?.references.map((reference) => [reference.name, reference.references]),
      [[name, []]],
    );
    assert.match(schema.references[0]!.text, type === "JSON" ? /integer/ : /cents/);
  }
});

test("Protobuf and JSON decode by the schemas of a real registry, with what they refer to", async () => {
  const server = await sharedRegistry();
  const registry = createRegistry({ url: server.url });
  const register = async (type: string, name: string, part: string, whole: string) => {
    const subject = subjectOf(type);
    await server.register(subject, part, { type });
    return server.register(subjectOf(type), whole, { type, references: [{ name, subject, version: 1 }] });
  };
  const money = 'syntax = "proto3"; package acme; message Money { int64 cents = 1; }';
  const order = `syntax = "proto3"; package acme; import "money.proto"; import "google/protobuf/timestamp.proto";
    message Unused { bool x = 1; } message Order { message Line { Money price = 1; } google.protobuf.Timestamp at = 1; }`;
  const line = framed(
    await register("PROTOBUF", "money.proto", money, order),
    Buffer.from([4, 2, 0, 10, 3, 8, 250, 1]),
  );
  const shop = await server.register(subjectOf("shop"), SHOP_PROTO, { type: "PROTOBUF" });
  const shopOrder = framed(shop, Buffer.concat([Buffer.from([2, 4]), ORDER]));
  const protobuf = createRegistryProtobufDecoder(registry);
  await protobuf.prepare([line, shopOrder], signal);
  assert.equal(textOf(protobuf.decode(line)), '{"price":{"cents":250}}');
  assert.match(
    textOf(protobuf.decode(shopOrder)),
    /^\{"id":-9223372036854775808,"big":18446744073709551615,/,
  );

  const whole = `{"$schema":"${DRAFT_7}","type":"object","properties":{"total":{"$ref":"money.json"}}}`;
  const id = await register("JSON", "money.json", `{"$schema":"${DRAFT_7}","type":"integer"}`, whole);
  const json = createRegistryJsonSchemaDecoder(registry);
  const values = ['{"total":1.0}', '{"total":"1"}'].map((text) => framed(id, Buffer.from(text)));
  await json.prepare(values, signal);
  assert.deepEqual(
    values.map((value) => textOf(json.decode(value))),
    ['{"total":1.0}', "SCHEMA_VIOLATED"],
  );
});

test("a real registry's no is told from a wrong address", async () => {
  const { url } = await sharedRegistry();
  const registry = createRegistry({ url });
  assert.equal(await registry.byId(1_999_999_999, signal), null);
  await assert.rejects(registry.latest(subjectOf("none"), signal), (error) =>
    isLabError(error, "SCHEMA_NOT_FOUND"),
  );
  // The server itself, without the path of the API.
  const elsewhere = createRegistry({ url: new URL(url).origin });
  await assert.rejects(
    elsewhere.byId(1, signal),
    (error) => isLabError(error, "REGISTRY_UNREACHABLE") && /answers 404/.test(error.message),
  );
});

test("what Python's fastavro writes reads as it says, by the same fingerprint", async () => {
  const requirements = new URL("../test/referees/avro-requirements.txt", import.meta.url).pathname;
  const { command, script } = await refereeCommand("avro_messages.py", requirements);
  const written = JSON.parse(await runReferee(command, [script, "7", "300"])) as {
    schema: unknown;
    canonical: string;
    fingerprint: string;
    messages: { hex: string; says: unknown }[];
  };
  const text = JSON.stringify(written.schema);
  const form = canonicalForm(parseAvroSchema({ text, references: [] }));
  assert.equal(form, written.canonical);
  const print = Buffer.alloc(8);
  print.writeBigUInt64LE(fingerprint(form));
  assert.equal(print.toString("hex"), written.fingerprint);

  const server = await sharedRegistry();
  const id = await server.register(subjectOf("python"), text);
  const registry = createRegistry({ url: server.url });
  const decoder = await createAvroDecoder({ framing: "confluent", registry }, signal);
  const values = written.messages.map(({ hex }) => framed(id, Buffer.from(hex, "hex")));
  await decoder.prepare(values, signal);
  values.forEach((value, i) => {
    const says = JSON.stringify(parse(textOf(decoder.decode(value))), (_, json) =>
      isLosslessNumber(json) ? json.value : json,
    );
    assert.deepEqual(JSON.parse(says), written.messages[i]!.says);
  });
});
