import assert from "node:assert/strict";
import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { createTable } from "../../delta/create.ts";
import { decodePath } from "../../delta/path.ts";
import { memoryStore } from "../../delta/store/memory.ts";
import {
  around,
  many,
  mergeTable,
  none,
  remove,
  testMerger,
  upsert,
} from "../../test/support/merge-table.ts";
import { signal, testTable } from "../../test/support/upkeep-table.ts";
import { deleteRows } from "../../upkeep/delete.ts";
import { optimize } from "../../upkeep/optimize.ts";
import { restoreTable } from "../../upkeep/restore.ts";
import { updateRows } from "../../upkeep/update.ts";
import { openWorkbench } from "../../upkeep/workbench.ts";
import type { Change } from "../change.ts";
import { CDC_FIELD, keyedProperties } from "./cdc-field.ts";

const COLUMNS = { id: "long", name: "string" } as const;

test("a merger that starts finds what the one before it left, whoever wrote the files meanwhile", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  await one.merge(many(0, 20, 1));
  await one.merge(many(0, 5, 100));
  await optimize(one.table, { ...one, signal });
  await updateRows(one.table, { ...one, set: { name: "'by hand'" }, where: "id = 7", signal });
  await deleteRows(one.table, { ...one, where: "id = 8", signal });
  const other = around(one, await testMerger(t, one));
  for (const [who, at] of [
    [other, 1000],
    [one, 2000],
  ] as const) {
    const changes = [
      upsert({ id: 7, name: "x" }, { at }),
      upsert({ id: 8, name: "y" }, { at }),
      remove({ id: 9 }, { at }),
    ];
    const counts = await who.merge(changes);
    assert.equal(counts.inserted + counts.updated + counts.deleted, at === 1000 ? 3 : 2);
    assert.equal((await one.live()).length, 19);
  }
});

test("what others mark as gone in a file is followed without reading the file again", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  await one.merge(many(0, 50, 1));
  const [file] = [...(await one.snapshot()).files()];
  const other = around(one, await testMerger(t, one));
  await other.merge([upsert({ id: 3, name: "theirs" }, { at: 100 }), remove({ id: 4 }, { at: 101 })]);
  const path = join(one.tablePath, decodePath(file!.path));
  await rename(path, `${path}.away`);
  const counts = await one.merge([
    upsert({ id: 3, name: "late" }, { at: 50 }),
    upsert({ id: 4, name: "late" }, { at: 51 }),
    upsert({ id: 5, name: "mine" }, { at: 102 }),
  ]);
  await rename(`${path}.away`, path);
  assert.deepEqual(counts, { ...none, updated: 1, ignored: 2 });
  assert.equal((await one.live()).length, 49);
});

test("rows that a restore brings back are met again", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  await one.merge(many(0, 10, 1));
  const { version } = await one.snapshot();
  await deleteRows(one.table, { ...one, where: "id < 5", signal });
  assert.deepEqual(await one.merge(many(0, 1, 50)), { ...none, inserted: 1 });
  await restoreTable(one.table, { to: { version } }, signal);
  assert.deepEqual(await one.merge(many(0, 10, 100)), { ...none, updated: 10 });
  assert.equal((await one.live()).length, 10);
});

const RUNS = Number(process.env.LAB_PROPERTY_RUNS ?? 6);

test("workers that take turns on one table leave what their changes come to, whoever is first", (t) => {
  const change = fc.record({ id: fc.integer({ min: 0, max: 9 }), isDelete: fc.boolean() });
  const turn = fc.record({ who: fc.nat(2), changes: fc.array(change, { minLength: 1, maxLength: 6 }) });
  return fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 2, maxLength: 14 }), async (turns) => {
      const one = await mergeTable(t, COLUMNS, { merger: { compactEvery: 4 } });
      const workers = [one, around(one, await testMerger(t, one)), around(one, await testMerger(t, one))];
      const held = new Map<number, string>();
      let at = 1;
      for (const { who, changes } of turns)
        await workers[who]!.merge(
          changes.map(({ id, isDelete }) => {
            const name = `n${at}`;
            if (isDelete) held.delete(id);
            else held.set(id, name);
            return isDelete ? remove({ id }, { at: at++ }) : upsert({ id, name }, { at: at++ });
          }),
        );
      const expected = [...held].sort(([a], [b]) => a - b).map(([id, name]) => ({ id, name }));
      assert.deepEqual(await one.live(), expected);
      await one.close();
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});

test("rows and positions are one commit, and a position that another moved is a conflict", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  const txns = [{ appId: "lab/c-0", version: 5n }];
  await one.merge([upsert({ id: 1, name: "a" }, { at: 1 })], { txns });
  const before = await one.snapshot();
  assert.equal(before.txn("lab/c-0"), 5n);
  const other = await testMerger(t, one);
  const folded = {
    changes: [upsert({ id: 1, name: "b" }, { at: 2 })],
    truncates: [],
    moved: [],
    folded: 0,
    uncertain: 0,
  };
  const request = {
    ...{
      table: one.table,
      snapshot: before,
      folded,
      schema: before.schema,
      keyColumns: ["id"],
      readTxns: [],
    },
    ...{ txns: [{ appId: "lab/c-0", version: 6n }], lab: () => ({}), signal },
  };
  assert.equal((await other.apply(request)).kind, "committed");
  const late = await one.merger.apply(request);
  assert.deepEqual(late.kind === "conflict" && late.reason, "txn");
  assert.deepEqual(await one.live(), [{ id: 1, name: "b" }]);
});

test("of two mergers at once each sees what the other wrote: no key is there twice, and no file is left behind", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  const other = around(one, await testMerger(t, one));
  for (let round = 0; round < 4; round++) {
    const at = 1000 * round;
    await Promise.all([one.merge(many(0, 30, at)), other.merge(many(10, 40, at + 500))]);
  }
  const names = (await one.live()).map(({ id, name }) => `${id}:${name}`);
  const expected = Array.from({ length: 40 }, (_, id) => `${id}:${id < 10 ? "n3000" : "n3500"}`);
  assert.deepEqual(names.sort(), expected.sort());
  const known = new Set<string>();
  for (let version = 0; version <= (await one.snapshot()).version; version++)
    for (const action of await one.table.commitActions(version, signal))
      if ("add" in action) known.add(action.add.path);
  const there = (await readdir(one.tablePath)).filter((name) => name.endsWith(".parquet"));
  assert.deepEqual(
    there.filter((name) => !known.has(name)),
    [],
  );
});

test("workers whose keys are in different partitions do not wait for each other, others decide again", async (t) => {
  const key = ["p", "id"];
  const one = await mergeTable(t, { p: "string", ...COLUMNS }, { partitionColumns: ["p"], keyColumns: key });
  const put = (p: string, id: number, at: number) => upsert({ p, id, name: `${at}` }, { at, key });
  await one.merge([put("a", 1, 1), put("b", 1, 2)]);
  const [snapshot, other] = [await one.snapshot(), await testMerger(t, one)];
  const request = (change: Change, n: number) => ({
    ...{ table: one.table, snapshot, schema: snapshot.schema, keyColumns: key, readTxns: [], signal },
    ...{ folded: { changes: [change], truncates: [], moved: [], folded: 0, uncertain: 0 }, lab: () => ({}) },
    txns: [{ appId: `lab/c-${n}`, version: 1n }],
  });
  for (const [n, change] of [put("a", 1, 10), put("b", 1, 11), put("b", 1, 12)].entries()) {
    const result = await other.apply(request(change, n));
    assert.equal(result.kind, "committed");
  }
  const readVersions = [];
  for await (const { commitInfo } of one.table.history({ limit: 3, signal }))
    readVersions.push(commitInfo?.readVersion);
  assert.deepEqual(readVersions, [snapshot.version + 2, snapshot.version, snapshot.version]);
  assert.deepEqual(
    (await one.live()).map(({ p, name }) => `${p}${name}`),
    ["a10", "b12"],
  );
});

test("a merge and an optimize at once both get through, whoever is first", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  for (let i = 0; i < 6; i++) await one.merge(many(10 * i, 10 * i + 10, 1));
  for (let round = 1; round <= 4; round++) {
    const [counts] = await Promise.all([
      one.merge(many(0, 60, 1000 * round)),
      optimize(one.table, { ...one, signal }),
    ]);
    assert.deepEqual(counts, { ...none, updated: 60 });
    await one.merge(many(5 * round, 5 * round + 5, 1000 * round + 500));
  }
  assert.equal((await one.live()).length, 60);
  await optimize(one.table, { ...one, signal });
  const after = await one.snapshot();
  assert.deepEqual([after.numFiles, after.liveRows()], [1, 60n]);
});

test("small files are joined by the merger itself, and it goes on from what came of it", async (t) => {
  const one = await mergeTable(t, COLUMNS, { merger: { compactEvery: 4 } });
  for (let i = 0; i < 13; i++) await one.merge(many(0, 20, 1000 * i));
  assert.ok((await one.snapshot()).numFiles <= 5);
  const names = new Set((await one.live()).map(({ name }) => name));
  assert.deepEqual([...names], ["n12000"]);
});

test("a table in a store that is no folder is merged into alike, through files that are fetched", async (t) => {
  const near = await testTable(t, COLUMNS);
  const store = memoryStore();
  const schema = { type: "struct", fields: [...(await near.snapshot()).schema.fields, CDC_FIELD] } as const;
  const configuration = keyedProperties(["id"], { deletes: "hidden" });
  const table = await createTable(store, { schema, configuration }, signal);
  const one = around({ ...near, table }, await testMerger(t, near, { compactEvery: 3 }));
  for (let i = 0; i < 4; i++) await one.merge(many(0, 10, 100 * i));
  const again = around({ ...near, table }, await testMerger(t, near));
  const part = upsert({ id: 3 }, { at: 900, absent: ["name"] });
  assert.deepEqual(await again.merge([part, remove({ id: 4 }, { at: 901 })]), {
    ...none,
    updated: 1,
    deleted: 1,
  });
  const bench = await openWorkbench(table, near);
  t.after(() => bench.close());
  const last = await table.latest(signal);
  await bench.view("t", last, [...last.files()], signal);
  const rows = await bench.engine.rows(
    "SELECT id, name FROM t WHERE NOT coalesce(_cdc.deleted, false) ORDER BY id",
  );
  assert.deepEqual(
    rows.map(({ id, name }) => [Number(id), name]),
    [0, 1, 2, 3, 5, 6, 7, 8, 9].map((id) => [id, "n300"]),
  );
});
