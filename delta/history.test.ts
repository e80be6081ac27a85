import assert from "node:assert/strict";
import { test } from "node:test";
import type { Action } from "./actions.ts";
import { createTable } from "./create.ts";
import { historyEntry } from "./history.ts";
import { commitPath } from "./log-names.ts";
import { memoryStore } from "./store/memory.ts";
import { collect, commit, file, removal, schema, signal } from "./table.fixture.ts";

async function longTable(versions: number) {
  const store = memoryStore();
  const table = await createTable(store, { schema }, signal);
  for (let n = 1; n <= versions; n++)
    await commit(table, { adds: [file(`f${n}`, { stats: `{"numRecords":${n}}` })] });
  return { store, table };
}

test("history is newest first, whole or in part", async () => {
  const { store, table } = await longTable(70);
  const versions = async (options: { after?: number; limit?: number }) =>
    (await collect(table.history({ ...options, signal }))).map((entry) => entry.version);
  assert.deepEqual(
    await versions({}),
    Array.from({ length: 71 }, (_, at) => 70 - at),
  );
  assert.deepEqual(await versions({ limit: 3 }), [70, 69, 68]);
  assert.deepEqual(await versions({ after: 67 }), [70, 69, 68]);
  assert.deepEqual(await versions({ after: 60, limit: 2 }), [70, 69]);
  assert.deepEqual(await versions({ after: 70 }), []);
  assert.deepEqual(await versions({ limit: 0 }), []);
  for (let version = 0; version < 68; version++) await store.delete(commitPath(version), signal);
  assert.deepEqual(await versions({}), [70, 69, 68]);
});

const entry = (...actions: Action[]) => {
  const { rowsAdded, rowsRemoved, filesAdded, filesRemoved, operation } = historyEntry(1, actions, 5);
  return { rowsAdded, rowsRemoved, filesAdded, filesRemoved, operation };
};

test("rows are counted from statistics, and are unknown where one file does not say", () => {
  const counted = { add: file("a", { stats: '{"numRecords":9007199254740993}' }) };
  assert.deepEqual(
    entry({ commitInfo: { operation: "WRITE" } }, counted, { add: file("b", { stats: '{"numRecords":2}' }) }),
    {
      rowsAdded: 9007199254740995n,
      rowsRemoved: 0n,
      filesAdded: 2,
      filesRemoved: 0,
      operation: "WRITE",
    },
  );
  assert.equal(entry(counted, { add: file("b") }).rowsAdded, undefined);
  assert.equal(entry(counted).operation, "UNKNOWN");
});

test("files that were only rewritten bring no rows; removed rows are known from metrics alone", () => {
  const rewritten = entry(
    { remove: removal("a", { dataChange: false }) },
    { add: file("b", { dataChange: false, stats: '{"numRecords":2}' }) },
  );
  assert.deepEqual([rewritten.rowsAdded, rewritten.rowsRemoved], [0n, 0n]);
  assert.equal(entry({ remove: removal("a") }).rowsRemoved, undefined);
  assert.equal(
    entry({ commitInfo: { operationMetrics: { numDeletedRows: "7" } } }, { remove: removal("a") })
      .rowsRemoved,
    7n,
  );
});

test("bytes are summed both ways, unknown where a removal does not say; the duration is as writers call it", () => {
  const both = historyEntry(
    1,
    [
      { commitInfo: { operationMetrics: { executionTimeMs: "84" } } },
      { add: file("a", { size: 5 }) },
      { add: file("b", { size: 7 }) },
      { remove: removal("c", { size: 9 }) },
    ],
    5,
  );
  assert.deepEqual([both.bytesAdded, both.bytesRemoved, both.durationMs], [12, 9, 84]);
  const { path, dataChange } = removal("c");
  const other = historyEntry(
    1,
    [{ commitInfo: { operationMetrics: { execution_time_ms: 3 } } }, { remove: { path, dataChange } }],
    5,
  );
  assert.deepEqual([other.bytesAdded, other.bytesRemoved, other.durationMs], [0, undefined, 3]);
  assert.equal(historyEntry(1, [], 5).durationMs, undefined);
  assert.equal(historyEntry(1, [], 5).hasMetadata, false);
});

test("rows that a deletion vector took out are those it has more than the one before, whatever the writer counted", () => {
  const vector = (cardinality: bigint) =>
    ({ storageType: "u", pathOrInlineDv: "x", sizeInBytes: 1, cardinality }) as const;
  const info = { operationMetrics: { numTargetRowsUpdated: "1", numTargetRowsDeleted: "1" } };
  const marked = historyEntry(
    1,
    [
      { commitInfo: info },
      { remove: removal("a", { size: 1000, deletionVector: vector(3n) }) },
      { add: file("a", { size: 1000, deletionVector: vector(8n) }) },
    ],
    5,
  );
  assert.equal(marked.rowsRemoved, 5n);
});

test("a file that only lost rows to a deletion vector brings neither rows nor bytes", () => {
  const deletionVector = { storageType: "u", pathOrInlineDv: "x", sizeInBytes: 1, cardinality: 2n } as const;
  const info = { operationMetrics: { numTargetRowsUpdated: "2", numTargetRowsDeleted: "0" } };
  const marked = historyEntry(
    1,
    [
      { commitInfo: info },
      { remove: removal("a", { size: 1000 }) },
      { add: file("a", { size: 1000, stats: '{"numRecords":100}', deletionVector }) },
      { add: file("b", { size: 30, stats: '{"numRecords":2}' }) },
    ],
    5,
  );
  assert.deepEqual([marked.rowsAdded, marked.rowsRemoved], [2n, 2n]);
  assert.deepEqual([marked.bytesAdded, marked.bytesRemoved], [30, 0]);
});
