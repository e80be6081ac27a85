import assert from "node:assert/strict";
import { test } from "node:test";
import { batchesOf } from "./merge-scale.ts";
import { customerBatches, expectedTotals } from "./merge-table.ts";

const options = { rows: 500, batches: 6, size: 100, seed: 3 };

test("batches are what their seed says, of different keys each, later changes behind earlier ones", () => {
  const batches = customerBatches(options);
  assert.deepEqual(batches, customerBatches(options));
  assert.notDeepEqual(batches, customerBatches({ ...options, seed: 4 }));
  for (const batch of batches) assert.equal(new Set(batch.map(({ id }) => id)).size, 100);
  const order = batches.flat().map(({ at }) => at);
  assert.deepEqual(
    order,
    [...order].sort((a, b) => a - b),
  );
  assert.deepEqual(new Set(batches.flat().map(({ kind }) => kind)), new Set(["upsert", "delete"]));
});

test("workers have all changes of a history between them, each key with one worker, in their order", () => {
  const all = customerBatches(options).flat();
  const parts = [0, 1, 2, 3].map((worker) =>
    batchesOf({ rows: 500, batches: 6, changes: 100, seed: 3, worker, workers: 4 }).flat(),
  );
  assert.deepEqual(
    parts.flat().sort((a, b) => a.at - b.at),
    all,
  );
  const owners = parts.map((part) => new Set(part.map(({ id }) => id)));
  assert.equal(
    owners.reduce((sum, ids) => sum + ids.size, 0),
    new Set(all.map(({ id }) => id)).size,
  );
  for (const part of parts)
    assert.deepEqual(
      part,
      part.toSorted((a, b) => a.at - b.at),
    );
});

test("what a table comes to is what its rows do, changed one by one", () => {
  const batches = customerBatches(options);
  const balances = new Map(Array.from({ length: options.rows }, (_, id) => [id, (id % 1000) / 4]));
  for (const { id, kind, balance } of batches.flat())
    if (kind === "delete") balances.delete(id);
    else balances.set(id, balance);
  const balance = [...balances.values()].reduce((sum, one) => sum + one, 0);
  assert.deepEqual(expectedTotals(options.rows, batches), { rows: balances.size, balance });
});
