import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionOf, isUnfiltered, stateCondition } from "./filter.ts";

test("what chooses nothing is no filter; states alone choose nothing", () => {
  assert.equal(isUnfiltered({}), true);
  assert.equal(isUnfiltered({ states: ["dropped"], topics: [], partitions: [], codes: [] }), true);
  for (const filter of [
    { topics: ["t"] },
    { partitions: [0] },
    { offsets: [{ partition: null, first: 0n, last: 0n }] },
    { stages: ["decode"] },
    { codes: ["X"] },
    { sinceMs: 0 },
    { untilMs: 0 },
    { limit: 1 },
  ])
    assert.equal(isUnfiltered(filter), false, JSON.stringify(Object.keys(filter)));
});

test("everything given must hold, of a list one is enough, and texts stay texts", () => {
  assert.equal(conditionOf({}), "true");
  assert.equal(
    conditionOf({
      topics: ["a", "it's"],
      partitions: [1, 2],
      stages: ["decode"],
      codes: ["X"],
      offsets: [
        { partition: null, first: 1n, last: 9_007_199_254_740_993n },
        { partition: 3, first: 4n, last: 4n },
      ],
      sinceMs: 5,
      untilMs: 7.5,
    }),
    `topic IN ('a', 'it''s') AND "partition" IN (1, 2) AND stage IN ('decode') AND error_code IN ('X') AND ` +
      `(("offset" BETWEEN 1 AND 9007199254740993) OR ("partition" = 3 AND "offset" BETWEEN 4 AND 4)) AND ` +
      "first_at >= make_timestamptz(5000) AND first_at < make_timestamptz(7000)",
  );
  assert.equal(stateCondition({}), "state IN ('open')");
  assert.equal(stateCondition({ states: ["open", "dropped"] }), "state IN ('open', 'dropped')");
});
