import assert from "node:assert/strict";
import { test } from "node:test";
import { progressOf } from "./progress.ts";

/** A version whose transactions are these. */
const version = (txns: Record<string, bigint>) => ({
  txns: () => new Map(Object.entries(txns).map(([appId, version]) => [appId, { appId, version }])),
});

const marks = new Map([
  [0, { low: 0n, high: 10n }],
  [1, { low: 7n, high: 9n }],
]);
const at = (partition: number, nextOffset: bigint) => ({ topic: "t", partition, nextOffset });

test("what is not settled is lag while it is in the topic, and gone where retention took it", () => {
  assert.deepEqual(progressOf("t", marks, null), { lag: 12, gone: 7, waiting: [at(0, 0n), at(1, 7n)] });
  assert.deepEqual(progressOf("t", marks, version({ "lab/t-0": 9n, "lab/t-1": 4n })), {
    ...{ lag: 2, gone: 2, waiting: [at(1, 7n)] },
  });
  assert.deepEqual(progressOf("t", marks, version({ "lab/t-0": 9n, "lab/t-1": 8n })), {
    ...{ lag: 0, gone: 0, waiting: [] },
  });
});

test("positions count whoever wrote them, and those of another topic do not", () => {
  assert.equal(progressOf("t", marks, version({ "kdi-0": 9n, "kdi-1": 8n })).lag, 0);
  assert.equal(progressOf("t", marks, version({ "lab/t-0": 4n, "other/u-1": 8n })).lag, 7);
});
