import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeSequence, encodeSequence } from "./header.ts";

test("a sequence comes back as it was, colons in the origin included", () => {
  for (const sequence of [
    { origin: "orders-7", n: 0 },
    { origin: "a:b", n: 123_456 },
  ]) {
    assert.deepEqual(decodeSequence(encodeSequence(sequence)), sequence);
  }
});

test("what is no sequence is null", () => {
  for (const text of ["", "7", "a:", ":7", "a:-1", "a:1.5"]) assert.equal(decodeSequence(text), null);
});
