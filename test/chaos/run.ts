/**
 * `npm run chaos`: named scenarios on a real broker, a real S3 server and real processes, each with the ledger at its end.
 *
 *   npm run chaos                                   every scenario once, with a seed that is printed
 *   npm run chaos -- --seed 7 --only zombie,churn   these, with the choices of that seed again
 *   npm run chaos -- --minutes 60 --out FILE        rounds with further seeds for an hour; a JSON line per scenario and round
 *   npm run chaos -- --out FILE --write-docs        docs/reliability.md from all lines of that file, this run's among them; with
 *                                                   --rounds 0 from those that are there
 *   npm run chaos -- --list                         what there is
 *
 * A seed fixes what is chosen, when and how often; not how fast the machine is in between.
 */

import { appendFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { readOutcomes, reliabilityPage } from "./page.ts";
import type { Outcome } from "./scenario.ts";
import { openServices } from "./services.ts";
import { runSuite, SCENARIOS } from "./suite.ts";

const PAGE = fileURLToPath(new URL("../../docs/reliability.md", import.meta.url));

const { values: flags } = parseArgs({
  options: {
    seed: { type: "string" },
    minutes: { type: "string", default: "0" },
    only: { type: "string" },
    parallel: { type: "string", default: "2" },
    rounds: { type: "string", default: "1" },
    out: { type: "string" },
    "write-docs": { type: "boolean", default: false },
    list: { type: "boolean", default: false },
  },
});

function chosen() {
  if (flags.only === undefined) return SCENARIOS;
  return flags.only.split(",").map((name) => {
    const found = SCENARIOS.find((scenario) => scenario.name === name);
    if (!found) throw new Error(`no scenario is called ${name}; see --list`);
    return found;
  });
}

function tell(outcome: Outcome): void {
  const { scenario, seed, seconds, messages, lost, doubled, peakMiB, faults } = outcome;
  const what = Object.entries(faults).map(([kind, times]) => `${times} x ${kind}`);
  const figures = `${messages} messages, lost ${lost}, doubled ${doubled}, peak ${peakMiB} MiB; ${what.join(", ")}`;
  const verdict = outcome.failure ? "FAILED" : outcome.notRun ? "NOT RUN" : "ok";
  console.log(`${verdict.padEnd(8)}${scenario} (seed ${seed}, ${seconds} s): ${outcome.notRun ?? figures}`);
  if (outcome.failure) console.log(outcome.failure);
  if (flags.out !== undefined) appendFileSync(flags.out, `${JSON.stringify(asResult(outcome))}\n`);
}

/** Without what only this machine knows. */
function asResult({ failure, ...outcome }: Outcome): Outcome {
  return failure === undefined ? outcome : { ...outcome, failure: failure.split("\n")[0] ?? "" };
}

async function main(): Promise<number> {
  if (flags.list) {
    for (const { name, injects, expects } of SCENARIOS)
      console.log(`${name}\n  does: ${injects}\n  then: ${expects}`);
    return 0;
  }
  if (flags["write-docs"] && flags.out === undefined) throw new Error("--write-docs needs --out FILE");
  const failures = Number(flags.rounds) > 0 ? await runRounds() : 0;
  if (flags["write-docs"] && flags.out !== undefined)
    writeFileSync(PAGE, reliabilityPage(readOutcomes(flags.out), SCENARIOS));
  return failures === 0 ? 0 : 1;
}

/** Resolves with how many scenarios failed. */
async function runRounds(): Promise<number> {
  const scenarios = chosen();
  const first = Number(flags.seed ?? Math.floor(Math.random() * 2 ** 31));
  const untilMs = performance.now() + Number(flags.minutes) * 60_000;
  const services = await openServices();
  let failures = 0;
  try {
    for (let round = 0; round < Number(flags.rounds) || performance.now() < untilMs; round++) {
      const seed = first + round;
      console.log(`seed ${seed}: --seed ${seed} repeats this round`);
      const parallel = Number(flags.parallel);
      const outcomes = await runSuite({ scenarios, services, seed, parallel, onOutcome: tell });
      failures += outcomes.filter(({ failure }) => failure !== undefined).length;
    }
  } finally {
    await services.close();
  }
  return failures;
}

process.exitCode = await main();
