/** Several changes of a key become one, the same whatever order they come in. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Change, Truncate } from "./change.ts";
import { fold } from "./fold.ts";
import type { Position } from "./position.ts";

type Told = { at?: number | null; offset?: number; key?: string; absent?: string[]; partition?: number };

const positionAt = (at: number): Position => ({
  ...{ source: "plain", hi: BigInt(at), lo: 0n, sub: 0n, timeMicros: null, isSnapshot: false },
});

let offsets = 0;
function change(kind: Change["kind"], row: object, told: Told = {}): Change {
  const { at = null, offset = offsets++, key = "[1]", absent = [], partition = 0 } = told;
  return {
    ...{ kind, key, absent, isFresh: false, timestampMs: 0 },
    row: Buffer.from(JSON.stringify({ id: 1, ...row })),
    position: at === null ? null : positionAt(at),
    place: { partition, offset: BigInt(offset), generation: 0 },
  };
}
const set = (row: object, told?: Told) => change("upsert", row, told);
const remove = (told?: Told) => change("delete", {}, told);
const truncate = (at: number): Truncate => ({
  ...{ kind: "truncate", position: positionAt(at), timestampMs: 0 },
  place: { partition: 0, offset: BigInt(offsets++), generation: 0 },
});

function folded(changes: readonly Change[], truncates: readonly Truncate[] = []) {
  const found = fold(changes, truncates);
  return {
    ...found,
    changes: found.changes.map(({ kind, row, absent, isFresh, position }) => ({
      ...{ kind, absent, isFresh, at: position && Number(position.hi) },
      row: JSON.parse(Buffer.from(row).toString()) as object,
    })),
  };
}
const only = (changes: readonly Change[], truncates?: readonly Truncate[]) =>
  folded(changes, truncates).changes[0];

test("the later of two wins, and the earlier one is counted (delta#218: a merge refuses two)", () => {
  const { changes, folded: count } = folded([set({ v: "old" }, { at: 1 }), set({ v: "new" }, { at: 2 })]);
  assert.deepEqual(changes, [
    { kind: "upsert", absent: [], isFresh: false, at: 2, row: { id: 1, v: "new" } },
  ]);
  assert.equal(count, 1);
});

test("a placeholder does not hide what an earlier change of the batch told (artie#100)", () => {
  const told = only([
    set({ name: "Ada", bio: "x" }, { at: 1 }),
    set({ name: "Ada L." }, { at: 2, absent: ["bio"] }),
  ]);
  assert.deepEqual(told, {
    kind: "upsert",
    absent: [],
    isFresh: false,
    at: 2,
    row: { id: 1, name: "Ada L.", bio: "x" },
  });
});

test("what no change of the batch tells stays absent, and numbers keep their digits", () => {
  const first = set({ name: "Ada" }, { at: 1, absent: ["bio", "art"] });
  const second = {
    ...set({}, { at: 2, absent: ["bio", "name"] }),
    row: Buffer.from('{"id":1,"art":9007199254740993}'),
  };
  const [found] = fold([first, second], []).changes;
  assert.deepEqual(found?.absent, ["bio"]);
  assert.equal(Buffer.from(found!.row).toString(), '{"id":1,"art":9007199254740993,"name":"Ada"}');
});

test("after a delete the row is replaced as a whole: what is stored is not to be kept", () => {
  const told = only([remove({ at: 1 }), set({ name: "Ada" }, { at: 2, absent: ["bio"] })]);
  assert.deepEqual(told, {
    kind: "upsert",
    absent: ["bio"],
    isFresh: true,
    at: 2,
    row: { id: 1, name: "Ada" },
  });
});

test("created, deleted and created in one moment is the last (debezium-server-iceberg#661, kafka-connect-jdbc#1562)", () => {
  assert.deepEqual(only([set({ v: "a" }), remove(), set({ v: "b" })])?.row, { id: 1, v: "b" });
  assert.equal(only([set({ v: "a" }), set({ v: "b" }), remove()])?.kind, "delete");
});

test("a delete at the position of an update, but later in Kafka, deletes (paimon#8858)", () => {
  assert.equal(only([remove({ at: 5, offset: 8 }), set({ v: 1 }, { at: 5, offset: 7 })])?.kind, "delete");
});

test("a tombstone takes over the position of what it deletes: what is sent again does not bring the row back", () => {
  assert.deepEqual(only([set({ v: 1 }, { at: 9 }), remove({ at: null })])?.at, 9);
  const again = [set({ v: 1 }, { at: 9 }), remove({ at: null }), set({ v: 0 }, { at: 5 })];
  assert.deepEqual(only(again), { kind: "delete", absent: [], isFresh: false, at: 9, row: { id: 1 } });
});

test("truncates drop what is older, whatever key and partition, and leave what is newer", () => {
  const { changes, truncates } = folded(
    [
      set({ v: "old" }, { at: 3, key: "[1]" }),
      set({ v: "new" }, { at: 8, key: "[2]", partition: 1 }),
      remove({ at: 4, key: "[3]", partition: 2 }),
    ],
    [truncate(2), truncate(5)],
  );
  assert.deepEqual(
    changes.map(({ row }) => row),
    [{ id: 1, v: "new" }],
  );
  assert.deepEqual(
    truncates.map(({ position }) => position?.hi),
    [5n],
  );
});

test("what nothing proves to be older than a truncate stays, as it does in a batch behind it", () => {
  const at = (partition: number) => ({ partition, offset: BigInt(offsets++), generation: 0 });
  const kept = folded([set({ v: 1 })], [{ ...truncate(5), place: at(1) }]);
  assert.deepEqual([kept.changes.length, kept.uncertain], [1, 1]);
  const behind = folded([set({ v: 1 })], [{ ...truncate(5), place: at(0) }]);
  assert.deepEqual([behind.changes.length, behind.uncertain], [0, 0]);
});

test("of a key that came through two partitions, in an order that nothing proves, the one is told apart and not guessed", () => {
  const told = [
    set({ v: 1 }),
    set({ v: 2 }, { partition: 1 }),
    set({ v: 3 }),
    set({ v: 4 }, { partition: 1 }),
  ] as const;
  const { changes, moved, folded: count } = fold([...told], []);
  assert.deepEqual(
    changes.map(({ row }) => JSON.parse(Buffer.from(row).toString())),
    [{ id: 1, v: 3 }],
  );
  assert.deepEqual(moved, [
    { change: told[1], from: 0 },
    { change: told[3], from: 0 },
  ]);
  assert.equal(count, 1);
});

test("an order that nothing proves is counted", () => {
  assert.equal(folded([set({ v: 1 }), set({ v: 2 }, { partition: 1 })]).uncertain, 1);
  assert.equal(folded([set({ v: 1 }, { at: 1 }), set({ v: 2 }, { at: 2, partition: 1 })]).uncertain, 0);
});

/** Changes of a few keys at positions of their own, some sent twice, in any order, over any number of batches. */
const COLUMNS = ["a", "b"] as const;
const history = fc
  .array(
    fc.record({
      key: fc.constantFrom("[1]", "[2]"),
      isDelete: fc.boolean(),
      absent: fc.subarray([...COLUMNS]),
      isRepeated: fc.boolean(),
    }),
    { maxLength: 12 },
  )
  .chain((steps) => {
    const changes = steps.flatMap(({ key, isDelete, absent, isRepeated }, at) => {
      const row = Object.fromEntries(
        COLUMNS.filter((name) => !absent.includes(name)).map((name) => [name, `${name}${at}`]),
      );
      const made = isDelete ? remove({ at, key, offset: at }) : set(row, { at, key, absent, offset: at });
      return isRepeated ? [made, { ...made, place: { ...made.place, offset: BigInt(100 + at) } }] : [made];
    });
    return fc.tuple(fc.constant(changes), fc.shuffledSubarray(changes, { minLength: changes.length }));
  });

/** What a key is after changes in the order of their positions, one after the other. */
function model(changes: readonly Change[]): Map<string, Record<string, unknown> | null> {
  const rows = new Map<string, Record<string, unknown> | null>();
  for (const { key, kind, row } of [...changes].sort((x, y) => Number(x.position!.hi - y.position!.hi))) {
    const told = JSON.parse(Buffer.from(row).toString()) as Record<string, unknown>;
    rows.set(key, kind === "delete" ? null : { ...rows.get(key), ...told });
  }
  return rows;
}

test("whatever order changes come in, they fold to what they say in the order of the source", () => {
  fc.assert(
    fc.property(history, ([inOrder, shuffled]) => {
      const expected = model(inOrder);
      const { changes } = fold(shuffled, []);
      assert.equal(changes.length, expected.size);
      for (const { key, kind, row, absent } of changes) {
        const told = JSON.parse(Buffer.from(row).toString()) as Record<string, unknown>;
        const wanted = expected.get(key);
        assert.deepEqual(kind === "delete" ? null : told, wanted ?? null);
        if (wanted)
          assert.deepEqual(
            [...absent].sort(),
            COLUMNS.filter((name) => !(name in wanted)),
          );
      }
    }),
    { numRuns: 500 },
  );
});
