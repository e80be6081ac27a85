/** Runs scenarios, some side by side, and says what came of each. */

import { cpus, totalmem } from "node:os";
import { openBench } from "./bench.ts";
import { NotRun, type Outcome, type Scenario } from "./scenario.ts";
import { brokers } from "./scenarios/brokers.ts";
import { letters } from "./scenarios/letters.ts";
import { processes } from "./scenarios/processes.ts";
import { stores } from "./scenarios/stores.ts";
import { topics } from "./scenarios/topics.ts";
import type { ChaosServices } from "./services.ts";

export const SCENARIOS: readonly Scenario[] = [...processes, ...brokers, ...stores, ...topics, ...letters];

export type SuiteOptions = {
  scenarios: readonly Scenario[];
  seed: number;
  services: ChaosServices;
  /** How many at a time. */
  parallel: number;
  /** Called as each one ends. */
  onOutcome: (outcome: Outcome) => void;
};

/** Each scenario once. Never rejects for one that fails: its outcome says so. */
export async function runSuite(options: SuiteOptions): Promise<Outcome[]> {
  const waiting = [...options.scenarios];
  const outcomes: Outcome[] = [];
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const outcome = await runOne(next, options);
      outcomes.push(outcome);
      options.onOutcome(outcome);
    }
  };
  await Promise.all(Array.from({ length: options.parallel }, lane));
  return outcomes;
}

async function runOne(scenario: Scenario, { seed, services }: SuiteOptions): Promise<Outcome> {
  const startedMs = performance.now();
  const base = {
    scenario: scenario.name,
    seed,
    at: new Date().toISOString(),
    ...{ messages: 0, rows: 0, letters: 0, skipped: 0, lost: 0, doubled: 0, peakMiB: 0 },
    faults: {},
    machine: machine(),
  };
  const opened = await openBench({ scenario, seed, brokers: services.brokers, s3: services.s3 }).catch(
    (error: unknown) => ({ failure: String(error) }),
  );
  if ("failure" in opened) return { ...base, seconds: 0, failure: opened.failure };
  let ending: { failure?: string; notRun?: string } = {};
  try {
    await scenario.run(opened.bench);
  } catch (error) {
    ending =
      error instanceof NotRun
        ? { notRun: error.message }
        : { failure: String((error as Error).stack ?? error) };
  }
  const ledger = opened.ledger();
  const outcome: Outcome = {
    ...base,
    seconds: Math.round((performance.now() - startedMs) / 1000),
    ...ending,
    faults: opened.faults,
    messages: ledger?.produced ?? 0,
    rows: ledger?.rows ?? 0,
    letters: ledger?.letters ?? 0,
    skipped: ledger?.skipped ?? 0,
    lost: ledger?.lost ?? 0,
    doubled: ledger?.doubled ?? 0,
    peakMiB: opened.peakMiB(),
  };
  await opened.close().catch((error: unknown) => {
    outcome.failure ??= `what it opened could not be closed: ${String(error)}`;
  });
  return outcome;
}

function machine(): string {
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} CPUs, ${memory} GiB, ${process.platform} ${process.arch}, Node ${process.versions.node}`;
}
