/** What the supervisor does when a part ends by itself: a pure decision. */

import { ERRORS, type ErrorCode } from "../core/errors.ts";

export type Ending = {
  /** Exit status, or null where a signal ended it. */
  code: number | null;
  signal: string | null;
  /** How long it ran, from its start. */
  ranMs: number;
  /** What it said itself about its end. */
  problem?: Problem | undefined;
};

/** The error that a part left, as it is printed. */
export type Problem = { code: ErrorCode; message: string; hint?: string };

export type Decision =
  | { kind: "done" }
  | { kind: "restart"; afterMs: number; failures: number }
  | { kind: "give-up"; why: string };

const FIRST_MS = 200;
const LONGEST_MS = 10_000;
/** A part that ran this long was well: its earlier failures no longer count. */
const STABLE_MS = 30_000;
const MOST_FAILURES = 10;
/** Exit status for wrong usage or configuration (contracts.md): the next start would end the same way. */
const CONFIG_EXIT = 2;
/** So often in a row a part may end by a failure that no restart mends. */
const MOST_LASTING = 2;
/** Failures that a fresh start may well mend, though the same attempt would not. */
const MENDED_BY_RESTART: ReadonlySet<ErrorCode> = new Set([
  "INTERNAL",
  "NO_PROGRESS",
  "PORT_TAKEN",
  "SERVICE_FAILED",
  "COMMIT_CONFLICT",
]);

/**
 * `failures` is how often in a row the part ended soon after its start; pass on what the decision returns. A part that is `finite` is
 * done when it ends with status 0; any other comes back, also after a polite signal. A part that says what is wrong, and that only a person
 * can put right, is given up early.
 */
export function afterEnding(ending: Ending, failures: number, finite: boolean): Decision {
  if (finite && ending.code === 0) return { kind: "done" };
  if (ending.code === CONFIG_EXIT) return { kind: "give-up", why: "its settings are refused" };
  const before = ending.ranMs >= STABLE_MS ? 0 : failures;
  if (isLasting(ending.problem) && before >= MOST_LASTING)
    return { kind: "give-up", why: `it ended so ${before + 1} times in a row` };
  if (before >= MOST_FAILURES) return { kind: "give-up", why: `it ended ${before + 1} times in a row` };
  const afterMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** before);
  return { kind: "restart", afterMs, failures: before + 1 };
}

function isLasting(problem: Problem | undefined): boolean {
  return problem !== undefined && !ERRORS[problem.code].retryable && !MENDED_BY_RESTART.has(problem.code);
}

/** How it ended, in words, with the reason that it gave. */
export function describeEnding({
  code,
  signal,
  problem,
}: Pick<Ending, "code" | "signal" | "problem">): string {
  const how = signal === null ? `exit ${code}` : `killed by ${signal}`;
  return problem === undefined ? how : `${how}, ${problem.code}: ${problem.message}`;
}
