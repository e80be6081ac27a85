/** Small files are joined while batches go on. */

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { decodePath } from "../../delta/path.ts";
import {
  around,
  type MergeTable,
  many,
  mergeTable,
  none,
  remove,
  testMerger,
  truncate,
} from "../../test/support/merge-table.ts";
import { signal } from "../../test/support/upkeep-table.ts";
import { commitJoined, joinFiles, ripeFiles } from "./join-files.ts";

const COLUMNS = { id: "long", name: "string" } as const;

/** Of four files with rows that were replaced; no file is joined but by what a test does. */
async function worn(t: TestContext): Promise<MergeTable> {
  const one = await mergeTable(t, COLUMNS);
  for (let at = 1; at <= 4; at++) await one.merge(many(0, 40 - at, 100 * at));
  await one.merge(many(60, 90, 600));
  return one;
}

async function join(one: MergeTable) {
  const read = await one.snapshot();
  const bins = ripeFiles(read);
  assert.equal(bins.length, 1);
  const options = { scratchDir: `${one.tablePath}-scratch` };
  return { read, joined: await joinFiles(one.table, read, bins, options, signal) };
}

/** Data files and vectors in the folder that the version does not name, and that no version before did. */
async function strays({ table, tablePath, snapshot }: MergeTable): Promise<string[]> {
  const named = new Set<string>();
  for (let version = 0; version <= (await snapshot()).version; version++)
    for (const action of await table.commitActions(version, signal))
      if ("add" in action) named.add(decodePath(action.add.path));
  return (await readdir(tablePath)).filter((name) => name.endsWith(".parquet") && !named.has(name));
}

test("what batches do while files are joined is done to the joined file, and no row is changed by it", async (t) => {
  const one = await worn(t);
  const { joined } = await join(one);
  await one.merge([...many(0, 5, 1000), remove({ id: 20 }, { at: 1100 }), remove({ id: 70 }, { at: 1101 })]);
  await one.merge(many(62, 64, 1200));
  const before = await one.live();
  const done = await commitJoined(one.table, await one.snapshot(), joined, Date.now, signal);
  assert.ok(done);
  assert.deepEqual(await one.live(), before);
  const after = await one.snapshot();
  assert.equal(after.numFiles, 3);
  assert.equal(
    [...after.files()].find(({ path }) => path === joined[0]!.add!.path)?.deletionVector?.cardinality,
    9n,
  );
  // A merger that reads the table anew, and one that holds what it was.
  for (const merge of [around(one, await testMerger(t, one)).merge, one.merge]) {
    assert.deepEqual(await merge([...many(3, 12, 2000), remove({ id: 63 }, { at: 2100 })]), {
      ...none,
      updated: 9,
      ...(merge === one.merge ? { ignored: 1 } : { deleted: 1 }),
    });
  }
  assert.deepEqual(await strays(one), []);
});

test("files that others joined or emptied meanwhile are let alone, and what was made for them is removed", async (t) => {
  for (const meanwhile of ["truncate", "joined"]) {
    const one = await worn(t);
    const [first, second] = [await join(one), await join(one)];
    if (meanwhile === "truncate") await one.merge([truncate({ at: 5000 })]);
    else assert.ok(await commitJoined(one.table, second.read, second.joined, Date.now, signal));
    const before = await one.snapshot();
    // It rests on the version that it has read, as one does that is late.
    assert.equal(await commitJoined(one.table, first.read, first.joined, Date.now, signal), null);
    assert.equal((await one.snapshot()).version, before.version);
    const left = await strays(one);
    assert.ok(!left.includes(decodePath(first.joined[0]!.add!.path)));
  }
});

test("a joined file of which no row is left is not added", async (t) => {
  const one = await worn(t);
  const { joined } = await join(one);
  await one.merge([...many(0, 40, 1000), ...many(60, 90, 2000)]);
  const before = await one.live();
  await commitJoined(one.table, await one.snapshot(), joined, Date.now, signal);
  assert.deepEqual(await one.live(), before);
  assert.deepEqual(await strays(one), []);
});

test("a merger goes on with its index after files were joined beside it: rows are found where they are now", async (t) => {
  const one = await mergeTable(t, COLUMNS, { merger: { compactEvery: 2 } });
  const expected = new Map<number, string>();
  const until = Date.now() + 120_000;
  let joins = 0;
  for (let at = 1; joins < 4 || at < 30; at++) {
    assert.ok(Date.now() < until, `${joins} times joined after ${at} batches`);
    const from = (7 * at) % 50;
    assert.equal((await one.merge(many(from, from + 20, 1000 * at))).ignored, 0);
    for (let id = from; id < from + 20; id++) expected.set(id, `n${1000 * at}`);
    const version = (await one.snapshot()).version;
    for await (const { commitInfo } of one.table.history({ limit: 2, signal }))
      if (commitInfo?.operation === "OPTIMIZE") joins++;
    assert.ok(version >= at);
  }
  assert.deepEqual(
    await one.live(),
    [...expected]
      .map(([id, name]) => ({ id, name }))
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
  );
  await one.close();
  assert.deepEqual(await strays(one), []);
});
