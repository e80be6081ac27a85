import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Add } from "../delta/actions.ts";
import type { CommitRequest } from "../delta/table.ts";
import { tombstoneOf } from "../delta/tombstone.ts";
import type { DataType } from "../delta/types.ts";
import { sqlTable, structOf } from "../test/support/sql-table.ts";
import { diffDocument, diffVersions } from "./diff.ts";
import { openQuery } from "./query.ts";

const { signal } = new AbortController();

async function table(t: TestContext, columns: Record<string, DataType>, partitionColumns: string[] = []) {
  const folder = await mkdtemp(join(tmpdir(), "diff-"));
  t.after(() => rm(folder, { recursive: true }));
  const made = await sqlTable(join(folder, "t"), columns, { partitionColumns });
  const query = openQuery({ store: folder });
  t.after(() => query.close());
  return {
    ...made,
    async commit(request: Partial<CommitRequest>) {
      const readSnapshot = await made.table.latest(signal);
      const result = await made.table.commit({ readSnapshot, operation: "TEST", ...request }, signal);
      assert.equal(result.kind, "committed");
    },
    async diff(from: number, to: number) {
      const named = await query.catalog.open("t", signal);
      return diffDocument(await diffVersions(query.context, named, { from, to, maxRows: 100, signal }));
    },
  };
}

const ids = (...values: number[]) => `SELECT unnest([${values}])::BIGINT AS id`;

test("across a compaction only rows that changed differ, whatever files they moved to", async (t) => {
  const { append, commit, diff } = await table(t, { id: "long" });
  const parts: Add[] = [];
  for (const select of [ids(1, 2), ids(3, 4)]) parts.push((await append({ select }))!);
  // All rows again in one file, in a version of its own, and then as a rewrite that changes no data.
  const whole = (await append({ select: ids(4, 3, 2, 1) }))!;
  await commit({ removes: [tombstoneOf(whole, { nowMs: 1, dataChange: true })] });
  await commit({
    removes: parts.map((add) => tombstoneOf(add, { nowMs: 1, dataChange: false })),
    adds: [{ ...whole, dataChange: false }],
  });
  await append({ select: ids(5) });
  const compaction = await diff(4, 5);
  assert.deepEqual(
    [compaction.rowsAdded, compaction.rowsRemoved, compaction.filesAdded, compaction.filesRemoved],
    ["0", "0", 1, 2],
  );
  const across = await diff(2, 6);
  assert.deepEqual([across.added, across.rowsRemoved], [[["5"]], "0"]);
});

test("rows that a deletion vector takes out are rows removed, and come back with it", async (t) => {
  const { append, commit, diff } = await table(t, { id: "long" });
  const features = ["deletionVectors"];
  const add = (await append({ select: ids(10, 11, 12, 13, 14, 15, 16) }))!;
  await commit({
    protocol: {
      minReaderVersion: 3,
      minWriterVersion: 7,
      readerFeatures: features,
      writerFeatures: features,
    },
  });
  // Takes out rows 0, 1, 4 and 5.
  const deletionVector = {
    storageType: "i" as const,
    pathOrInlineDv: "^Bg9^0rr910000000000iXQKl0rr91000935c8Xg000311onP9",
    sizeInBytes: 40,
    cardinality: 4n,
  };
  const stats = JSON.stringify({ numRecords: 7, tightBounds: false });
  const struck = { ...add, deletionVector, stats };
  await commit({ removes: [tombstoneOf(add, { nowMs: 1, dataChange: true })], adds: [struck] });
  await commit({ removes: [tombstoneOf(struck, { nowMs: 1, dataChange: true })], adds: [add] });
  const gone = await diff(2, 3);
  assert.deepEqual([gone.rowsAdded, gone.removed.flat().sort()], ["0", ["10", "11", "14", "15"]]);
  assert.deepEqual([(await diff(3, 4)).rowsAdded, (await diff(2, 4)).rowsAdded], ["4", "0"]);
});

test("a table that was partitioned anew is compared by values, wherever they stand", async (t) => {
  const { append, commit, diff, table: made } = await table(t, { id: "long", city: "string" }, ["city"]);
  const old = (await append({ select: ids(1, 2), partitionValues: { city: "Rome" } }))!;
  const { metadata } = await made.latest(signal);
  await commit({
    metadata: {
      ...metadata,
      partitionColumns: [],
      schemaString: JSON.stringify(structOf({ id: "long", city: "string" })),
    },
    removes: [tombstoneOf(old, { nowMs: 1, dataChange: true })],
    reads: "table",
  });
  await append({ select: "SELECT unnest([1, 3])::BIGINT AS id, 'Rome' AS city" });
  const forwards = await diff(1, 3);
  assert.deepEqual([forwards.added, forwards.removed], [[["3", "Rome"]], [["2", "Rome"]]]);
  const backwards = await diff(3, 1);
  assert.deepEqual([backwards.added, backwards.removed], [[["2", "Rome"]], [["3", "Rome"]]]);
});
