import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { percentile, percentiles } from "./percentiles.ts";

test("a percentile is a measured value that its share of all does not exceed, and no smaller value will do", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 300 }),
      (values) => {
        const found = percentiles(values);
        for (const [name, share] of [
          ["p50", 0.5],
          ["p99", 0.99],
          ["p999", 0.999],
          ["max", 1],
        ] as const) {
          const value = found[name];
          assert.equal(percentile(values, share), value);
          assert.ok(values.includes(value));
          const upTo = (limit: number) => values.filter((one) => one <= limit).length / values.length;
          assert.ok(upTo(value) >= share - 1e-9);
          const smaller = values.filter((one) => one < value);
          if (smaller.length > 0) assert.ok(upTo(Math.max(...smaller)) < share);
        }
      },
    ),
  );
});

test("of a thousand values p999 is the last but one", () => {
  const values = Array.from({ length: 1_000 }, (_, n) => n + 1);
  assert.deepEqual(percentiles(values), { p50: 500, p99: 990, p999: 999, max: 1_000 });
});

test("of twenty values 95 of 100 are within the last but one", () => {
  assert.equal(
    percentile(
      Array.from({ length: 20 }, (_, n) => 20 - n),
      0.95,
    ),
    19,
  );
});
