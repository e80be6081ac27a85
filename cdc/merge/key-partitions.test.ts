/** Tables whose partitions tell which keys can be in them: other workers' partitions are let alone. */

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { decodePath } from "../../delta/path.ts";
import { parsePartitioning } from "../../engine/partitioning.ts";
import {
  around,
  type MergeTable,
  mergeTable,
  none,
  remove,
  testMerger,
  truncate,
  upsert,
} from "../../test/support/merge-table.ts";
import type { Change, Truncate } from "../change.ts";
import { hasPlainPartitions, isPartedByKey } from "./key-partitions.ts";

const COLUMNS = { p: "string", id: "long", name: "string" } as const;
const KEY = ["p", "id"];

const put = (p: string, id: number, at: number) => upsert({ p, id, name: `n${at}` }, { at, key: KEY });

const parted = (t: TestContext, merger = {}) =>
  mergeTable(t, COLUMNS, { partitionColumns: ["p"], keyColumns: KEY, merger });

async function loseFilesOf(one: MergeTable, p: string): Promise<void> {
  for (const { path, partitionValues } of (await one.snapshot()).files())
    if (partitionValues.p === p) await rm(join(one.tablePath, decodePath(path)));
}

test("files of partitions that no batch has a key of are not read, until all rows count", async (t) => {
  for (const indexBytes of [2 ** 30, 0]) {
    const one = await parted(t);
    await one.merge([put("a", 1, 1), put("b", 1, 2)]);
    const own = around(one, await testMerger(t, one, { indexBytes }), KEY);
    assert.deepEqual(await own.merge([put("a", 1, 10), put("a", 2, 11)]), {
      ...none,
      inserted: 1,
      updated: 1,
    });
    await loseFilesOf(one, "b");
    assert.deepEqual(await own.merge([put("c", 1, 12)]), { ...none, inserted: 1 });
    assert.deepEqual(await own.merge([put("a", 2, 13)]), { ...none, updated: 1 });
    await assert.rejects(own.apply([put("b", 1, 20)]), { code: "DATA_FILE_MISSING" });
    await assert.rejects(own.apply([truncate({ at: 30 })]), { code: "DATA_FILE_MISSING" });
  }
});

test("only partitions that follow from the key tell which keys they hold, and only texts of one form", () => {
  const { derived } = parsePartitioning(["bucket(4,id)"]);
  const table = (partitionColumns: string[], more: Record<string, string> = {}) => ({
    partitionColumns,
    schema: {
      type: "struct" as const,
      fields: [
        ...Object.entries({ ...COLUMNS, day: "date", x: "double", at: "timestamp", ...more }).map(
          ([name, type]) => ({ name, type: type as never, nullable: true, metadata: {} }),
        ),
        {
          ...{ name: derived[0]!.column, type: "integer" as const, nullable: true },
          metadata: { "lab.derived": "bucket(4,id)" },
        },
      ],
    },
  });
  const told = (columns: string[], key: string[]) => [
    isPartedByKey(table(columns), key),
    hasPlainPartitions(table(columns) as never, key),
  ];
  assert.deepEqual(told(["p"], ["p", "id"]), [true, true]);
  assert.deepEqual(told(["id_bucket"], ["id"]), [true, true]);
  assert.deepEqual(told(["id_bucket", "day"], ["id", "day"]), [true, true]);
  assert.deepEqual(told(["x"], ["x"]), [true, false]);
  assert.deepEqual(told(["at"], ["at", "id"]), [true, false]);
  assert.deepEqual(told(["p"], ["id"]), [false, false]);
  assert.deepEqual(told(["id_bucket"], ["p"]), [false, false]);
  assert.deepEqual(told([], ["id"]), [false, false]);
});

const RUNS = Number(process.env.LAB_PROPERTY_RUNS ?? 6);

test("workers that each know a part of the table, and are started anew, come to what the history says", (t) => {
  const change = fc.record({
    kind: fc.constantFrom("upsert", "upsert", "upsert", "delete", "truncate"),
    p: fc.constantFrom("a", "b", "007", "it's"),
    id: fc.integer({ min: 1, max: 3 }),
  });
  const batches = fc.array(
    fc.record({
      worker: fc.nat(1),
      isNew: fc.boolean(),
      changes: fc.array(change, { minLength: 1, maxLength: 5 }),
    }),
    { minLength: 2, maxLength: 8 },
  );
  return fc.assert(
    fc.asyncProperty(batches, async (history) => {
      const one = await parted(t, { compactEvery: 3 });
      const workers = [one, one] as Pick<MergeTable, "merge">[];
      const rows = new Map<string, string>();
      let at = 0;
      for (const { worker, isNew, changes } of history) {
        if (isNew) workers[worker] = around(one, await testMerger(t, one, { compactEvery: 3 }), KEY);
        const batch = changes.map(({ kind, p, id }): Change | Truncate => {
          at++;
          if (kind === "truncate") rows.clear();
          else if (kind === "delete") rows.delete(`${p}/${id}`);
          else rows.set(`${p}/${id}`, `n${at}`);
          if (kind === "truncate") return truncate({ at });
          return kind === "delete" ? remove({ p, id }, { at }) : put(p, id, at);
        });
        await workers[worker]!.merge(batch);
        const live = (await one.live()).map(({ p, id, name }) => [`${p}/${id}`, name]);
        assert.deepEqual(Object.fromEntries(live), Object.fromEntries(rows));
      }
      await one.close();
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});
