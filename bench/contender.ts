/** What is measured against each other on one topic. */

import type { Usage } from "./measured.ts";

/** As programs are called in results: ours from a clone, and compiled as an image has it. */
export const CLONE = "lab, clone";
export const COMPILED = "lab, compiled";

export type Work = {
  brokers: readonly string[];
  topic: string;
  /** `tiny` messages have another schema than all others. */
  isTiny: boolean;
  messages: number;
  /** Where the table is to be; nothing is there. */
  table: string;
  /** For everything else of this run; is removed after it. */
  folder: string;
};

export type Contender = {
  name: string;
  /** SQL that tells messages apart in its table: see `checkTable`. */
  identity(isTiny: boolean): string;
  run(work: Work, signal: AbortSignal): Promise<Usage>;
};
