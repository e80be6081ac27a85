/**
 * Small files are joined by the one who makes them, every so many commits: another process would lose to the next merge, which marks rows in the
 * files that it reads, again and again.
 */

import type { Snapshot, Table } from "../../delta/table.ts";
import { optimize } from "../../upkeep/optimize.ts";

export type CompactionOptions = {
  scratchDir: string;
  memoryLimitBytes: number;
  threads: number;
  now: () => number;
  /** Commits between two looks for small files to join; 0: never, somebody else does. */
  compactEvery: number;
  /** Small files were not joined: it is tried again later. */
  onCompactionFailure: (error: unknown) => void;
};

/** Told of each commit; gives the version that the next one builds on. It fails only where `signal` aborts. */
export function createCompaction(
  options: CompactionOptions,
): (table: Table, committed: Snapshot, signal: AbortSignal) => Promise<Snapshot> {
  const { compactEvery, onCompactionFailure } = options;
  let commits = 0;
  return async (table, committed, signal) => {
    if (compactEvery === 0 || ++commits < compactEvery) return committed;
    commits = 0;
    try {
      const { version } = await optimize(table, { ...options, rule: "tiered", signal });
      return version === null ? committed : await table.latest(signal);
    } catch (error) {
      signal.throwIfAborted();
      onCompactionFailure(error);
      return committed;
    }
  };
}
