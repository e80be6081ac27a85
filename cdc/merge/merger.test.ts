import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../../core/errors.ts";
import { tombstoneOf } from "../../delta/tombstone.ts";
import {
  around,
  many,
  mergeTable,
  none,
  remove,
  testMerger,
  truncate,
  upsert,
} from "../../test/support/merge-table.ts";
import { signal, testTable } from "../../test/support/upkeep-table.ts";
import { optimize } from "../../upkeep/optimize.ts";
import { verifyTable } from "../../upkeep/verify.ts";
import { CDC_FIELD } from "./cdc-field.ts";

const COLUMNS = { id: "long", name: "string" } as const;
const COPIES = { configuration: { "delta.enableDeletionVectors": "false" } };

test("rows are inserted, replaced and deleted by their key, and older changes change nothing", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  const first = [upsert({ id: 1, name: "a" }, { at: 1 }), upsert({ id: 2, name: "b" }, { at: 2 })];
  assert.deepEqual(await one.merge(first), { ...none, inserted: 2 });
  const second = [
    upsert({ id: 1, name: "A" }, { at: 5 }),
    remove({ id: 2 }, { at: 6 }),
    upsert({ id: 3, name: "c" }, { at: 7 }),
  ];
  assert.deepEqual(await one.merge(second), { ...none, inserted: 1, updated: 1, deleted: 1 });
  const now = [
    { id: 1, name: "A" },
    { id: 3, name: "c" },
  ];
  assert.deepEqual(await one.live(), now);
  const late = [upsert({ id: 1, name: "old" }, { at: 4 }), upsert({ id: 2, name: "old" }, { at: 3 })];
  assert.deepEqual(await one.merge(late), { ...none, ignored: 2 });
  assert.deepEqual(await one.live(), now);
});

test("a deleted row comes back by a newer change, and only by one", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  await one.merge([upsert({ id: 1, name: "a" }, { at: 1 })]);
  await one.merge([remove({ id: 1 }, { at: 9 })]);
  await optimize(one.table, { ...one, signal });
  assert.deepEqual(await one.merge([upsert({ id: 1, name: "b" }, { at: 5 })]), { ...none, ignored: 1 });
  assert.deepEqual(
    await one.merge([remove({ id: 2 }, { at: 8 })]),
    { ...none, ignored: 1 },
    "nothing was there",
  );
  assert.deepEqual(await one.merge([upsert({ id: 2, name: "b" }, { at: 7 })]), { ...none, ignored: 1 });
  assert.deepEqual(await one.live(), []);
  assert.deepEqual(await one.merge([upsert({ id: 1, name: "c" }, { at: 10 })]), { ...none, inserted: 1 });
  assert.deepEqual(await one.live(), [{ id: 1, name: "c" }]);
});

test("rows that no change made are older than every change", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  await one.append("SELECT range AS id, 'bulk' AS name, NULL AS _cdc FROM range(3)");
  await one.merge([upsert({ id: 1, name: "new" }, { at: 1 }), remove({ id: 2 })]);
  assert.deepEqual(await one.live(), [
    { id: 0, name: "bulk" },
    { id: 1, name: "new" },
  ]);
});

test("a table that has no _cdc yet gets it with the first change, and keeps its values where a change leaves some out", async (t) => {
  const one = await testTable(t, COLUMNS);
  await one.append("SELECT range AS id, 'bulk' AS name FROM range(3)");
  const { fields } = (await one.snapshot()).schema;
  const schema = { type: "struct", fields: [...fields, CDC_FIELD] } as const;
  const { merge, live } = around(one, await testMerger(t, one));
  const changes = [upsert({ id: 1 }, { at: 1, absent: ["name"] }), remove({ id: 2 }, { at: 2 })];
  assert.deepEqual(await merge(changes, { schema }), { ...none, updated: 1, deleted: 1 });
  assert.deepEqual(await live(), [
    { id: 0, name: "bulk" },
    { id: 1, name: "bulk" },
  ]);
  assert.deepEqual(await merge([upsert({ id: 1, name: "late" }, { at: 0 })]), { ...none, ignored: 1 });
});

for (const [how, options] of [
  ["marked in a deletion vector", {}],
  ["left out where their file is written again", COPIES],
] as const)
  test(`replaced rows are ${how}, and a file without rows is removed`, async (t) => {
    const one = await mergeTable(t, COLUMNS, options);
    await one.merge(many(0, 10, 1));
    await one.merge(many(10, 20, 100));
    await one.merge([upsert({ id: 3, name: "x" }, { at: 1000 }), upsert({ id: 4, name: "x" }, { at: 1001 })]);
    const after = await one.snapshot();
    const isMarked = options !== COPIES;
    const vectors = [...after.files()].filter(({ deletionVector }) => deletionVector !== undefined);
    assert.deepEqual(
      vectors.map(({ deletionVector }) => deletionVector!.cardinality),
      isMarked ? [2n] : [],
    );
    assert.equal(after.numFiles, 3);
    assert.equal(after.liveRows(), 20n);
    await one.merge(many(0, 10, 2000));
    assert.equal((await one.snapshot()).numFiles, 2, "the first file and the one of two rows are empty");
    const names = (await one.live()).map(({ name }) => name);
    assert.deepEqual([...names].sort(), [...Array(10).fill("n100"), ...Array(10).fill("n2000")].sort());
    const reading = {
      ...{ memoryLimitBytes: 2 ** 28, threads: 1, tempDir: one.scratchDir },
      cache: () => assert.fail("the store is local"),
    };
    const { damage, orphans } = await verifyTable(one.table.store, { reading }, signal);
    assert.deepEqual([damage.listed, orphans.files], [[], 0]);
  });

test("columns that a change leaves out keep what is stored; what nobody told yet is filled by an older change", async (t) => {
  const one = await mergeTable(t, { id: "long", name: "string", bio: "string", pic: "string" });
  await one.merge([upsert({ id: 1, name: "a", bio: "long text", pic: "p" }, { at: 1 })]);
  await one.merge([upsert({ id: 1, name: "b" }, { at: 2, absent: ["bio", "pic"] })]);
  assert.deepEqual(await one.live(), [{ id: 1, name: "b", bio: "long text", pic: "p" }]);
  await one.merge([upsert({ id: 2, name: "late" }, { at: 9, absent: ["bio", "pic"] })]);
  assert.deepEqual(await one.query("SELECT _cdc.missing FROM t WHERE id = 2"), [[["bio", "pic"]]]);
  const filling = upsert({ id: 2, name: "early", bio: "told" }, { at: 4, absent: ["pic"] });
  assert.deepEqual(await one.merge([filling]), { ...none, updated: 1 });
  const rows = await one.query("SELECT name, bio, pic, _cdc.missing, _cdc.hi FROM t WHERE id = 2");
  assert.deepEqual(rows, [["late", "told", null, ["pic"], 9]]);
  await one.merge([upsert({ id: 2, name: "early", bio: "older", pic: "q" }, { at: 3 })]);
  assert.deepEqual(await one.query("SELECT name, bio, pic, _cdc.missing FROM t WHERE id = 2"), [
    ["late", "told", "q", null],
  ]);
  await one.merge([remove({ id: 1 }, { at: 10 })]);
  await one.merge([upsert({ id: 1, name: "again" }, { at: 11, absent: ["bio", "pic"] })]);
  assert.deepEqual(await one.query("SELECT bio FROM t WHERE id = 1"), [[null]], "what was deleted stays so");
});

test("a change without a position keeps that of the row, which does not come back when it is sent again", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  await one.merge([upsert({ id: 1, name: "a" }, { at: 7 })]);
  await one.merge([upsert({ id: 1, name: "snapshot" })]);
  assert.deepEqual(await one.merge([upsert({ id: 1, name: "resent" }, { at: 5 })]), { ...none, ignored: 1 });
  assert.deepEqual(await one.query("SELECT name, _cdc.hi FROM t"), [["snapshot", 7]]);
});

test("a row whose partition changes is in the new one alone", async (t) => {
  const one = await mergeTable(t, { ...COLUMNS, p: "string" }, { partitionColumns: ["p"] });
  await one.merge([
    upsert({ id: 1, name: "a", p: "A" }, { at: 1 }),
    upsert({ id: 2, name: "b", p: "B" }, { at: 2 }),
  ]);
  await one.merge([upsert({ id: 1, name: "a", p: "B" }, { at: 3 }), remove({ id: 2 }, { at: 4 })]);
  assert.deepEqual(await one.live(), [{ id: 1, name: "a", p: "B" }]);
});

test("keys of several columns, of text, decimals, dates and bytes, are told apart", async (t) => {
  const columns = { a: "string", b: "decimal(10,2)", c: "date", d: "binary", v: "long" } as const;
  const key = ["a", "b", "c", "d"];
  const one = await mergeTable(t, columns, { keyColumns: key });
  const row = (a: string, b: number, v: number) => ({ a, b, c: "2026-01-02", d: "AAE=", v });
  const put = (a: string, b: number, at: number) => upsert(row(a, b, at), { at, key });
  await one.merge([put("1:", 1, 1), put("1", 1, 2), put("1", 1.5, 3)]);
  await one.merge([put("1", 1.5, 4), put("é", 1, 5)]);
  assert.deepEqual(await one.query("SELECT a, b::VARCHAR, v FROM t ORDER BY v"), [
    ["1:", "1.00", 1],
    ["1", "1.00", 2],
    ["1", "1.50", 4],
    ["é", "1.00", 5],
  ]);
});

test("a truncate takes what is older, and what is older and comes later counts for nothing", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  await one.merge(many(0, 5, 1));
  await one.merge([upsert({ id: 9, name: "newer" }, { at: 60 })]);
  const counts = await one.merge([truncate({ at: 50 }), upsert({ id: 1, name: "after" }, { at: 51 })]);
  assert.deepEqual(counts, { ...none, inserted: 1, deleted: 5 });
  assert.deepEqual(await one.merge([upsert({ id: 3, name: "before" }, { at: 40 })]), { ...none, ignored: 1 });
  const expected = [
    { id: 1, name: "after" },
    { id: 9, name: "newer" },
  ];
  assert.deepEqual(await one.live(), expected);
  const other = around(one, await testMerger(t, one));
  assert.deepEqual(await other.merge([upsert({ id: 3, name: "before" }, { at: 41 })]), {
    ...none,
    ignored: 1,
  });
  assert.deepEqual(await one.live(), expected, "another worker knows it, too");
});

test("deleted rows are forgotten once nothing older can come, and what comes all the same is no row", async (t) => {
  const day = 86_400_000;
  let nowMs = 100 * day;
  const one = await mergeTable(t, COLUMNS, {
    configuration: { "lab.cdc.keepDeletes": "interval 2 days" },
    merger: { now: () => nowMs },
  });
  // Positions are the ms at which they were.
  const put = (id: number, days: number, name = "x") => upsert({ id, name }, { at: days * day });
  await one.merge([put(1, 97), put(2, 97), put(3, 97)]);
  await one.merge([remove({ id: 1 }, { at: 97.5 * day }), remove({ id: 2 }, { at: 99 * day })]);
  const kept = () => one.query("SELECT id FROM t WHERE _cdc.deleted ORDER BY id");
  assert.deepEqual(await kept(), [[1], [2]]);
  nowMs += day / 2;
  await one.merge([put(4, 100)]);
  assert.deepEqual(await kept(), [[2]], "two days and more ago");
  const late = await one.apply([put(1, 97)]);
  assert.deepEqual(late.kind === "refused" && late.changes.map(({ code }) => code), ["CDC_TOO_OLD"]);
  assert.deepEqual(await one.merge([remove({ id: 1 }, { at: 96 * day }), put(2, 98)]), {
    ...none,
    ignored: 2,
  });
  assert.deepEqual(await one.merge([put(1, 100.2), put(5, 98)]), { ...none, inserted: 2 });
  assert.deepEqual(
    (await one.live()).map(({ id }) => id),
    [1, 3, 4, 5],
  );
});

test("what does not fit the table is told, and the rest is applied without it", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  const bad = upsert({ id: "no number", name: "x" }, { at: 2, offset: 77 });
  const result = await one.apply([upsert({ id: 1, name: "a" }, { at: 1 }), bad]);
  assert.equal(result.kind, "refused");
  assert.deepEqual(
    result.kind === "refused" && result.changes.map(({ place, stage, code }) => [place.offset, stage, code]),
    [[77n, "schema", "WRONG_TYPE"]],
  );
  assert.equal((await one.snapshot()).version, 0, "nothing was committed");
  await one.merge([upsert({ id: 1, name: "a" }, { at: 1 })]);
  assert.deepEqual(await one.live(), [{ id: 1, name: "a" }]);
});

test("a key that the table holds twice is named, and no other key suffers", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  await one.append(
    "SELECT * FROM (VALUES (1, 'a', NULL), (1, 'b', NULL), (2, 'c', NULL)) AS v(id, name, _cdc)",
  );
  const result = await one.apply([
    upsert({ id: 1, name: "x" }, { at: 1, offset: 5 }),
    upsert({ id: 2, name: "y" }, { at: 2 }),
  ]);
  assert.deepEqual(
    result.kind === "refused" && result.changes.map(({ place, code }) => [place.offset, code]),
    [[5n, "KEY_DOUBLED"]],
  );
  await one.merge([upsert({ id: 2, name: "y" }, { at: 2 })]);
});

test("a key that comes through another Kafka partition is refused unless its position proves the order", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  await one.merge([upsert({ id: 1, name: "a" }), upsert({ id: 2, name: "a" }, { at: 5 })]);
  const result = await one.apply([upsert({ id: 1, name: "b" }, { partition: 1, offset: 9 })]);
  assert.deepEqual(result.kind === "refused" && result.changes.map(({ code }) => code), [
    "KEY_MOVED_PARTITION",
  ]);
  assert.deepEqual(await one.merge([upsert({ id: 2, name: "b" }, { at: 6, partition: 1 })]), {
    ...none,
    updated: 1,
  });
  // In one batch, too.
  const both = [upsert({ id: 3, name: "a" }), upsert({ id: 3, name: "b" }, { partition: 1, offset: 10 })];
  const second = await one.apply(both);
  assert.deepEqual(
    second.kind === "refused" && second.changes.map(({ place, code }) => [place.offset, code]),
    [[10n, "KEY_MOVED_PARTITION"]],
  );
});

test("a key whose column gets a wider type with the batch is still that key", async (t) => {
  const widening = { configuration: { "delta.enableTypeWidening": "true" } };
  const one = await mergeTable(t, { id: "integer", n: "long" }, widening);
  await one.merge([upsert({ id: 1, n: 1 }, { at: 1 }), upsert({ id: 2, n: 2 }, { at: 2 })]);
  const wide = [upsert({ id: 1, n: 3 }, { at: 3 }), upsert({ id: 5_000_000_000, n: 4 }, { at: 4 })];
  assert.deepEqual(await one.merge(wide), { ...none, inserted: 1, updated: 1 });
  assert.deepEqual(
    await one.merge([upsert({ id: 2, n: 5 }, { at: 5 }), remove({ id: 5_000_000_000 }, { at: 6 })]),
    {
      ...{ ...none, updated: 1, deleted: 1 },
    },
  );
  assert.deepEqual(await one.query("SELECT id, n FROM t WHERE NOT _cdc.deleted ORDER BY id"), [
    [1, 3],
    [2, 5],
  ]);
});

test("a key that does not fit the type that its column had is none of those that are there", async (t) => {
  const widening = { configuration: { "delta.enableTypeWidening": "true" } };
  const one = await mergeTable(t, { id: "decimal(6,2)", n: "long" }, widening);
  await one.merge([upsert({ id: 7.12, n: 1 }, { at: 1 })]);
  const fine = [upsert({ id: 7.1234, n: 2 }, { at: 2 }), upsert({ id: 7.12, n: 3 }, { at: 3 })];
  assert.deepEqual(await one.merge(fine), { ...none, inserted: 1, updated: 1 });
  assert.deepEqual(await one.query("SELECT id::VARCHAR, n FROM t ORDER BY id"), [
    ["7.1200", 3],
    ["7.1234", 2],
  ]);
});

test("new columns and wider types come with the rows that need them", async (t) => {
  const one = await mergeTable(
    t,
    { id: "long", n: "integer" },
    { configuration: { "delta.enableTypeWidening": "true" } },
  );
  await one.merge([upsert({ id: 1, n: 1 }, { at: 1 })]);
  await one.merge([upsert({ id: 2, n: 5_000_000_000, city: "Bern" }, { at: 2 })]);
  await one.merge([upsert({ id: 1, n: 7, city: "Chur" }, { at: 3 })]);
  assert.deepEqual(await one.query("SELECT id, n, city FROM t ORDER BY id"), [
    [1, 7, "Chur"],
    [2, 5_000_000_000, "Bern"],
  ]);
});

test("a key column that the table does not have is named", async (t) => {
  const one = await mergeTable(t, COLUMNS, { keyColumns: ["nr"] });
  await assert.rejects(one.apply([upsert({ id: 1, nr: 5 }, { at: 1, key: ["nr"] })]), (error) => {
    return isLabError(error, "SCHEMA_MISMATCH") && /no column nr/.test(error.message);
  });
});

test("a doubled key of which one row was taken out is one row again, and a truncate takes both", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  await one.merge([upsert({ id: 1, name: "a" }, { at: 1 })]);
  await one.append("SELECT 1 AS id, 'bulk' AS name, NULL AS _cdc");
  assert.equal((await one.apply([upsert({ id: 1, name: "b" }, { at: 2 })])).kind, "refused");
  const snapshot = await one.snapshot();
  const bulk = [...snapshot.files()].find(({ stats }) => stats?.includes("bulk"))!;
  const removes = [tombstoneOf(bulk, { nowMs: Date.now(), dataChange: true })];
  await one.table.commit({ readSnapshot: snapshot, operation: "DELETE", removes }, signal);
  assert.deepEqual(await one.merge([upsert({ id: 1, name: "c" }, { at: 3 })]), { ...none, updated: 1 });
  assert.deepEqual(await one.live(), [{ id: 1, name: "c" }]);
  await one.append("SELECT 2 AS id, 'bulk' AS name, NULL AS _cdc FROM range(2)");
  assert.deepEqual(await one.merge([truncate({ at: 9 })]), { ...none, deleted: 3 });
  assert.deepEqual(await one.live(), []);
});

test("an empty text of a key is refused where partitions would make it null, and is a key elsewhere", async (t) => {
  for (const partitionColumns of [["region"], []]) {
    const key = ["region", "id"];
    const columns = { region: "string", id: "long", v: "long" } as const;
    const one = await mergeTable(t, columns, { keyColumns: key, partitionColumns });
    const isPartitioned = partitionColumns.length > 0;
    for (const at of [1, 2]) {
      const empty = upsert({ region: "", id: 1, v: at }, { at, key });
      const result = await one.apply([empty, upsert({ region: "a", id: 1, v: at }, { at, key })]);
      if (isPartitioned) {
        assert.ok(result.kind === "refused");
        assert.deepEqual(
          result.changes.map(({ code, place }) => [code, place.offset]),
          [["KEY_NULL", empty.place.offset]],
        );
      } else assert.equal(result.kind, "committed");
    }
    assert.equal((await one.snapshot()).liveRows(), isPartitioned ? 0n : 2n);
  }
});

test("both zeros of a double are one key", async (t) => {
  const one = await mergeTable(t, { id: "double", v: "long" });
  await one.merge([upsert({ id: 0, v: 1 }, { at: 1 })]);
  for (const at of [2, 3]) {
    const row = Buffer.from(`{"id":-0.0,"v":${at}}`);
    assert.deepEqual(await one.merge([{ ...upsert({ id: 0 }, { at }), row }]), { ...none, updated: 1 });
    await optimize(one.table, { ...one, signal });
  }
  assert.equal((await one.live()).length, 1);
});

test("what came again in the batch of a change that leaves columns out is no newer than what is stored", async (t) => {
  const one = await mergeTable(t, COLUMNS);
  const old = [1, 2, 3, 4].map((id) => upsert({ id, name: "old" }, { at: id, offset: id }));
  const gone = [2, 4].map((id) => remove({ id }, { at: 10 + id, offset: 10 + id }));
  const newer = [1, 2].map((id) => upsert({ id, name: "new" }, { at: 20 + id, offset: 20 + id }));
  const deleted = [3, 4].map((id) => remove({ id }, { at: 20 + id, offset: 20 + id }));
  await one.merge([...old, ...gone, ...newer, ...deleted]);
  const partial = [1, 2, 3].map((id) => upsert({ id }, { at: 40 + id, offset: 40 + id, absent: ["name"] }));
  await one.merge([old[0]!, gone[0]!, old[2]!, ...partial]);
  assert.deepEqual(await one.live(), [
    { id: 1, name: "new" },
    { id: 2, name: "new" },
    { id: 3, name: null },
  ]);
  await one.merge([upsert({ id: 3, name: "again" }, { at: 30, offset: 30 })]);
  assert.deepEqual((await one.live())[2], { id: 3, name: "again" }, "it was made anew before it was changed");
});
