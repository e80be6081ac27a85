import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ValueType } from "../engine/result.ts";
import { canonicalRow } from "./canonical.ts";
import { decimalText, toCell } from "./cells.ts";
import { dateText, momentText, timestampText } from "./dates.ts";

const text: ValueType = { kind: "text" };
const int: ValueType = { kind: "int", bits: 32, signed: true };
const long: ValueType = { kind: "int", bits: 64, signed: true };
const double: ValueType = { kind: "float", bits: 64 };

test("dates agree with JavaScript's wherever that reaches", () => {
  fc.assert(
    fc.property(fc.integer({ min: -100_000_000, max: 100_000_000 }), (days) => {
      assert.equal(dateText(days), new Date(days * 86_400_000).toISOString().split("T")[0]);
    }),
  );
});

test("timestamps agree with JavaScript's and keep their micros, before the epoch too", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -8_640_000_000_000, max: 8_640_000_000_000 }),
      fc.nat(999),
      (ms, micros) => {
        const iso = new Date(ms).toISOString().replace("Z", String(micros).padStart(3, "0"));
        assert.equal(timestampText(BigInt(ms) * 1000n + BigInt(micros)), iso);
      },
    ),
  );
  assert.equal(momentText(1577836800000), "2020-01-01T00:00:00.000000Z");
});

test("years outside 0..9999 have a sign and six digits, infinities a name", () => {
  assert.equal(dateText(-719_529), "-000001-12-31");
  assert.equal(dateText(2_932_897), "+010000-01-01");
  assert.equal(timestampText(9_223_372_036_854_775_807n), "infinity");
  assert.equal(timestampText(9_223_372_036_854_775_806n), "+294247-01-10T04:00:54.775806");
});

test("decimals have exactly as many digits as their scale", () => {
  const cases: [bigint, number, string][] = [
    [0n, 0, "0"],
    [5n, 2, "0.05"],
    [-5n, 2, "-0.05"],
    [12345n, 2, "123.45"],
    [-1200n, 2, "-12.00"],
  ];
  for (const [unscaled, scale, expected] of cases) assert.equal(decimalText(unscaled, scale), expected);
});

test("JSON keeps what a double cannot: longs, decimals, micros, bytes, NaN", () => {
  assert.equal(toCell(long)(9_007_199_254_740_993n), "9007199254740993");
  assert.equal(toCell(int)(7), 7);
  assert.equal(toCell({ kind: "decimal", precision: 10, scale: 2 })(1n), "0.01");
  assert.equal(toCell({ kind: "timestamp", zoned: true })(1n), "1970-01-01T00:00:00.000001Z");
  assert.equal(toCell({ kind: "timestamp", zoned: false })(1n), "1970-01-01T00:00:00.000001");
  assert.equal(toCell({ kind: "binary" })(new Uint8Array([0, 255])), "AP8=");
  assert.deepEqual([Number.NaN, Number.POSITIVE_INFINITY, -0.5].map(toCell(double)), [
    "NaN",
    "Infinity",
    -0.5,
  ]);
});

test("JSON of nested values: structs are objects, maps with text keys too, other maps pairs", () => {
  const struct: ValueType = {
    kind: "struct",
    fields: [
      { name: "__proto__", type: int },
      { name: "b", type: long },
    ],
  };
  assert.equal(
    JSON.stringify(toCell({ kind: "list", item: struct })([[1, null], null])),
    '[{"__proto__":1,"b":null},null]',
  );
  assert.deepEqual(toCell({ kind: "map", key: text, value: int })([["k", 1]]), { k: 1 });
  assert.deepEqual(toCell({ kind: "map", key: long, value: int })([[1n, 1]]), [["1", 1]]);
});

test("canonical rows are as the conformance suite writes them", () => {
  const struct: ValueType = {
    kind: "struct",
    fields: [
      { name: "z", type: text },
      { name: "a", type: int },
    ],
  };
  const types: ValueType[] = [
    { kind: "null" },
    { kind: "boolean" },
    int,
    long,
    double,
    { kind: "decimal", precision: 5, scale: 2 },
    text,
    { kind: "binary" },
    { kind: "date" },
    { kind: "timestamp", zoned: true },
    { kind: "timestamp", zoned: false },
    { kind: "list", item: struct },
    { kind: "map", key: text, value: double },
  ];
  const row = [
    null,
    true,
    -7,
    7n,
    -0,
    -5n,
    'é"\u2028',
    new Uint8Array([10, 255]),
    0,
    0n,
    0n,
    [["q", 1], null],
    [
      ["\u{1F600}", Number.NaN],
      ["\uFFFD", 1e21],
      ["b", 0.1],
    ],
  ];
  assert.equal(
    canonicalRow(types)(row),
    '[null,true,-7,"7",0,"-0.05","é\\"\u2028","0aff","1970-01-01","1970-01-01T00:00:00.000000Z","1970-01-01T00:00:00.000000",' +
      '[{"z":"q","a":1},null],[["b",0.1],["\uFFFD",1e+21],["\u{1F600}","NaN"]]]',
  );
});
