import assert from "node:assert/strict";
import { test } from "node:test";
import { remove, truncate, upsert } from "../../test/support/merge-table.ts";
import type { Change } from "../change.ts";
import { decide, type Verdict } from "./decide.ts";
import { joined, PURGED_PROPERTY, remembered, rememberedText } from "./remembered.ts";

const NOTHING = { truncates: [], purged: [], kept: [] };
const row = (at?: number, more: { absent?: string[]; partition?: number; offset?: number } = {}) =>
  upsert({ id: 1 }, { ...(at === undefined ? {} : { at }), ...more });
const gone = (at?: number) => remove({ id: 1 }, at === undefined ? {} : { at });
const stored = (order: Change | null, isDeleted = false, missing: string[] = []) => ({
  ...{ order: order && { position: order.position, place: order.place }, isDeleted, missing },
});
const write = (effect: string, keep: string[] = [], missing: string[] = []) => ({
  ...{ kind: "write", keep, missing, effect },
});
const IGNORE = { kind: "ignore" };

const CASES: readonly [what: string, change: Change, of: Parameters<typeof decide>[1], right: object][] = [
  ["a new key", row(1), undefined, write("insert")],
  [
    "a new key of which a column is not told",
    row(1, { absent: ["a"] }),
    undefined,
    write("insert", [], ["a"]),
  ],
  ["a delete of what is not there", gone(1), undefined, write("none")],
  ["a newer row", row(2), stored(row(1)), write("update")],
  ["an older row", row(1), stored(row(2)), IGNORE],
  ["a row over one that no change made", row(), stored(null), write("update")],
  ["a newer delete", gone(2), stored(row(1)), write("delete")],
  ["an older delete", gone(1), stored(row(2)), IGNORE],
  ["a newer row over a deleted one", row(2), stored(gone(1), true), write("insert")],
  ["an older row over a deleted one", row(1), stored(gone(2), true), IGNORE],
  ["a newer delete over a deleted one moves its position", gone(2), stored(gone(1), true), write("none")],
  ["a tombstone behind its delete", gone(), stored(gone(1), true), IGNORE],
  ["a newer row without a column", row(2, { absent: ["a"] }), stored(row(1)), write("update", ["a"])],
  [
    "a newer row without a column that nobody told",
    row(2, { absent: ["a", "b"] }),
    stored(row(1), false, ["b", "c"]),
    write("update", ["a", "b"], ["b"]),
  ],
  [
    "a row without a column behind a delete of the same batch",
    { ...row(2, { absent: ["a"] }), isFresh: true },
    stored(row(1)),
    write("update", [], ["a"]),
  ],
  [
    "an older row that tells what nobody did",
    row(1, { absent: ["b"] }),
    stored(row(2), false, ["a", "b"]),
    { kind: "fill", columns: ["a"], missing: ["b"] },
  ],
  ["an older row that does not", row(1, { absent: ["a"] }), stored(row(2), false, ["a"]), IGNORE],
  ["the same message again", row(1, { offset: 5 }), stored(row(1, { offset: 5 })), IGNORE],
  [
    "the same position sent again later",
    row(1, { offset: 6 }),
    stored(row(1, { offset: 5 })),
    write("update"),
  ],
];

for (const [what, change, of, right] of CASES)
  test(`${what}: ${(right as Verdict).kind}`, () => assert.deepEqual(decide(change, of, NOTHING), right));

test("where the table needs values in each row, the row of a deleted key keeps them, and none is made of a key never seen", () => {
  const memory = { ...NOTHING, kept: ["a"] };
  assert.deepEqual(decide(gone(2), stored(row(1)), memory), write("delete", ["a"]));
  assert.deepEqual(decide(gone(3), stored(gone(2), true), memory), write("none", ["a"]));
  assert.deepEqual(decide(gone(2), undefined, memory), IGNORE);
  assert.deepEqual(decide(row(2), undefined, memory), write("insert"));
});

test("what is older than a truncate counts for nothing, whatever is stored", () => {
  const memory = { truncates: [truncate({ at: 5 })], purged: [], kept: [] };
  assert.deepEqual(decide(row(4), undefined, memory), IGNORE);
  assert.deepEqual(decide(row(4), stored(row(9), false, ["a"]), memory), IGNORE);
  assert.deepEqual(decide(row(6), undefined, memory), write("insert"));
});

test("of the places that are remembered only those stay that no other covers, and they are read as they were written", () => {
  const [a, b, c] = [
    truncate({ at: 5 }),
    truncate({ at: 9 }),
    truncate({ at: 1, source: "mysql/shop/1/bin" }),
  ];
  const all = joined(joined([], [a, c]), [b, a, b]);
  assert.deepEqual(all, [c, b]);
  const text = rememberedText(all);
  const read = remembered({ [PURGED_PROPERTY]: text }, PURGED_PROPERTY);
  assert.deepEqual(
    read,
    all.map(({ position, place }) => ({ position, place })),
  );
  assert.throws(() => remembered({ [PURGED_PROPERTY]: "{" }, PURGED_PROPERTY), { code: "CORRUPT_LOG" });
});
