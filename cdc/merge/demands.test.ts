/** Tables that demand values of their rows: what may not be null, and what a condition must be true of. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import type { DataType } from "../../delta/types.ts";
import {
  demandName,
  type MergeTable,
  mergeTable,
  none,
  remove,
  upsert,
} from "../../test/support/merge-table.ts";
import type { Change } from "../change.ts";

type Options = Parameters<typeof mergeTable>[2];

const COLUMNS = { id: "long", name: "string", n: "long" } as const satisfies Record<string, DataType>;

/** Column `name` must not be null. */
async function demanding(t: TestContext, options: Options = {}): Promise<MergeTable> {
  const one = await mergeTable(t, COLUMNS, options);
  await demandName(one);
  return one;
}

const CHECKED: Options = { configuration: { "delta.constraints.some": "n > 0" } };

async function codeOf(one: MergeTable, change: Change): Promise<string> {
  const result = await one.apply([change]);
  assert.equal(result.kind, "refused");
  return (result as Extract<typeof result, { kind: "refused" }>).changes[0]!.code;
}

const KINDS: [string, (t: TestContext) => Promise<MergeTable>][] = [
  ["a column that must not be null", (t) => demanding(t)],
  [
    "such a column, and no deletion vectors",
    (t) => demanding(t, { configuration: { "delta.enableDeletionVectors": "false" } }),
  ],
  ["such a column, which is of the partition", (t) => demanding(t, { partitionColumns: ["name"] })],
  ["a condition", (t) => mergeTable(t, COLUMNS, CHECKED)],
];

for (const [kind, make] of KINDS)
  test(`a row is deleted from a table with ${kind}, stays so, and comes back`, async (t) => {
    const one = await make(t);
    const rows = [1, 2, 3].map((id) => upsert({ id, name: `n${id}`, n: id }, { at: id }));
    await one.merge(rows);
    const counts = await one.merge([
      remove({ id: 2 }, { at: 9 }),
      upsert({ id: 4, name: "x", n: 4 }, { at: 10 }),
    ]);
    assert.deepEqual(counts, { ...none, inserted: 1, deleted: 1 });
    assert.deepEqual(
      (await one.live()).map(({ id }) => id),
      [1, 3, 4],
    );
    assert.deepEqual(
      await one.query("SELECT name, n FROM t WHERE _cdc.deleted"),
      [["n2", 2]].map(([a, b]) => [a, kind === "a condition" ? b : null]),
    );
    assert.deepEqual(await one.merge([upsert({ id: 2, name: "old", n: 1 }, { at: 5 })]), {
      ...none,
      ignored: 1,
    });
    assert.deepEqual(await one.merge([remove({ id: 2 }, { at: 11 })]), { ...none, ignored: 1 });
    assert.deepEqual(await one.merge([upsert({ id: 2, name: "new", n: 7 }, { at: 12 })]), {
      ...none,
      inserted: 1,
    });
    assert.equal((await one.live()).find(({ id }) => id === 2)?.name, "new");
  });

test("a delete of a key that was never seen leaves nothing where a row needs values", async (t) => {
  const one = await demanding(t);
  assert.deepEqual(await one.merge([remove({ id: 1 }, { at: 5 })]), { ...none, ignored: 1 });
  assert.deepEqual(await one.rows(), []);
});

test("a delete of a key that was not there keeps what it tells of the row, so that an older change does not bring it back", async (t) => {
  const one = await demanding(t, CHECKED);
  const before = upsert({ id: 1, name: "a", n: 1 }, { at: 1 });
  const told = { ...remove({ id: 2 }, { at: 5 }), was: Buffer.from('{"id":2,"name":"b","n":2}') };
  assert.deepEqual(await one.merge([before, remove({ id: 1 }, { at: 4 }), told]), {
    ...none,
    ignored: 2,
    folded: 1,
  });
  const again = upsert({ id: 2, name: "b", n: 2 }, { at: 2 });
  assert.deepEqual(await one.merge([before, again]), { ...none, ignored: 2 });
  assert.deepEqual(await one.live(), []);
});

test("what a deleted row was is no reason to refuse its delete", async (t) => {
  const one = await demanding(t, CHECKED);
  await one.merge([
    upsert({ id: 1, name: "a", n: 1 }, { at: 1 }),
    upsert({ id: 2, name: "b", n: 2 }, { at: 2 }),
  ]);
  const told = (id: number, was: string, at: number) => ({
    ...remove({ id }, { at }),
    was: Buffer.from(was),
  });
  const counts = await one.merge([
    told(1, '{"id":1,"name":["no","text"],"n":"no number"}', 5),
    told(2, '{"id":2,"name":null,"n":-1}', 6),
    told(3, '{"id":3,"name":null,"n":-1}', 7),
  ]);
  assert.deepEqual(counts, { ...none, deleted: 2, ignored: 1 });
  assert.deepEqual(await one.live(), []);
});

test("rows with what is not allowed are letters, beside deletes too, and the others are merged", async (t) => {
  const one = await demanding(t, CHECKED);
  await one.merge([
    upsert({ id: 1, name: "a", n: 1 }, { at: 1 }),
    upsert({ id: 2, name: "b", n: 2 }, { at: 2 }),
  ]);
  const gone = remove({ id: 2 }, { at: 8 });
  const result = await one.apply([
    gone,
    upsert({ id: 3, name: null, n: 3 }, { at: 9, offset: 90 }),
    upsert({ id: 4, name: "d", n: -4 }, { at: 10, offset: 91 }),
    upsert({ id: 5, name: "e", n: 5 }, { at: 11 }),
  ]);
  assert.equal(result.kind, "refused");
  const { changes } = result as Extract<typeof result, { kind: "refused" }>;
  const told = changes.map(({ place, stage, code }) => [Number(place.offset), stage, code]);
  assert.deepEqual(told.sort(), [
    [90, "schema", "NULL_NOT_ALLOWED"],
    [91, "constraint", "CONSTRAINT_VIOLATED"],
  ]);
  assert.deepEqual(await one.merge([gone, upsert({ id: 5, name: "e", n: 5 }, { at: 11 })]), {
    ...none,
    inserted: 1,
    deleted: 1,
  });
  assert.equal(await codeOf(one, upsert({ id: 6, name: null, n: 1 }, { at: 12 })), "NULL_NOT_ALLOWED");
});

test("an update that leaves such a column out keeps what is stored, and a row that has none is a letter", async (t) => {
  const one = await demanding(t, CHECKED);
  await one.merge([upsert({ id: 1, name: "a", n: 1 }, { at: 1 })]);
  await one.merge([upsert({ id: 1, n: 2 }, { at: 2, absent: ["name"] })]);
  assert.deepEqual(await one.live(), [{ id: 1, name: "a", n: 2 }]);
  assert.equal(await codeOf(one, upsert({ id: 2, n: 2 }, { at: 3, absent: ["name"] })), "NULL_NOT_ALLOWED");
  await one.merge([remove({ id: 1 }, { at: 4 })]);
  // What the deleted row kept is not the new row's.
  assert.equal(await codeOf(one, upsert({ id: 1, n: 2 }, { at: 5, absent: ["name"] })), "NULL_NOT_ALLOWED");
  assert.equal(
    await codeOf(one, upsert({ id: 1, name: "a" }, { at: 5, absent: ["n"] })),
    "CONSTRAINT_VIOLATED",
  );
});

test("columns that come with a delete in their batch are the table's, and what it demands stays", async (t) => {
  const one = await demanding(t, CHECKED);
  await one.merge([upsert({ id: 1, name: "a", n: 1 }, { at: 1 })]);
  await one.merge([remove({ id: 1 }, { at: 2 }), upsert({ id: 2, name: "b", n: 2, more: "m" }, { at: 3 })]);
  assert.deepEqual(await one.live(), [{ id: 2, name: "b", n: 2, more: "m" }]);
  const { schema, metadata } = await one.snapshot();
  assert.deepEqual(
    schema.fields.map(({ name, nullable }) => [name, nullable]),
    [
      ["id", true],
      ["name", false],
      ["n", true],
      ["_cdc", true],
      ["more", true],
    ],
  );
  assert.equal(metadata.configuration["delta.constraints.some"], "n > 0");
});

test("the change data feed tells of a delete once, with the row that went", async (t) => {
  const one = await demanding(t, { configuration: { "delta.enableChangeDataFeed": "true" } });
  await one.merge([upsert({ id: 1, name: "a", n: 1 }, { at: 1 })]);
  await one.merge([remove({ id: 1 }, { at: 2 })]);
  const changes = (await one.changes((await one.snapshot()).version)).map((row) => JSON.parse(row));
  assert.deepEqual(
    changes.map(({ id, name, _change_type }) => [id, name, _change_type]),
    [[1, "a", "delete"]],
  );
});

const RUNS = Number(process.env.LAB_PROPERTY_RUNS ?? 6);

test("after any history, in whatever parts it came and again, the table is what that came to", (t) => {
  const event = fc.record({
    id: fc.integer({ min: 1, max: 4 }),
    isDelete: fc.boolean(),
    hasName: fc.boolean(),
  });
  const parts = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 });
  return fc.assert(
    fc.asyncProperty(
      fc.array(event, { minLength: 1, maxLength: 24 }),
      parts,
      fc.array(fc.nat(99), { maxLength: 10 }),
      async (history, sizes, again) => {
        const one = await demanding(t, CHECKED);
        const held = new Map<number, { id: number; name: string; n: number }>();
        const changes = history.map(({ id, isDelete, hasName }, i): Change => {
          const at = i + 1;
          if (isDelete) {
            held.delete(id);
            return remove({ id }, { at });
          }
          const name = held.get(id)?.name;
          const isPartial = !hasName && name !== undefined;
          held.set(id, { id, name: isPartial ? name : `n${at}`, n: at });
          return isPartial
            ? upsert({ id, n: at }, { at, absent: ["name"] })
            : upsert({ id, name: `n${at}`, n: at }, { at });
        });
        for (let from = 0, n = 0; from < changes.length; n++) {
          const size = sizes[n % sizes.length]!;
          await one.merge(changes.slice(from, from + size));
          from += size;
        }
        for (const place of again) await one.merge([changes[place % changes.length]!]);
        const expected = [...held.values()].sort((a, b) => a.id - b.id);
        assert.deepEqual(await one.live(), expected);
        await one.close();
      },
    ),
    { numRuns: RUNS, endOnFailure: true },
  );
});
