import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { numberColumn } from "./number-column.ts";

test("every number comes back, also where a block ends, and after it was replaced", () => {
  const column = numberColumn();
  const count = 3 * 8192 + 1;
  for (let n = 0; n < count; n++) column.push(n);
  for (let n = 0; n < count; n += 7) column.set(n, -n);
  assert.equal(column.length, count);
  for (let n = 0; n < count; n++) assert.equal(column.get(n), n % 7 === 0 ? 0 - n : n);
});

const near = fc.integer({ min: -300, max: 300 });
const number = fc.oneof(
  near,
  near.map((n) => n + 1_700_000_000_000),
  near.map((n) => n * 2 ** 24),
  fc.maxSafeInteger(),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, 0.5, 2 ** 53, -(2 ** 31), 2 ** 31, 127, 128, -129),
);

test("whatever numbers come one after the other, and replace one another, the last word counts", () => {
  fc.assert(
    fc.property(
      fc.array(number, { minLength: 1, maxLength: 150 }),
      fc.array(fc.tuple(fc.nat(), number), { maxLength: 30 }),
      fc.constantFrom(0, 60, 100, 8150),
      (numbers, changes, start) => {
        const column = numberColumn();
        // Begins shortly before the end of a block, or as small as a column is at first.
        const expected = [...new Array<number>(start).fill(numbers[0]!), ...numbers];
        for (const value of expected) column.push(value);
        for (const [at, value] of changes) {
          const index = at % expected.length;
          column.set(index, value);
          expected[index] = value;
        }
        expected.forEach((value, at) => {
          assert.ok(Object.is(column.get(at), value), `${at}: ${column.get(at)} for ${value}`);
        });
      },
    ),
  );
});

test("what is no number stays so where a small first block grows", () => {
  const column = numberColumn();
  const numbers = [...new Array<number>(63).fill(1_700_000_000_000), Number.NaN, Number.NaN, 0];
  for (const value of numbers) column.push(value);
  numbers.forEach((value, at) => {
    assert.ok(Object.is(column.get(at), value), `${at}: ${column.get(at)} for ${value}`);
  });
});
