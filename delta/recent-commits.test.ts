import assert from "node:assert/strict";
import { test } from "node:test";
import { recentCommits } from "./recent-commits.ts";

test("the last small commits are kept, large ones and those before are not", () => {
  const commits = recentCommits({ commits: 2, actions: 1 });
  const small = [{ commitInfo: {} }];
  commits.note(1, small);
  commits.note(2, [...small, ...small]);
  assert.equal(commits.get(2), undefined);
  commits.note(3, small);
  commits.note(1, small);
  commits.note(4, small);
  assert.deepEqual(
    [1, 3, 4].map((version) => commits.get(version) !== undefined),
    [true, false, true],
  );
});
