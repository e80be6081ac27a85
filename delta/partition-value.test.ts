import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import { parsePartitionValue, serializePartitionValue, type TypedValue } from "./partition-value.ts";
import type { PrimitiveType } from "./types.ts";

const MAX_SECONDS = 8_000_000_000n;
const byType: [PrimitiveType, fc.Arbitrary<TypedValue>][] = [
  ["string", fc.string({ unit: "grapheme", minLength: 1 })],
  ["long", fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  ["integer", fc.integer()],
  ["short", fc.integer({ min: -32768, max: 32767 })],
  ["byte", fc.integer({ min: -128, max: 127 })],
  ["double", fc.double()],
  ["float", fc.float()],
  ["boolean", fc.boolean()],
  ["date", fc.integer({ min: -700_000, max: 2_900_000 })],
  ["timestamp", fc.bigInt({ min: -MAX_SECONDS * 1_000_000n, max: MAX_SECONDS * 1_000_000n })],
  ["timestamp_ntz", fc.bigInt({ min: -MAX_SECONDS * 1_000_000n, max: MAX_SECONDS * 1_000_000n })],
  ["binary", fc.string({ unit: "grapheme", minLength: 1 }).map((text) => new Uint8Array(Buffer.from(text)))],
];

for (const [type, values] of byType) {
  test(`every ${type} comes back from its text`, () => {
    fc.assert(
      fc.property(values, (value) => {
        assert.deepEqual(parsePartitionValue(type, serializePartitionValue(type, value)), value);
      }),
    );
  });
}

test("values are written as the protocol says", () => {
  const cases: [PrimitiveType, TypedValue, string | null][] = [
    ["integer", 1, "1"],
    ["long", 9223372036854775807n, "9223372036854775807"],
    ["decimal(10,2)", "12", "12.00"],
    ["decimal(10,2)", "-0.5", "-0.50"],
    ["decimal(38,0)", "99999999999999999999999999999999999999", "99999999999999999999999999999999999999"],
    ["double", 1e10, "10000000000.0"],
    ["double", 1e-7, "1.0E-7"],
    ["double", Number.POSITIVE_INFINITY, "Infinity"],
    ["boolean", true, "true"],
    ["date", 19889, "2024-06-15"],
    ["date", -1, "1969-12-31"],
    ["timestamp", 1_686_832_200_000_001n, "2023-06-15T12:30:00.000001Z"],
    ["timestamp", -1n, "1969-12-31T23:59:59.999999Z"],
    ["timestamp_ntz", 1_686_832_200_000_000n, "2023-06-15 12:30:00.000000"],
    ["binary", new Uint8Array(), null],
    ["string", "", null],
    ["long", null, null],
  ];
  for (const [type, value, text] of cases)
    assert.equal(serializePartitionValue(type, value), text, `${type} ${value}`);
});

test("two spellings of one value are one value", () => {
  const cases: [PrimitiveType, string, string][] = [
    ["timestamp", "2023-06-15 12:30:00", "2023-06-15T12:30:00.000000Z"],
    ["timestamp", "2023-06-15T14:30:00+02:00", "2023-06-15 12:30:00.0"],
    ["timestamp", "2023-06-15 14:30:00+02", "2023-06-15 12:30:00+00"],
    ["integer", "01", "1"],
    ["long", "+7", "7"],
    ["double", "1.0E10", "10000000000"],
    ["double", "inf", "Infinity"],
    ["float", "-inf", "-Infinity"],
    ["decimal(5,2)", "1.5", "1.50"],
    ["decimal(5,2)", "15E-1", "1.500"],
    ["date", "2024-6-5", "2024-06-05"],
  ];
  for (const [type, one, other] of cases) {
    assert.deepEqual(parsePartitionValue(type, one), parsePartitionValue(type, other), `${type} ${one}`);
  }
});

test("the empty string is null for every type", () => {
  for (const [type] of byType) assert.equal(parsePartitionValue(type, ""), null);
});

test("text that is no value of its type is CORRUPT_LOG", () => {
  for (const [type, text] of [
    ["integer", "1.5"],
    ["boolean", "yes"],
    ["date", "2024-02-30"],
    ["timestamp", "noon"],
    ["double", "x"],
    ["decimal(5,2)", "1.234"],
  ] as const)
    assert.throws(
      () => parsePartitionValue(type, text),
      (error) => isLabError(error, "CORRUPT_LOG"),
      `${type} ${text}`,
    );
});

test("bytes that are not UTF-8 cannot be a partition value", () => {
  assert.throws(
    () => serializePartitionValue("binary", new Uint8Array([0xff])),
    (error) => isLabError(error, "SCHEMA_MISMATCH"),
  );
});
