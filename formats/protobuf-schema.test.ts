import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { DataType } from "../delta/types.ts";
import { EVENT_DESCRIPTORS, LEGACY_PROTO, SHOP_PROTO } from "../test/support/protobuf-fixture.ts";
import { planMessage } from "./protobuf-plan.ts";
import { type ProtoFile, readDescriptorSet, readProtoFile } from "./protobuf-schema.ts";

const file = (text: string, references: ProtoFile["references"] = []): ProtoFile => ({ text, references });
const reference = (name: string, text: string, references: ProtoFile["references"] = []) => ({
  name,
  text,
  references,
});

/** `name: type` for each column, structs in braces. */
function describe(type: DataType | null): string {
  if (type === null || typeof type === "string") return String(type);
  if (type.type === "array") return `array<${describe(type.elementType)}>`;
  if (type.type === "map") return `map<${describe(type.keyType)},${describe(type.valueType)}>`;
  assert.ok(type.fields.every((field) => field.nullable));
  return `{${type.fields.map((field) => `${field.name}: ${describe(field.type)}`).join(", ")}}`;
}

function columns(text: string, message: string, references: ProtoFile["references"] = []): string {
  return describe(planMessage(readProtoFile(file(text, references)).byName(message)).columns);
}

const isInvalid = (part: RegExp) => (error: unknown) =>
  isLabError(error, "SCHEMA_INVALID") && part.test(error.message);

test("a message's fields are columns in the file's order, each of the type that holds all its values", () => {
  assert.equal(
    columns(SHOP_PROTO, "shop.Order"),
    "{id: long, big: decimal(20,0), delta: integer, fixed: decimal(20,0), signed_fixed: long, small: integer, " +
      "natural: long, fixed_small: long, signed_small: integer, zigzag: long, price: double, weight: float, " +
      "paid: boolean, note: string, payload: binary, colour: string, numbers: array<integer>, " +
      "items: array<{sku: string, count: long}>, by_name: map<string,{sku: string, count: long}>, " +
      "colours: map<string,string>, maybe: integer, email: string, gift: {sku: string, count: long}, " +
      "placed_at: timestamp, took: decimal(21,9), nick: string, total: decimal(20,0), extra: string, free: string, " +
      "any: {type_url: string, value: binary}, tree: {name: string, children: array<string>}, tags: array<string>}",
  );
  assert.equal(
    columns(LEGACY_PROTO, "Legacy"),
    "{id: integer, name: string, line: array<{n: integer}>, kind: string, plain: array<integer>, " +
      "packed: array<integer>, inner: string}",
  );
});

test("messages that hold each other are columns down to the first that is there already", () => {
  const text = `syntax = "proto3"; message A { B b = 1; map<string, A> more = 2; } message B { A a = 1; int32 n = 2; }`;
  assert.equal(columns(text, "A"), "{b: {a: string, n: integer}, more: map<string,string>}");
});

test("a message without fields is an empty map, and of names that differ by case the first is a column", () => {
  const text = `syntax = "proto3"; message None {} message M { None none = 1; int32 a = 2; string A = 3; }`;
  assert.equal(columns(text, "M"), "{none: map<string,string>, a: integer}");
  assert.equal(columns(text, "None"), "null");
});

test("editions say presence by features", () => {
  const text = `edition = "2023"; message M { int32 a = 1; int32 b = 2 [features.field_presence = IMPLICIT]; }`;
  const { message } = planMessage(readProtoFile(file(text)).byName("M"));
  assert.deepEqual(
    message.fields.map(({ absent }) => absent),
    [undefined, "0"],
  );
});

test("messages are counted as they stand in the file, and inside each other, whatever is imported before", () => {
  const text = `syntax = "proto3"; package p; import "other.proto";
    enum E { X = 0; } message First { message In { message Deep { int32 a = 1; } } map<string, In> m = 1; message Second {} }
    message Last { q.Other other = 1; }`;
  const other = reference("other.proto", 'syntax = "proto3"; package q; message Other { int32 a = 1; }');
  const same = reference("other.proto", 'syntax = "proto3"; package p; message Before {} message Other {}');
  const schema = readProtoFile(file(text, [other]));
  const names = (indexes: number[]) => schema.byIndexes(indexes).fullName;
  assert.equal(names([0]), ".p.First");
  assert.equal(names([1]), ".p.Last");
  assert.equal(names([0, 0]), ".p.First.In");
  assert.equal(names([0, 1]), ".p.First.Second");
  assert.equal(names([0, 0, 0]), ".p.First.In.Deep");
  assert.equal(readProtoFile(file(text.replace("q.", ""), [same])).byIndexes([0]).fullName, ".p.First");
  for (const indexes of [[2], [0, 2], [0, 0, 0, 0]])
    assert.throws(
      () => schema.byIndexes(indexes),
      (error) => isLabError(error, "SCHEMA_NOT_FOUND"),
    );
});

test("imports are found among the references, at any depth, and Google's own need not be there", () => {
  const text = `syntax = "proto3"; import "a.proto"; import "google/protobuf/timestamp.proto"; import "google/type/none.proto";
    import "google/protobuf/descriptor.proto"; import "google/api/annotations.proto"; import "google/protobuf/type.proto";
    import "google/protobuf/any.proto"; import "google/protobuf/api.proto"; import "confluent/type/decimal.proto"; import "validate/validate.proto";
    extend google.protobuf.FieldOptions { string unit = 50000; }
    service S { rpc Get(M) returns (M) { option (google.api.http) = { get: "/v1/m" }; } }
    message M { a.A a = 1 [(unit) = "m", (validate.rules).message.required = true]; google.protobuf.Timestamp t = 2; confluent.type.Decimal d = 3; google.protobuf.Option o = 4; }`;
  const b = reference("b.proto", 'syntax = "proto3"; package b; message B { bool x = 1; }');
  const a = reference(
    "a.proto",
    'syntax = "proto3"; package a; import public "b.proto"; message A { b.B b = 1; }',
    [b],
  );
  assert.equal(
    columns(text, "M", [a]),
    "{a: {b: {x: boolean}}, t: timestamp, d: {value: binary, precision: long, scale: integer}, o: {name: string, value: {type_url: string, value: binary}}}",
  );
});

test("a descriptor set gives the same columns, and needs what it imports", () => {
  const type = readDescriptorSet(EVENT_DESCRIPTORS).byName("lab.Event");
  assert.equal(
    describe(planMessage(type).columns),
    "{at: timestamp, userName: string, n: array<integer>, m: map<string,integer>}",
  );
  assert.throws(
    () => readDescriptorSet(EVENT_DESCRIPTORS.subarray(258)),
    isInvalid(/google.protobuf.Timestamp/),
  );
  assert.throws(() => readDescriptorSet(Buffer.from("no descriptors")), isInvalid(/descriptor set/));
});

test("a message need not be named where the file declares one", () => {
  const one = `syntax = "proto3"; import "google/protobuf/any.proto"; message M { google.protobuf.Any a = 1; message In {} }`;
  assert.equal(readProtoFile(file(one)).byName().fullName, ".M");
  assert.equal(readDescriptorSet(EVENT_DESCRIPTORS).byName().fullName, ".lab.Event");
  assert.throws(() => readProtoFile(file(SHOP_PROTO)).byName(), isInvalid(/3 messages/));
  assert.throws(() => readProtoFile(file('syntax = "proto3";')).byName(), isInvalid(/no message/));
});

test("a message may be named without its package where there is one of the name", () => {
  const text = `syntax = "proto3"; package p.q; message A { message B { int32 b = 1; } } message C { message B { int32 c = 1; } }`;
  const schema = readProtoFile(file(text));
  for (const name of ["p.q.A", ".p.q.A", "q.A", "A"]) assert.equal(schema.byName(name).fullName, ".p.q.A");
  assert.equal(schema.byName("A.B").fullName, ".p.q.A.B");
  assert.throws(() => schema.byName("B"), isInvalid(/2 messages B/));
  assert.throws(() => schema.byName("D"), isInvalid(/no message D/));
});

test("what is no schema, lacks what it names, or has fields without end is refused with the reason", () => {
  assert.throws(() => readProtoFile(file("{}")), isInvalid(/illegal token/));
  assert.throws(() => readProtoFile(file('{"type":"record"}')), isInvalid(/illegal token/));
  assert.throws(
    () => readProtoFile(file('syntax = "proto3"; import "x/y.proto"; message M { Missing m = 1; }')),
    isInvalid(/Missing.*not given: x\/y.proto/),
  );
  const doubling = Array.from(
    { length: 20 },
    (_, i) => `message M${i} { M${i + 1} a = 1; M${i + 1} b = 2; }`,
  );
  const text = `syntax = "proto3"; ${doubling.join(" ")} message M20 { int32 x = 1; }`;
  assert.throws(() => columns(text, "M0"), isInvalid(/more than 10000 fields/));
});
