/**
 * A few of the chaos suite's scenarios in every test run, chosen by a seed that is printed: those that are short and proved by no other test.
 * The rest, and more seeds: `npm run chaos`.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openServices } from "./chaos/services.ts";
import { runSuite, SCENARIOS } from "./chaos/suite.ts";
import { seeded } from "./support/seeded.ts";

const HOW_MANY = 3;

test("a seeded choice of faults: nothing lost, nothing doubled, memory bounded, and the right thing said", async (t) => {
  const seed = Number(process.env.LAB_SEED ?? Math.floor(Math.random() * 2 ** 31));
  const random = seeded(seed);
  const chosen = SCENARIOS.filter(({ isBounded }) => isBounded)
    .map((scenario) => ({ scenario, at: random() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, HOW_MANY)
    .map(({ scenario }) => scenario);
  t.diagnostic(`LAB_SEED=${seed} repeats it: ${chosen.map(({ name }) => name).join(", ")}`);
  const services = await openServices();
  t.after(() => services.close());
  const outcomes = await runSuite({
    ...{ scenarios: chosen, seed, services, parallel: 2 },
    onOutcome: ({ scenario, seconds, messages, peakMiB }) =>
      t.diagnostic(`${scenario}: ${seconds} s, ${messages} messages, peak ${peakMiB} MiB`),
  });
  for (const { scenario, failure } of outcomes) assert.equal(failure, undefined, `${scenario}: ${failure}`);
  assert.ok(outcomes.every(({ messages, notRun }) => messages > 0 || notRun !== undefined));
});
