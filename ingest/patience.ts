/** How long a stream waits before it says that it cannot go on: for a store while it stops, and for records that are there and do not come. */

import { LabError } from "../core/errors.ts";
import type { State } from "./state.ts";

export type Patience = {
  stopping(): void;
  /** The store does not answer, and is waited for. */
  storeIsAway(error: LabError): void;
  storeAnswered(): void;
  /** Something was read. */
  progressed(): void;
  /** Reading begins at these positions: whatever was waited for before, it is to be read from elsewhere now. */
  positioned(): void;
  /** One past the last visible offset of each partition; empty while the brokers cannot say. */
  ends(next: ReadonlyMap<number, bigint>): void;
  /** Whether a stop would have to wait for a store that is away. */
  readonly isStoreAway: boolean;
  /** Asked every now and then: what is to be done, each once a silence, or null. */
  look(state: State): Verdict | null;
};

/** `tell` comes first, then a new client, and if that hears nothing either, the end. */
export type Verdict = { kind: "tell" | "rejoin"; standingMs: number } | { kind: "give up"; error: LabError };

/** When it is told that nothing comes, and when the client is made anew: shares of the time after which the stream ends. */
const TELL_AT = 0.25;
const REJOIN_AT = 0.5;
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
  /** What was done about the silence so far. */
  let done: "nothing" | "told" | "rejoined" = "nothing";
  let lookedMs = now();

  function moveOn(): void {
    standingMs = 0;
    done = "nothing";
  }

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
  function lookForStall(state: State): Verdict | null {
    // A clock that is set back must not take away what was waited.
    const sinceMs = Math.max(0, Math.min(LONGEST_LOOK_MS, now() - lookedMs));
    lookedMs = now();
    const isWaiting = state.phase !== "running" || state.chunks.length > 0 || state.commit !== null;
    // A client that is made anew joins and reads positions; that alone is no sign of life.
    if (isWaiting && done === "rejoined") return null;
    const isBehind = [...state.partitions].some(
      ([partition, { next }]) => (ends.get(partition) ?? 0n) > next,
    );
    if (isWaiting || !isBehind) {
      moveOn();
      return null;
    }
    standingMs += sinceMs;
    if (standingMs >= stallMs) return { kind: "give up", error: stalled() };
    if (standingMs >= stallMs * REJOIN_AT && done !== "rejoined") {
      done = "rejoined";
      return { kind: "rejoin", standingMs };
    }
    if (standingMs < stallMs * TELL_AT || done !== "nothing") return null;
    done = "told";
    return { kind: "tell", standingMs };
  }

  function stalled(): LabError {
    const seconds = Math.round(standingMs / 1000);
    return new LabError(
      "NO_PROGRESS",
      `${topic}: there are records to read, and none came for ${seconds} s, nor after joining the group anew`,
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
    progressed: moveOn,
    positioned() {
      if (done !== "rejoined") moveOn();
    },
    ends(next) {
      ends = next;
    },
    get isStoreAway() {
      return storeError !== null;
    },
    look(state) {
      const error = lookAtStore();
      return error === null ? lookForStall(state) : { kind: "give up", error };
    },
  };
}
