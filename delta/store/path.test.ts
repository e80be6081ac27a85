import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkPath, compareUtf8 } from "./path.ts";

test("strings compare as their UTF-8 bytes do", () => {
  const string = fc.string({ unit: "binary", maxLength: 6 });
  fc.assert(
    fc.property(string, string, (a, b) => {
      assert.equal(Math.sign(compareUtf8(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
    { numRuns: 2000 },
  );
  assert.ok(
    compareUtf8("\u{1F600}", "\uFF5E") > 0,
    "an astral character sorts after the end of the basic plane",
  );
});

test("names that only look dangerous are fine", () => {
  for (const path of ["..a/b", "a/...", ".hidden", "p=../x", "a b%2F..%2Fc", "back\\slash"]) {
    assert.equal(checkPath(path), path);
  }
});
