import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeTable, remove, upsert } from "../../test/support/merge-table.ts";

const COLUMNS = { id: "long", name: "string" } as const;

test("rows are inserted, replaced and deleted by their key, and older changes change nothing", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  assert.deepEqual(
    await one.merge([upsert({ id: 1, name: "a" }, { at: 1 }), upsert({ id: 2, name: "b" }, { at: 2 })]),
    {
      ...{ inserted: 2, updated: 0, deleted: 0, ignored: 0, folded: 0 },
    },
  );
  assert.deepEqual(
    await one.merge([
      upsert({ id: 1, name: "A" }, { at: 5 }),
      remove({ id: 2 }, { at: 6 }),
      upsert({ id: 3, name: "c" }, { at: 7 }),
    ]),
    { inserted: 1, updated: 1, deleted: 1, ignored: 0, folded: 0 },
  );
  assert.deepEqual(await one.live(), [
    { id: 1, name: "A" },
    { id: 3, name: "c" },
  ]);
  assert.deepEqual(
    await one.merge([upsert({ id: 1, name: "old" }, { at: 4 }), upsert({ id: 2, name: "old" }, { at: 3 })]),
    {
      ...{ inserted: 0, updated: 0, deleted: 0, ignored: 2, folded: 0 },
    },
  );
  assert.deepEqual(await one.live(), [
    { id: 1, name: "A" },
    { id: 3, name: "c" },
  ]);
});
