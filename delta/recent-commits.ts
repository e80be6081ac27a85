/** Commits that were just read or written, kept for a moment: a lost race asks for the winner's several times, and is run again at once. */

import type { Action } from "./actions.ts";

export type RecentCommits = {
  get(version: number): readonly Action[] | undefined;
  note(version: number, actions: readonly Action[]): void;
};

/** The last few small ones; large ones are rare and dear to keep. */
export function recentCommits(limits = { commits: 64, actions: 256 }): RecentCommits {
  const kept = new Map<number, readonly Action[]>();
  return {
    get: (version) => kept.get(version),
    note(version, actions) {
      if (actions.length > limits.actions) return;
      kept.delete(version);
      kept.set(version, actions);
      for (const oldest of kept.keys()) {
        if (kept.size <= limits.commits) break;
        kept.delete(oldest);
      }
    },
  };
}
