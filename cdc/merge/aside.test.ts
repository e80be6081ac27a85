/** Deleted keys in a table of their own: readers of the other one see rows that are there, and no others. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { openTable } from "../../delta/open.ts";
import { localStore } from "../../delta/store/local.ts";
import type { Snapshot } from "../../delta/table.ts";
import {
  around,
  demandName,
  type MergeTable,
  mergeTable,
  none,
  remove,
  testMerger,
  truncate,
  upsert,
} from "../../test/support/merge-table.ts";
import { signal } from "../../test/support/upkeep-table.ts";
import type { Change } from "../change.ts";

const COLUMNS = { id: "long", name: "string", v: "long" } as const;
const ASIDE = { "lab.cdc.deletes": "aside" };

const tableOf = (t: TestContext, configuration: Record<string, string> = {}) =>
  mergeTable(t, COLUMNS, { configuration: { ...ASIDE, ...configuration } });

const besides = async ({ folder }: MergeTable): Promise<Snapshot> =>
  (await openTable(localStore(join(folder, "table__deletes")), signal)).latest(signal);

const row = (id: number, at: number) => upsert({ id, name: `n${at}`, v: at }, { at });
const ids = async (one: MergeTable) =>
  (await one.query("SELECT id FROM t ORDER BY id")).map(([id]) => Number(id));

test("no deleted row is in the table, and older changes do not bring one back", async (t) => {
  const one = await tableOf(t);
  await one.merge([row(1, 1), row(2, 2), row(3, 3)]);
  await assert.rejects(besides(one), { code: "NOT_A_TABLE" }, "it is made when it is needed");
  const counts = await one.merge([remove({ id: 2 }, { at: 10 }), remove({ id: 9 }, { at: 11 }), row(4, 12)]);
  assert.deepEqual(counts, { ...none, inserted: 1, deleted: 1, ignored: 1 });
  assert.deepEqual(await ids(one), [1, 3, 4]);
  assert.deepEqual(await one.merge([row(2, 5), row(9, 6)]), { ...none, ignored: 2 });
  assert.deepEqual(await one.merge([remove({ id: 2 }, { at: 10 })]), { ...none, ignored: 1 });
  assert.deepEqual(await one.merge([row(2, 20)]), { ...none, inserted: 1 });
  assert.deepEqual(await one.merge([remove({ id: 2 }, { at: 21 }), row(9, 22)]), {
    ...none,
    inserted: 1,
    deleted: 1,
  });
  assert.deepEqual(await one.merge([row(2, 15)]), { ...none, ignored: 1 });
  assert.deepEqual(await ids(one), [1, 3, 4, 9]);
  const { schema } = await besides(one);
  assert.deepEqual(
    schema.fields.map(({ name }) => name),
    ["id", "_cdc"],
  );
});

test("a table whose columns must not be null, too, and a delete of a key that was never seen counts there", async (t) => {
  const one = await tableOf(t, { "delta.constraints.some": "v > 0" });
  await demandName(one);
  await one.merge([row(1, 1), row(2, 2)]);
  await one.merge([remove({ id: 1 }, { at: 10 }), remove({ id: 7 }, { at: 11 })]);
  assert.deepEqual(await one.merge([row(7, 5), row(1, 6)]), { ...none, ignored: 2 });
  assert.deepEqual(await ids(one), [2]);
});

test("a row that came back without a position keeps that of its delete", async (t) => {
  const one = await tableOf(t);
  await one.merge([row(1, 1)]);
  await one.merge([remove({ id: 1 }, { at: 10 })]);
  await one.merge([upsert({ id: 1, name: "read anew", v: 0 })]);
  assert.deepEqual(await one.merge([row(1, 5)]), { ...none, ignored: 1 });
  assert.equal((await one.live())[0]?.name, "read anew");
});

test("what is deleted long ago is forgotten, as long as the table says, and a change before it is a letter", async (t) => {
  const one = await mergeTable(t, COLUMNS, {
    configuration: { ...ASIDE, "lab.cdc.keepDeletes": "interval 1 days" },
    merger: { now: () => 10 * 86_400_000 },
  });
  await one.merge([row(1, 1), remove({ id: 1 }, { at: 10 })]);
  await one.merge([row(2, 2), remove({ id: 2 }, { at: 20 })]);
  const again = await mergerAgain(t, one);
  await again.merge([row(3, 30), remove({ id: 3 }, { at: 31 })]);
  const late = await again.apply([row(1, 5)]);
  assert.equal(late.kind === "refused" && late.changes[0]?.code, "CDC_TOO_OLD");
});

async function mergerAgain(t: TestContext, one: MergeTable): Promise<Pick<MergeTable, "merge" | "apply">> {
  return around(one, await testMerger(t, one, { now: () => 10 * 86_400_000 }));
}

test("truncates take rows, and what was deleted before them stays deleted", async (t) => {
  const one = await tableOf(t);
  await one.merge([row(1, 1), row(2, 2)]);
  await one.merge([remove({ id: 1 }, { at: 5 })]);
  assert.deepEqual(await one.merge([truncate({ at: 8 }), row(3, 9)]), { ...none, inserted: 1, deleted: 1 });
  await one.merge([row(1, 4), row(2, 7)]);
  assert.deepEqual(await ids(one), [3]);
});

test("the change data feed tells of such deletes with the rows that went", async (t) => {
  const one = await tableOf(t, { "delta.enableChangeDataFeed": "true" });
  await one.merge([row(1, 1), row(2, 2)]);
  await one.merge([remove({ id: 1 }, { at: 5 }), row(2, 6)]);
  const told = (await one.changes((await one.snapshot()).version)).map((text) => JSON.parse(text));
  assert.deepEqual(told.map(({ id, v, _change_type }) => [_change_type, id, v]).sort(), [
    ["delete", 1, 1],
    ["update_postimage", 2, 6],
    ["update_preimage", 2, 2],
  ]);
});

const RUNS = Number(process.env.LAB_PROPERTY_RUNS ?? 6);
class Killed extends Error {}

test("a process that dies between the two tables, again and again, leaves what the history came to once it is through", (t) => {
  const event = fc.record({ id: fc.integer({ min: 1, max: 4 }), isDelete: fc.boolean() });
  const turn = fc.record({ size: fc.integer({ min: 1, max: 6 }), isKilled: fc.boolean() });
  return fc.assert(
    fc.asyncProperty(
      fc.array(event, { minLength: 1, maxLength: 20 }),
      fc.array(turn, { minLength: 1, maxLength: 12 }),
      async (history, turns) => {
        const one = await tableOf(t);
        const held = new Map<number, number>();
        const changes = history.map(({ id, isDelete }, i): Change => {
          if (isDelete) held.delete(id);
          else held.set(id, i + 1);
          return isDelete ? remove({ id }, { at: i + 1 }) : row(id, i + 1);
        });
        let settled = 0;
        for (let n = 0; settled < changes.length; n++) {
          const { size, isKilled } = turns[n % turns.length]!;
          const batch = changes.slice(settled, settled + size);
          // Not for ever.
          if (isKilled && n < turns.length) {
            const onCommitting = () => {
              throw new Killed();
            };
            await assert.rejects(one.apply(batch, { onCommitting }), Killed);
          } else {
            await one.merge(batch);
            settled += batch.length;
          }
        }
        const expected = [...held].sort(([a], [b]) => a - b);
        const stored = await one.query("SELECT id, v FROM t ORDER BY id");
        assert.deepEqual(
          stored.map((cells) => cells.map(Number)),
          expected,
        );
        await one.close();
      },
    ),
    { numRuns: RUNS, endOnFailure: true },
  );
});
