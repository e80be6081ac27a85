/** What a scenario is, and what comes of one. */

import type { Bench } from "./bench.ts";

export type Scenario = {
  name: string;
  /** What is done to it, and what must come of it: for people, and for docs/reliability.md. */
  injects: string;
  expects: string;
  /** What it does to a broker would hurt others: it gets one of its own, with these settings over the lab's. */
  broker?: Readonly<Record<string, string>>;
  /** Short enough, and proved by no other test: `npm test` picks among these. */
  isBounded?: true;
  /** Rejects where something is not as expected. Ends with `bench.ledger`. */
  run(bench: Bench): Promise<void>;
};

/** One run of one scenario, as a line of the results. */
export type Outcome = {
  scenario: string;
  seed: number;
  at: string;
  seconds: number;
  /** Why it was not run, such as a right that is missing. */
  notRun?: string;
  /** Why it failed; and what was found out of it later, by people. */
  failure?: string;
  note?: string;
  /** How often each kind of fault was injected. */
  faults: Record<string, number>;
  messages: number;
  rows: number;
  letters: number;
  skipped: number;
  lost: number;
  doubled: number;
  /** The largest resident memory of an ingester, in MiB. */
  peakMiB: number;
  machine: string;
};

/** Thrown by a scenario that this machine cannot run. */
export class NotRun extends Error {}
