import assert from "node:assert/strict";
import { test } from "node:test";
import { secondsAwake } from "./awake.ts";

test("a process is awake in the spans in which it uses a tenth of a core", () => {
  const samples = [
    { atMs: 1_000, cpuSeconds: 5 },
    { atMs: 2_000, cpuSeconds: 6.5 },
    { atMs: 12_000, cpuSeconds: 6.9 },
    { atMs: 12_500, cpuSeconds: 6.96 },
  ];
  assert.equal(secondsAwake(samples), 1.5);
  assert.equal(secondsAwake(samples.slice(0, 1)), 0);
  assert.equal(secondsAwake([]), 0);
});
