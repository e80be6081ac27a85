import assert from "node:assert/strict";
import { test } from "node:test";
import { fileBounds } from "./file-bounds.ts";

/** Statistics that are the bounds themselves, such as `3 5`. */
const boundsOf = (stats: string | undefined) => {
  const [min = Number.NaN, max = Number.NaN] = (stats ?? "").split(" ").map(Number);
  return { min, max };
};

function reading(texts: (string | undefined)[]) {
  const read: number[] = [];
  const bounds = fileBounds();
  return {
    read,
    reaching(key: string, low: number, high: number, rows = texts.length) {
      const all = Uint32Array.from({ length: rows }, (_, row) => row);
      const chosen = bounds.reaching({ key, boundsOf, low, high }, all, rows, (row) => {
        read.push(row);
        return texts[row];
      });
      return [...chosen];
    },
  };
}

test("a file reaches into a range unless its bounds say otherwise", () => {
  const { reaching } = reading(["1 3", "4 6", "7 9", undefined, "6 4", "-Infinity 2", "NaN 2"]);
  const unsure = [3, 4, 5, 6];
  assert.deepEqual(reaching("c", 3, 4), [0, 1, ...unsure]);
  assert.deepEqual(reaching("c", 3.5, 3.5), unsure);
  assert.deepEqual(reaching("c", 7, Number.POSITIVE_INFINITY), [2, ...unsure]);
  assert.deepEqual(reaching("c", Number.NEGATIVE_INFINITY, 0), unsure);
});

test("the statistics of a file are read once a column, those of files that are new as well", () => {
  const { reaching, read } = reading(["1 3", "4 6", "7 9"]);
  assert.deepEqual(reaching("c", 5, 5, 2), [1]);
  assert.deepEqual(reaching("c", 1, 1, 2), [0]);
  assert.deepEqual(read, [0, 1]);
  assert.deepEqual(reaching("c", 5, 8, 3), [1, 2]);
  assert.deepEqual(read, [0, 1, 2]);
  reaching("d", 5, 8, 3);
  assert.deepEqual(read, [0, 1, 2, 0, 1, 2]);
});

test("of many columns those are kept that were asked for last", () => {
  const { reaching, read } = reading(["1 3"]);
  for (const key of ["a", "b", "c", "d", "a", "e"]) reaching(key, 1, 1);
  assert.equal(read.length, 5);
  reaching("a", 1, 1);
  assert.equal(read.length, 5);
  reaching("b", 1, 1);
  assert.equal(read.length, 6);
});
