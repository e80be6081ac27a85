import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readOutcomes, reliabilityPage } from "./page.ts";
import { SCENARIOS } from "./suite.ts";

const results = new URL("./results.ndjson", import.meta.url);

test("docs/reliability.md says what the results say, and nothing else", () => {
  const page = readFileSync(new URL("../../docs/reliability.md", import.meta.url), "utf8");
  // npm run chaos -- --rounds 0 --out test/chaos/results.ndjson --write-docs
  assert.equal(page, reliabilityPage(readOutcomes(results), SCENARIOS));
});

test("the results are of the whole suite, each scenario passed with more than one seed, and nothing was lost or doubled", () => {
  const outcomes = readOutcomes(results);
  for (const { name } of SCENARIOS) {
    const passed = outcomes.filter(({ scenario, failure }) => scenario === name && failure === undefined);
    const seeds = new Set(passed.map(({ seed }) => seed));
    assert.ok(seeds.size >= 2, `${name} passed with ${seeds.size} seeds`);
  }
  for (const { scenario, seed, lost, doubled } of outcomes)
    assert.deepEqual([lost, doubled], [0, 0], `${scenario}, seed ${seed}`);
});
