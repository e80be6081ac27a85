/** One run, one window: what was stated beside what was settled; pure. */

import {
  type Cause,
  type Finding,
  type Settled,
  SKEW_MS,
  STAGES,
  type Statement,
  type TopicFacts,
} from "./findings.ts";
import { WINDOW_MS } from "./header.ts";

export type Cell = {
  epoch: number;
  windowMs: number;
  stated: number;
  /** Places in the window of the first and the last one stated; -1 for the last where nothing was. */
  first: number;
  last: number;
  found: number;
  letters: number;
  /** Some that were settled are beyond the last one stated. */
  isBeyond: boolean;
  /** Content and places of what was settled are those that were stated. */
  isSame: boolean;
  /** When the run said so; undefined where it has not. */
  statedAtMs: number | undefined;
};

/** The cells of one origin, in the order of time. */
export function cellsOf(statements: readonly Statement[], settled: readonly Settled[]): Cell[] {
  const keyOf = ({ epoch, windowMs }: { epoch: number; windowMs: number }) => `${epoch}/${windowMs}`;
  const bySettled = new Map(settled.map((one) => [keyOf(one), one]));
  const byStated = new Map(statements.map((one) => [keyOf(one), one]));
  const cells = [...new Set([...byStated.keys(), ...bySettled.keys()])].map((key): Cell => {
    const [said, found] = [byStated.get(key), bySettled.get(key)];
    const { epoch, windowMs } = (said ?? found)!;
    return {
      ...{ epoch, windowMs, stated: said?.count ?? 0, letters: found?.letters ?? 0 },
      ...{ first: said?.first ?? 0, last: said?.last ?? -1 },
      found: found?.received ?? 0,
      isBeyond: (found?.last ?? -1) > (said?.last ?? -1),
      isSame: said?.checksum === found?.checksum,
      statedAtMs: said?.sentAtMs,
    };
  });
  return cells.sort((a, b) => a.windowMs - b.windowMs || a.epoch - b.epoch);
}

/** What is amiss in a cell. `isSuperseded`: its run ended without a last word. `isOpen`: it has not said its last word. */
export function compareCell(
  origin: string,
  cell: Cell,
  known: { isSuperseded: boolean; isOpen: boolean; facts: TopicFacts },
): Finding[] {
  const { epoch, windowMs, stated, found } = cell;
  const { isSuperseded, isOpen, facts } = known;
  const finding = (cause: Cause, count: number): Finding[] => [
    { origin, epoch, windowMs, stage: STAGES[cause], cause, count, sinceMs: windowMs + WINDOW_MS },
  ];
  if (found < stated) return finding(whyMissing(cell, facts), stated - found);
  if (found > stated) {
    // A run that was killed could not state its last messages; one that goes on has not done so yet.
    if (isSuperseded) return [];
    return finding(isOpen && cell.isBeyond ? "lagging" : "doubled", found - stated);
  }
  if (cell.isSame) return [];
  // As many, of which some are not stated yet: the stated ones are on their way.
  return mayWait(cell, facts) ? finding("in flight", 0) : finding("altered", found);
}

/** Why stated messages are not there. */
export function whyMissing(cell: Cell, facts: TopicFacts): Cause {
  const { gone, forgottenMs } = facts;
  const { windowMs } = cell;
  if (mayWait(cell, facts)) return "in flight";
  if (gone > 0) return "gone";
  return forgottenMs !== undefined && windowMs - SKEW_MS < forgottenMs ? "forgotten" : "lost";
}

/**
 * Messages that wait may be the missing ones only if they came to the broker before the statement that counts these; clocks may differ by
 * `SKEW_MS`. So a loss shows behind a stream that never stands still, too.
 */
function mayWait({ statedAtMs }: Cell, { lag, waitingSinceMs }: TopicFacts): boolean {
  if (lag === 0) return false;
  return waitingSinceMs === undefined || statedAtMs === undefined || waitingSinceMs - SKEW_MS <= statedAtMs;
}
