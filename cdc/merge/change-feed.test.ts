import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeTable, remove, truncate, upsert } from "../../test/support/merge-table.ts";
import { signal } from "../../test/support/upkeep-table.ts";

const COLUMNS = { id: "long", name: "string" } as const;

test("the change data feed tells what readers see: no marks, no changes of positions, old and new rows apart", async (t) => {
  const feed = { configuration: { "delta.enableChangeDataFeed": "true" } };
  const one = await mergeTable(t, { ...COLUMNS, p: "string" }, feed);
  const put = (id: number, name: string, at: number, p = "a") => upsert({ id, name, p }, { at });
  const told = async () =>
    (await one.changes((await one.snapshot()).version))
      .map((text) => JSON.parse(text))
      .map(({ id, name, p, _change_type }) => `${_change_type} ${id} ${name} ${p}`)
      .sort();
  await one.merge([put(1, "a", 1), put(2, "b", 2), put(3, "c", 3)]);
  assert.deepEqual(await told(), ["insert 1 a a", "insert 2 b a", "insert 3 c a"]);
  await one.merge([put(1, "A", 4, "b"), remove({ id: 2 }, { at: 5 }), put(3, "c", 6), put(4, "d", 7)]);
  const expected = ["delete 2 b a", "insert 4 d a", "update_postimage 1 A b", "update_preimage 1 a a"];
  assert.deepEqual(await told(), expected, "nothing of 3, whose values stayed");
  await one.merge([put(2, "back", 8), remove({ id: 9 }, { at: 9 })]);
  assert.deepEqual(await told(), ["insert 2 back a"]);
  await one.merge([put(4, "d", 10)]);
  assert.deepEqual(await told(), []);
  await one.merge([truncate({ at: 20 })]);
  assert.deepEqual(await told(), ["delete 1 A b", "delete 2 back a", "delete 3 c a", "delete 4 d a"]);
  await one.merge([upsert({ id: 5, name: "e" }, { at: 30, absent: ["p"] })]);
  await one.merge([put(5, "old", 25, "told late")]);
  assert.deepEqual(await told(), ["update_postimage 5 e told late", "update_preimage 5 e null"]);
});

test("a version whose changes no reader sees tells the feed so, by a file without rows", async (t) => {
  for (const partitionColumns of [[], ["name"]]) {
    const feed = { configuration: { "delta.enableChangeDataFeed": "true" }, partitionColumns };
    const one = await mergeTable(t, COLUMNS, feed);
    await one.merge([upsert({ id: 1, name: "a" }, { at: 1 })]);
    await one.merge([upsert({ id: 1, name: "a" }, { at: 2 }), remove({ id: 7 }, { at: 3 })]);
    const actions = await one.table.commitActions((await one.snapshot()).version, signal);
    assert.equal(actions.filter((action) => "cdc" in action).length, 1);
  }
});
