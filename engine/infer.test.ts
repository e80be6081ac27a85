/** The rules of docs/formats.md, "Schema from messages", one test a rule. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { DataType } from "../delta/types.ts";
import {
  arrayOf,
  batchOf,
  mapOf,
  nullable,
  openWorkbench,
  planFor,
  signal,
  struct,
} from "../test/support/encoder-fixture.ts";
import { inferAdditions, inferStruct, MIXED_KEY, nothingObserved, observe } from "./infer.ts";
import { fitMessage } from "./json-exact.ts";
import { type JsonObject, parseJsonExactly } from "./json-parse.ts";

const seenIn = (messages: readonly string[]) => {
  const seen = nothingObserved();
  for (const message of messages) observe(seen, parseJsonExactly(message));
  return seen;
};

/** The type of a column that holds these values, one a message. */
function typeOf(...values: readonly string[]): DataType | undefined {
  return inferStruct(seenIn(values.map((value) => `{"v":${value}}`)))?.fields[0]?.type;
}

function check(cases: readonly (readonly [values: readonly string[], type: DataType])[]): void {
  for (const [values, type] of cases) {
    assert.deepEqual(typeOf(...values), type, values.join(" "));
    assert.deepEqual(typeOf(...[...values].reverse()), type, `${values.join(" ")}, the other way round`);
    assert.deepEqual(typeOf(...values, "null"), type, `${values.join(" ")} and null`);
  }
}

test("rule: whole numbers are long, up to the ends of int64, beyond what a double carries, too", () => {
  check([
    [["0"], "long"],
    [["-0"], "long"],
    [["1", "-2"], "long"],
    [["9007199254740993"], "long"],
    [["9223372036854775807", "-9223372036854775808"], "long"],
  ]);
});

test("rule: numbers with a fraction or an exponent are double, those beside them as well", () => {
  check([
    [["1.5"], "double"],
    [["1.0"], "double"],
    [["1e2"], "double"],
    [["1", "2.5"], "double"],
    [["9007199254740992", "0.5"], "double"],
    [["0.1234567890123456789"], "double"],
    [["1.7976931348623157e308"], "double"],
    [["1e-400"], "double"],
  ]);
});

test("rule: whole numbers beyond int64 are decimal(38,0), beyond 38 digits string", () => {
  check([
    [["9223372036854775808"], "decimal(38,0)"],
    [["-9223372036854775809", "1"], "decimal(38,0)"],
    [["9".repeat(38)], "decimal(38,0)"],
    [["9".repeat(39)], "string"],
    [[`1${"0".repeat(38)}`], "string"],
  ]);
});

test("rule: where a double would lose digits of whole numbers, or not reach a number, numbers are string", () => {
  check([
    [["9007199254740993", "0.5"], "string"],
    [["9223372036854775808", "1e2"], "string"],
    [["1e400"], "string"],
    [["-1e400", "1"], "string"],
  ]);
});

test("rule: true and false are boolean", () => {
  check([[["true", "false"], "boolean"]]);
});

test("rule: texts that are all timestamps with a zone are timestamp, other texts string", () => {
  check([
    [['"2024-03-01T01:00:00Z"', '"2024-03-01T01:00:00.123456+02:00"'], "timestamp"],
    [['"2024-03-01T01:00:00Z"', '"soon"'], "string"],
    [['"2024-03-01T01:00:00Z"', '""'], "string"],
    [['"2024-03-01T01:00:00"'], "string"],
    [['"2024-03-01T01:00:00.1234567Z"'], "string"],
    [['"2024-03-01"'], "string"],
    [['"1"', '"true"'], "string"],
  ]);
});

test("rule: kinds that do not go together are string, at the level where they differ", () => {
  check([
    [["1", "true"], "string"],
    [["1", '"a"'], "string"],
    [["1", "{}"], "string"],
    [["[1]", "{}"], "string"],
    [['"2024-03-01T01:00:00Z"', "1"], "string"],
    [["[1]", '["a"]'], arrayOf("string")],
    [["[1,[2]]"], arrayOf("string")],
    [
      ['{"a":1}', '{"a":"x","b":1}'],
      {
        ...struct({}),
        fields: [{ ...nullable("a", "string"), metadata: { [MIXED_KEY]: "" } }, nullable("b", "long")],
      },
    ],
  ]);
});

test("rule: arrays that were only ever empty, or held null only, are arrays of string", () => {
  check([
    [["[]"], arrayOf("string")],
    [["[null]", "[]"], arrayOf("string")],
    [["[[]]"], arrayOf(arrayOf("string"))],
    [["[]", "[1]"], arrayOf("long")],
    [["[null,1.5]", "[2]"], arrayOf("double")],
  ]);
});

test("rule: only null is string", () => {
  assert.equal(typeOf("null"), "string");
  assert.equal(typeOf("null", "null"), "string");
});

test("rule: objects are structs of all fields seen; only ever empty ones, and those no name of which can be a column, are maps of text", () => {
  assert.deepEqual(typeOf('{"a":1}', '{"b":true}'), struct({ a: "long", b: "boolean" }));
  check([
    [["{}"], mapOf("string")],
    [['{"a b":1}'], mapOf("string")],
    [["{}", '{"a":1}'], struct({ a: "long" })],
    [['{"a b":1,"c":2}'], struct({ c: "long" })],
  ]);
});

test("rule: names that cannot be columns are left out", () => {
  const schema = inferStruct(seenIn(['{"a b":1,"":2,"x=y":3,"t\\tu":4,"ok":5,"a.b":6}']));
  assert.deepEqual(schema, struct({ ok: "long", "a.b": "long" }));
  assert.equal(inferStruct(seenIn(['{"a b":1}', "{}"])), null);
});

test("rule: of names that differ by case only the one seen first is a column, at any depth", () => {
  const schema = inferStruct(seenIn(['{"Id":1,"s":{"x":1,"X":"a"}}', '{"id":"a","ID":true}']));
  assert.deepEqual(schema, struct({ Id: "long", s: struct({ x: "long" }) }));
});

test("rule: messages with the other spelling are letters under add, and rows without the field under ignore", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf(['{"id":1}', '{"ID":2}', '{"id":3,"Id":3}']);
  const schema = await bench.encoder.inferSchema(batch, { format: "json" }, signal);
  assert.deepEqual(schema, struct({ id: "long" }));
  const added = await bench.encode(batch, planFor(schema!));
  assert.deepEqual(
    added.encoded.bad.map(({ index, code, message }) => [index, code, message]),
    [
      [1, "UNKNOWN_FIELD", "ID: differs from the column id by case only"],
      [2, "UNKNOWN_FIELD", "Id: differs from the column id by case only"],
    ],
  );
  const ignored = await bench.encode(batch, planFor(schema!, { onUnknownField: "ignore" }));
  assert.deepEqual(
    [0, 1, 2].map((i) => String(ignored.rows.get(i)?.id)),
    ["1", "null", "3"],
  );
});

test("rule: of doubled keys the last counts", () => {
  assert.equal(typeOf('1,"v":"a"'), "string");
});

test("rule: later fields are added by the same rules, at any depth; known ones keep their types", () => {
  const known = struct({
    a: "long",
    s: struct({ x: "long" }),
    l: arrayOf(struct({ y: "long" })),
    m: mapOf(struct({ z: "long" })),
  });
  const seen = seenIn([
    '{"a":1.5,"A":1,"b":null,"s":{"x":"t","n":[]},"l":[{"y":1},{"n":{}}],"m":{"k":{"n":9223372036854775808}}}',
  ]);
  assert.deepEqual(
    inferAdditions(known, seen),
    struct({
      b: "string",
      s: struct({ n: arrayOf("string") }),
      l: arrayOf(struct({ n: mapOf("string") })),
      m: mapOf(struct({ n: "decimal(38,0)" })),
    }),
  );
  assert.equal(inferAdditions(known, seenIn(['{"a":"x","s":{"x":null}}'])), null);
});

const jsonValue = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constant(null),
    fc.boolean(),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map((n) => ({ number: String(n) })),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => ({ number: String(n) })),
    fc.constantFrom("", "a", "2024-03-01T01:00:00Z"),
    fc.array(tie("value"), { maxLength: 3 }).map((items) => ({ items })),
    fc
      .dictionary(fc.constantFrom("a", "A", "b", "c d"), tie("value"), { maxKeys: 3 })
      .map((fields) => ({ fields })),
  ),
})).value;

function textOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if ("number" in value) return String(value.number);
  if ("items" in value) return `[${(value.items as unknown[]).map(textOf).join(",")}]`;
  const fields = Object.entries((value as { fields: object }).fields);
  return `{${fields.map(([name, inner]) => `${JSON.stringify(name)}:${textOf(inner)}`).join(",")}}`;
}

const isMixed = (message: string | undefined) =>
  /expected string, got an? (object|array)/.test(message ?? "");

test("any message fits the schema that it suggests by itself, but for kinds that do not go together", () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      const object = parseJsonExactly(`{"v":${textOf(value)}}`) as JsonObject;
      const schema = inferStruct(seenIn([`{"v":${textOf(value)}}`]))!;
      const fitted = fitMessage(object, schema, { ignoreUnknown: true });
      assert.ok(fitted.kind === "row" || isMixed(fitted.fault.message), JSON.stringify(fitted));
    }),
    { numRuns: 500 },
  );
});
