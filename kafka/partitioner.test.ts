import assert from "node:assert/strict";
import { test } from "node:test";
import { murmur2, partitionOf } from "./partitioner.ts";

test("hashes as Kafka's own tests say", () => {
  const expected: [string, number][] = [
    ["21", -973932308],
    ["foobar", -790332482],
    ["a-little-bit-long-string", -985981536],
    ["a-little-bit-longer-string", -1486304829],
    ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971],
    ["abc", 479470107],
  ];
  for (const [key, hash] of expected) assert.equal(murmur2(Buffer.from(key)), hash, key);
});

test("a negative hash still names a partition", () => {
  for (let count = 1; count < 20; count++) {
    const partition = partitionOf(Buffer.from("21"), count);
    assert.ok(partition >= 0 && partition < count);
  }
});
