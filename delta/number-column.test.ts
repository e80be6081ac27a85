import assert from "node:assert/strict";
import { test } from "node:test";
import { numberColumn } from "./number-column.ts";

test("every number comes back, also where a block ends, and after it was replaced", () => {
  const column = numberColumn(Float64Array);
  const count = 3 * 8192 + 1;
  for (let n = 0; n < count; n++) column.push(n);
  for (let n = 0; n < count; n += 7) column.set(n, -n);
  assert.equal(column.length, count);
  for (let n = 0; n < count; n++) assert.equal(column.get(n), n % 7 === 0 ? -n : n);
});
