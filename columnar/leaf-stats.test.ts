import assert from "node:assert/strict";
import { test } from "node:test";
import { extremesOf, typedValue } from "./leaf-stats.ts";
import type { Leaf, LeafValues } from "./leaf-vector.ts";
import { field, struct } from "./parquet-values.fixture.ts";
import { type Value, vectorsOf } from "./parquet-vectors.fixture.ts";

/** The leaf and the values of a column `x`. */
function columnOf(
  type: Parameters<typeof field>[1],
  values: readonly Value[],
): { leaf: Leaf; values: LeafValues } {
  const [vector] = vectorsOf(
    struct(field("x", type)),
    values.map((x) => ({ x })),
  ).vectors;
  return vector!;
}

test("a float is said in the digits that DuckDB says it in", () => {
  const said: [number, number][] = [
    [0.1, 0.1],
    [123456792, 123456790],
    [2147483648, 2147483600],
    // Half way to another float in fewer digits, and half way between two that are as short.
    [79628784, 79628784],
    [1603725.25, 1603725.25],
    [129999355904, 129999355904],
    [1e-45, 1e-45],
    [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY],
  ];
  for (const [value, expected] of said) {
    const { leaf, values } = columnOf("float", [value]);
    assert.equal(typedValue(leaf, values, 0), expected);
    assert.equal(Math.fround(expected), Math.fround(value));
  }
});

test("least and largest are found by the order of each type, among all values or the listed ones", () => {
  const cases: [Parameters<typeof field>[1], Value[], least: number, largest: number][] = [
    ["boolean", [true, false], 1, 0],
    ["integer", [0, -1, 5], 1, 2],
    ["long", [0n, -1n, 2n ** 40n, 2n ** 31n, -(2n ** 40n)], 4, 2],
    ["double", [1, Number.NaN, -1], 2, 0],
    ["string", ["b", "a\u{10000}", "a\uffff", "b\0", "", "ab"], 4, 3],
    ["string", ["abcd\u{10000}", "abcd\uffff"], 1, 0],
    [
      "binary",
      [new Uint8Array([128]), new Uint8Array([127, 0, 0, 0, 1]), new Uint8Array([127, 0, 0, 0])],
      2,
      0,
    ],
    ["decimal(38,0)", [1n, -1n, 10n ** 37n, -(10n ** 37n)], 3, 2],
  ];
  for (const [type, given, least, largest] of cases) {
    const { values } = columnOf(type, given);
    const { min, max } = extremesOf(values, 0, given.length);
    assert.deepEqual([min, max], [least, largest], `${type} of ${given.join(", ")}`);
    const backwards = Array.from(given, (_, i) => given.length - 1 - i);
    const listed = extremesOf(values, 0, given.length, backwards);
    assert.deepEqual([listed.min, listed.max], [least, largest]);
  }
  const { values } = columnOf("double", [Number.NaN, Number.NaN]);
  assert.deepEqual(extremesOf(values, 0, 2), { min: -1, max: -1, hasNaN: true });
  assert.deepEqual(extremesOf(values, 1, 1), { min: -1, max: -1, hasNaN: false });
});
