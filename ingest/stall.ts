/** Notices a stream that has something to read, nothing to wait for, and stands still: a client that died without a word. */

import type { State } from "./state.ts";

export type StallWatch = {
  /** Something was read, or is to be read from elsewhere. */
  progressed(): void;
  /** How long, in ms, the stream has been standing still behind `ends` (next offsets); 0 while it has not. */
  look(state: State, ends: ReadonlyMap<number, bigint>, nowMs: number): number;
};

const LONGEST_LOOK_MS = 1_000;

export function createStallWatch(): StallWatch {
  let standingMs = 0;
  let lookedMs: number | null = null;
  return {
    progressed() {
      standingMs = 0;
    },
    look(state, ends, nowMs) {
      const isWaiting = state.phase !== "running" || state.chunks.length > 0 || state.commit !== null;
      const isBehind = [...state.partitions].some(
        ([partition, { next }]) => (ends.get(partition) ?? 0n) > next,
      );
      // A process that was frozen as a whole has not been let down by its client: the time in between counts for little.
      const passedMs = Math.min(LONGEST_LOOK_MS, nowMs - (lookedMs ?? nowMs));
      lookedMs = nowMs;
      standingMs = isWaiting || !isBehind ? 0 : standingMs + passedMs;
      return standingMs;
    },
  };
}
