/** How long a stream waits before it says that it cannot go on: for a store while it stops, and for records that are there and do not come. */

import { LabError } from "../core/errors.ts";
import type { State } from "./state.ts";

export type Patience = {
  stopping(): void;
  /** The store does not answer, and is waited for. */
  storeIsAway(error: LabError): void;
  storeAnswered(): void;
  /** Something was read, or is to be read from elsewhere. */
  progressed(): void;
  /** One past the last visible offset of each partition; empty while the brokers cannot say. */
  ends(next: ReadonlyMap<number, bigint>): void;
  /** Whether a stop would have to wait for a store that is away. */
  readonly isStoreAway: boolean;
  /** Asked every now and then: why to give up, or null. */
  look(state: State): LabError | null;
};

/** The longest that one look counts for, in ms: a process that was frozen as a whole has not been let down by its client. */
const LONGEST_LOOK_MS = 1_000;

/** Both limits in ms. */
export function createPatience(options: {
  topic: string;
  stopGraceMs: number;
  stallMs: number;
  now: () => number;
}): Patience {
  const { topic, stopGraceMs, stallMs, now } = options;
  let stoppingSinceMs: number | null = null;
  let storeError: LabError | null = null;
  let ends: ReadonlyMap<number, bigint> = new Map();
  let standingMs = 0;
  let lookedMs = now();

  /** The log has all that was settled, and the next start reads the rest again. */
  function lookAtStore(): LabError | null {
    if (stoppingSinceMs === null || storeError === null || now() - stoppingSinceMs < stopGraceMs) return null;
    const { code, message } = storeError;
    return new LabError(code, `stopped before what was read last could be committed: ${message}`, {
      hint: "nothing is lost: the next start reads those records again",
      cause: storeError,
    });
  }

  /** Nobody else ends a stream whose client died without a word: to whoever runs it, it looks well. */
  function lookForStall(state: State): LabError | null {
    const isWaiting = state.phase !== "running" || state.chunks.length > 0 || state.commit !== null;
    const isBehind = [...state.partitions].some(
      ([partition, { next }]) => (ends.get(partition) ?? 0n) > next,
    );
    standingMs = isWaiting || !isBehind ? 0 : standingMs + Math.min(LONGEST_LOOK_MS, now() - lookedMs);
    lookedMs = now();
    if (standingMs < stallMs) return null;
    return new LabError(
      "NO_PROGRESS",
      `${topic}: there are records to read, and none came for ${Math.round(standingMs / 1000)} s`,
      { hint: "start again: it goes on where the table is; look at the broker if it comes back" },
    );
  }

  return {
    stopping() {
      stoppingSinceMs ??= now();
    },
    storeIsAway(error) {
      storeError = error;
    },
    storeAnswered() {
      storeError = null;
    },
    progressed() {
      standingMs = 0;
    },
    ends(next) {
      ends = next;
    },
    get isStoreAway() {
      return storeError !== null;
    },
    look: (state) => lookAtStore() ?? lookForStall(state),
  };
}
