import assert from "node:assert/strict";
import { test } from "node:test";
import { overheadOf } from "./memory.ts";
import { memoryChart } from "./memory-chart.ts";

const sample = (atSeconds: number, megabytes: number, isCut = false) => ({
  ...{ atSeconds, isCut },
  bytes: megabytes * 1e6,
});

test("the chart has the most of each span, marks the outage, and draws the limit above what is below it", () => {
  const samples = Array.from({ length: 141 }, (_, n) => sample(n / 2, 100 + n, n >= 60 && n < 80));
  const lines = memoryChart(samples, 400e6);
  assert.equal(lines.length, 13);
  const bottom = lines.at(-2)!.slice(8);
  assert.match(bottom, /^#{30}:{10}#{30}$/);
  assert.match(lines.at(-1)!, /70 s$/);
  assert.ok(lines.some((line) => /\|-{70}$/.test(line)));
  assert.ok(lines.findIndex((line) => line.includes("-")) < lines.findIndex((line) => line.includes("#")));
});

test("what is above the limit stands above its line", () => {
  const lines = memoryChart([sample(0, 100), sample(70, 900)], 500e6);
  const limit = lines.findIndex((line) => line.includes("--"));
  assert.ok(lines.slice(0, limit).some((line) => line.endsWith("#")));
  assert.deepEqual(memoryChart([], 1), []);
});

test("what is promised on top of the budgets grows with the streams", () => {
  assert.equal(overheadOf(50) - overheadOf(49), 4 << 20);
  assert.ok(overheadOf(1) > 200 << 20);
});
