import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type MemberView, shareOut } from "./assigner.ts";

const view = (memberId: string, counts: Record<string, number>): MemberView => ({
  memberId,
  topics: Object.keys(counts),
  counts,
});

test("members with one subscription share in turn, going on from topic to topic", () => {
  const counts = { a: 3, b: 1 };
  assert.deepEqual(
    [...shareOut([view("2", counts), view("1", counts)])],
    [
      ["1", { a: [0, 2] }],
      ["2", { a: [1], b: [0] }],
    ],
  );
});

test("a member gets nothing of what it did not subscribe to, and everything has one reader", () => {
  const topics = ["a", "b", "c", "d"];
  const members = fc.uniqueArray(
    fc.record({
      memberId: fc.uuid(),
      topics: fc.subarray(topics),
      sees: fc.array(fc.nat(5), { minLength: 4, maxLength: 4 }),
    }),
    { selector: ({ memberId }) => memberId, minLength: 1, maxLength: 6 },
  );
  fc.assert(
    fc.property(members, (given) => {
      const views = given.map(({ memberId, topics: mine, sees }) => ({
        memberId,
        topics: mine,
        counts: Object.fromEntries(mine.map((topic) => [topic, sees[topics.indexOf(topic)]!])),
      }));
      const shares = shareOut(views);
      assert.deepEqual(shareOut([...views].reverse()), shares);
      for (const { memberId, topics: mine } of views)
        for (const topic of Object.keys(shares.get(memberId)!)) assert.ok(mine.includes(topic));
      for (const topic of topics) {
        const most = Math.max(0, ...views.map(({ counts }) => counts[topic] ?? 0));
        const read = [...shares.values()].flatMap((share) => share[topic] ?? []).sort((a, b) => a - b);
        assert.deepEqual(
          read,
          Array.from({ length: most }, (_, n) => n),
        );
      }
    }),
  );
});
