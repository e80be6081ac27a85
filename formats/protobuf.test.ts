import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import { fixedRegistry, framed } from "../test/support/fixed-registry.ts";
import { EVENT_DESCRIPTORS, ORDER, SHOP_PROTO } from "../test/support/protobuf-fixture.ts";
import type { Decoder } from "./decoder.ts";
import { createProtobufDecoder, createRegistryProtobufDecoder } from "./protobuf.ts";

const signal = new AbortController().signal;
const TWO = `syntax = "proto3"; message A { int32 a = 1; message In { string s = 1; } } message B { bool b = 1; }`;

function outcome(decoder: Decoder, value: Uint8Array | null): string {
  const decoded = decoder.decode(value);
  return "bad" in decoded ? decoded.bad.code : Buffer.from(decoded.objects[0]!).toString();
}

async function prepared(values: (Uint8Array | null)[], ...texts: string[]) {
  const registry = fixedRegistry(texts.map((text) => ({ type: "PROTOBUF", text })));
  const decoder = createRegistryProtobufDecoder(registry);
  await decoder.prepare(values, signal);
  return { decoder, registry };
}

test("a value names its schema and the message's place in it", async () => {
  const values = [
    framed(1, [0], [8, 5]),
    framed(1, [2, 0], [8, 5]),
    framed(1, [2, 2], [8, 1]),
    framed(1, [4, 0, 0], [10, 1, 97]),
    framed(2, [2, 4], ORDER),
  ];
  const { decoder } = await prepared(values, TWO, SHOP_PROTO);
  assert.equal(outcome(decoder, values[0]!), '{"a":5}');
  assert.equal(outcome(decoder, values[1]!), '{"a":5}');
  assert.equal(outcome(decoder, values[2]!), '{"b":true}');
  assert.equal(outcome(decoder, values[3]!), '{"s":"a"}');
  assert.match(outcome(decoder, values[4]!), /^\{"id":-9223372036854775808,/);
});

test("what names no message there is makes a bad record of its own kind", async () => {
  const cases: [Uint8Array | null, string][] = [
    [null, "NULL_VALUE"],
    [new Uint8Array(), "EMPTY_VALUE"],
    [Buffer.from([0, 0, 0, 1]), "WRONG_FRAMING"],
    [Buffer.from([1, 0, 0, 0, 1, 0]), "WRONG_FRAMING"],
    [Buffer.from('{"a":1}'), "WRONG_FRAMING"],
    [framed(7, [0]), "UNKNOWN_SCHEMA"],
    [framed(0xffffffff, [0]), "UNKNOWN_SCHEMA"],
    [framed(1, []), "BAD_MESSAGE_INDEX"],
    [framed(1, [2]), "BAD_MESSAGE_INDEX"],
    [framed(1, [1]), "BAD_MESSAGE_INDEX"],
    [framed(1, [2, 1]), "BAD_MESSAGE_INDEX"],
    [framed(1, [0xfe, 0xff, 0xff, 0xff, 0x0f]), "BAD_MESSAGE_INDEX"],
    [framed(1, [2, 0xff, 0xff]), "BAD_MESSAGE_INDEX"],
    [framed(1, [2, 4], [8, 5]), "UNKNOWN_MESSAGE"],
    [framed(1, [4, 2, 0], [8, 5]), "UNKNOWN_MESSAGE"],
    [framed(1, [0], [8]), "MALFORMED_PROTOBUF"],
    [framed(2, [0], [8, 5]), "UNREADABLE_SCHEMA"],
  ];
  const { decoder } = await prepared(
    cases.map(([value]) => value),
    TWO,
    "no schema",
  );
  for (const [value, code] of cases) assert.equal(outcome(decoder, value), code);
});

test("a message without bytes after its place is one of defaults", async () => {
  const { decoder } = await prepared([framed(1, [0])], TWO);
  assert.equal(outcome(decoder, framed(1, [0])), '{"a":0}');
});

test("the columns are those of all schemas seen, as the newest has them", async () => {
  const older = `syntax = "proto3"; message M { int32 a = 1; In in = 2; message In { int32 x = 1; } int32 gone = 3; }`;
  const newer = `syntax = "proto3"; message M { int64 a = 1; In in = 2; message In { int32 y = 1; } int32 b = 4; }`;
  const { decoder } = await prepared([framed(2, [0]), framed(1, [0]), framed(9, [0])], older, newer);
  const fields = decoder
    .schema()!
    .fields.map(({ name, type }) =>
      typeof type === "string" ? `${name} ${type}` : `${name} ${JSON.stringify(type).match(/"name":"\w+"/g)}`,
    );
  assert.deepEqual(fields, ["a long", 'in "name":"x","name":"y"', "gone integer", "b integer"]);
});

test("a schema is asked for once, one that the registry does not know each time", async () => {
  const values = [framed(1, [0]), framed(1, [2, 2]), framed(3, [0])];
  const { decoder, registry } = await prepared(values, TWO);
  await decoder.prepare(values, signal);
  assert.deepEqual(registry.asked, [1, 1, 3, 3]);
  registry.add(3, { type: "PROTOBUF", text: TWO });
  await decoder.prepare(values, signal);
  assert.equal(outcome(decoder, values[2]!), '{"a":0}');
});

test("places that no message has, however many, push out no schema that a prepared batch needs", async () => {
  const good = framed(1, [0], [8, 5]);
  const { decoder } = await prepared([good], TWO);
  const varint = (index: number) => [0x80 | ((index << 1) & 0x7f), (index >> 6) & 0x7f];
  const strange = Array.from({ length: 8100 }, (_, i) => framed(1, [2], varint(i + 2)));
  const deeper = strange.map((_, i) => framed(1, [4], varint(i + 2), [0]));
  for (const values of [strange, deeper, [good]]) await decoder.prepare(values, signal);
  assert.equal(outcome(decoder, good), '{"a":5}');
  assert.equal(outcome(decoder, strange[99]!), "UNKNOWN_SCHEMA");
  await decoder.prepare(strange.slice(99, 100), signal);
  assert.equal(outcome(decoder, strange[99]!), "UNKNOWN_MESSAGE");
});

test("an outage of the registry rejects, so that nobody takes its messages for bad ones", async () => {
  const decoder = createRegistryProtobufDecoder({
    ...fixedRegistry([]),
    byId: () => Promise.reject(new Error("outage")),
  });
  await assert.rejects(decoder.prepare([framed(1, [0])], signal), /outage/);
  await decoder.prepare([null, new Uint8Array(), Buffer.from("{}")], signal);
});

test("no bytes after the head make it throw", async () => {
  const { decoder } = await prepared([framed(1, [0]), framed(1, [2, 2])], TWO);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 20 }), (rest) => {
      outcome(decoder, framed(1, [...rest]));
      outcome(decoder, framed(1, [0], rest));
    }),
    { numRuns: 500 },
  );
});

test("without a registry, each value is a message of a file or a descriptor set, and no bytes are one of defaults", () => {
  const text = 'syntax = "proto3"; message M { int32 a = 1; }';
  const decoder = createProtobufDecoder({ file: { text, references: [] }, message: "M" });
  assert.equal(outcome(decoder, Buffer.from([8, 1])), '{"a":1}');
  assert.equal(outcome(decoder, new Uint8Array()), '{"a":0}');
  assert.equal(outcome(decoder, null), "NULL_VALUE");
  const event = createProtobufDecoder({ descriptorSet: EVENT_DESCRIPTORS, message: "Event" });
  assert.equal(outcome(event, Buffer.from([18, 1, 97, 24, 1, 24, 2])), '{"userName":"a","n":[1,2],"m":{}}');
  assert.throws(
    () => createProtobufDecoder({ file: { text, references: [] }, message: "Other" }),
    (error) => isLabError(error, "SCHEMA_INVALID"),
  );
});
