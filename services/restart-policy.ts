/** What the supervisor does when a part ends by itself: a pure decision. */

export type Ending = {
  /** Exit status, or null where a signal ended it. */
  code: number | null;
  signal: string | null;
  /** How long it ran, from its start. */
  ranMs: number;
};

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

/**
 * `failures` is how often in a row the part ended soon after its start; pass on what the decision returns. A part that is `finite` is
 * done when it ends with status 0; any other comes back, also after a polite signal.
 */
export function afterEnding(ending: Ending, failures: number, finite: boolean): Decision {
  if (finite && ending.code === 0) return { kind: "done" };
  if (ending.code === CONFIG_EXIT) return { kind: "give-up", why: "its settings are refused" };
  const before = ending.ranMs >= STABLE_MS ? 0 : failures;
  if (before >= MOST_FAILURES) return { kind: "give-up", why: `it ended ${before + 1} times in a row` };
  const afterMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** before);
  return { kind: "restart", afterMs, failures: before + 1 };
}

/** How it ended, in words. */
export function describeEnding(ending: Pick<Ending, "code" | "signal">): string {
  return ending.signal === null ? `exit ${ending.code}` : `killed by ${ending.signal}`;
}
