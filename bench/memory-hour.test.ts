import assert from "node:assert/strict";
import { test } from "node:test";
import { thinned } from "./memory-hour.ts";

test("few samples stand for many, and the most of all is among them", () => {
  const samples = Array.from({ length: 1_003 }, (_, n) => ({
    atSeconds: n / 5,
    bytes: n === 777 ? 5_000 : n,
  }));
  const few = thinned(samples, 100);
  assert.ok(few.length <= 100 && few.length > 80);
  assert.deepEqual(
    few.filter(({ bytes }) => bytes === 5_000),
    [{ atSeconds: 155.4, bytes: 5_000 }],
  );
  assert.deepEqual(
    few.map(({ atSeconds }) => atSeconds),
    few.map(({ atSeconds }) => atSeconds).sort((a, b) => a - b),
  );
  assert.deepEqual(thinned([], 100), []);
  assert.deepEqual(thinned([{ atSeconds: 1, bytes: 2 }], 100), [{ atSeconds: 1, bytes: 2 }]);
});
