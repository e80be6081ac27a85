import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import { canWiden } from "../delta/type-widening.ts";
import type { DataType, StructType } from "../delta/types.ts";
import {
  arrayOf,
  batchOf,
  mapOf,
  openWorkbench,
  planFor,
  signal,
  struct,
} from "../test/support/encoder-fixture.ts";
import { fitMessage } from "./json-exact.ts";
import { type JsonObject, parseJsonExactly } from "./json-parse.ts";
import { widenedFor } from "./widening.ts";

const widen = (_column: string, from: DataType, to: DataType) => canWiden(from, to);
const typesOf = (schema: StructType | undefined) =>
  Object.fromEntries(
    (schema?.fields ?? []).filter(({ name }) => name !== "_kafka").map(({ name, type }) => [name, type]),
  );

const VALUES: readonly (readonly [type: DataType, json: string, becomes: DataType])[] = [
  ["byte", "127", "byte"],
  ["byte", "-128", "byte"],
  ["byte", "128", "short"],
  ["byte", "-129", "short"],
  ["short", "-32769", "integer"],
  ["integer", "2147483647", "integer"],
  ["integer", "2147483648", "long"],
  ["integer", "-2147483648", "integer"],
  ["integer", "-2147483649", "long"],
  ["integer", "3e9", "long"],
  ["byte", "9223372036854775807", "long"],
  ["byte", "-9223372036854775808", "long"],
  ["integer", "9223372036854775808", "integer"],
  ["long", "9223372036854775808", "long"],
  ["integer", "1.5", "integer"],
  ["integer", "1e400", "integer"],
  ["float", "1e39", "double"],
  ["float", "1e38", "float"],
  ["float", "1e400", "float"],
  ["double", "1e400", "double"],
  ["decimal(5,2)", "999.99", "decimal(5,2)"],
  ["decimal(5,2)", "1000", "decimal(6,2)"],
  ["decimal(5,2)", "0.125", "decimal(6,3)"],
  ["decimal(5,2)", "12345.678", "decimal(8,3)"],
  ["decimal(5,2)", "1e-36", "decimal(5,2)"],
  ["decimal(5,2)", "1e36", "decimal(5,2)"],
  ["string", "5", "string"],
  ["boolean", "5", "boolean"],
  ["integer", '"5"', "integer"],
  ["integer", "null", "integer"],
];

test("a number becomes a longer integer, a double, or a decimal of more digits where the column has no room, and nothing else", () => {
  for (const [type, json, becomes] of VALUES) {
    const object = parseJsonExactly(`{"v":${json}}`) as JsonObject;
    assert.deepEqual(
      typesOf(widenedFor(struct({ v: type }), object, widen)),
      { v: becomes },
      `${json} in ${type}`,
    );
  }
});

test("a number fits the type that was found for it, and all that fitted before still fit", () => {
  const types: DataType[] = ["byte", "short", "integer", "long", "decimal(5,2)", "decimal(20,0)"];
  const number = fc.oneof(
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  );
  fc.assert(
    fc.property(
      fc.constantFrom(...types),
      fc.array(number, { minLength: 1, maxLength: 5 }),
      (type, numbers) => {
        let schema = struct({ v: type });
        for (const json of numbers) {
          const object = parseJsonExactly(`{"v":${json}}`) as JsonObject;
          const wider = widenedFor(schema, object, widen);
          if (wider === schema) continue;
          assert.equal(fitMessage(object, schema, { ignoreUnknown: false }).kind, "fault");
          assert.equal(fitMessage(object, wider, { ignoreUnknown: false }).kind, "row");
          assert.ok(canWiden(typesOf(schema).v!, typesOf(wider).v!));
          schema = wider;
        }
      },
    ),
    { numRuns: 300 },
  );
});

const NESTED = struct({
  s: struct({ n: "integer" }),
  l: arrayOf("short"),
  m: mapOf(arrayOf(struct({ n: "byte" }))),
});

test("types widen at any depth, with a note for readers, and messages before and after are rows", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf([
    '{"s":{"n":1},"l":[1],"m":{"a":[{"n":1}]}}',
    '{"s":{"n":3000000000},"l":[1,70000],"m":{"a":[{"n":1},{"n":300}]},"new":true}',
    '{"s":{"n":"x"},"l":[99999999999]}',
  ]);
  const { encoded, rows } = await bench.encode(batch, planFor(NESTED, { widen }));
  assert.deepEqual(typesOf(encoded.evolvedSchema), {
    s: {
      type: "struct",
      fields: [
        {
          name: "n",
          type: "long",
          nullable: true,
          metadata: { "delta.typeChanges": [{ fromType: "integer", toType: "long" }] },
        },
      ],
    },
    l: arrayOf("integer"),
    m: mapOf(
      arrayOf({
        type: "struct",
        fields: [
          {
            name: "n",
            type: "short",
            nullable: true,
            metadata: { "delta.typeChanges": [{ fromType: "byte", toType: "short" }] },
          },
        ],
      }),
    ),
    new: "boolean",
  });
  assert.deepEqual(encoded.evolvedSchema?.fields[1]?.metadata, {
    "delta.typeChanges": [{ fromType: "short", toType: "integer", fieldPath: "element" }],
  });
  // The last message is no row for another reason: what it would have widened stays.
  assert.deepEqual(
    encoded.bad.map(({ index, code }) => [index, code]),
    [[2, "WRONG_TYPE"]],
  );
  assert.equal(String((rows.get(1)!.s as { n: unknown }).n), "3000000000");
  assert.equal(String((rows.get(0)!.s as { n: unknown }).n), "1");
});

test("where the table does not widen, or new fields are not added, what has no room is a letter as ever", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf(['{"n":3000000000}', '{"n":1}']);
  for (const changes of [
    {},
    { widen, onUnknownField: "ignore" },
    { widen, onUnknownField: "deadletter" },
  ] as const) {
    const { encoded } = await bench.encode(batch, planFor(struct({ n: "integer" }), changes));
    assert.deepEqual(
      encoded.bad.map(({ index, code }) => [index, code]),
      [[0, "OUT_OF_RANGE"]],
    );
    assert.equal(encoded.evolvedSchema, undefined);
  }
});

test("a column that a transform yields wider widens the table's, where it may; else the transform has to say CAST", async (t) => {
  const bench = await openWorkbench(t);
  const transform = "SELECT CAST(n AS BIGINT) AS n, _kafka FROM messages";
  const plan = planFor(struct({ n: "integer" }), { transform });
  const batch = batchOf(['{"n":3000000000}']);
  const { encoded, rows } = await bench.encode(batch, { ...plan, widen });
  assert.deepEqual(typesOf(encoded.evolvedSchema), { n: "long" });
  assert.deepEqual(encoded.evolvedSchema?.fields[0]?.metadata, {
    "delta.typeChanges": [{ fromType: "integer", toType: "long" }],
  });
  assert.equal(String(rows.get(0)?.n), "3000000000");
  for (const changes of [{}, { widen, onUnknownField: "ignore" as const }])
    await assert.rejects(bench.encoder.encode(batch, { ...plan, ...changes }, signal), (error) =>
      isLabError(error, "SCHEMA_MISMATCH"),
    );
});
