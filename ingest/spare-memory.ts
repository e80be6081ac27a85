/**
 * Memory of encoded chunks, for the next ones. Fresh pages cost as much as what is copied into them; and memory made anew each second is what
 * V8 collects garbage for, which was a third of the CPU of a trickle.
 */

import type { RawBatch } from "../engine/raw-batch.ts";
import { LEAST_CAPACITY } from "./chunk.ts";

export type SpareMemory = {
  /** Empty, of whatever size; null where none waits. */
  take(): RawBatch | null;
  /** Nobody reads it any more: it comes to hold other messages. */
  giveBack(raw: RawBatch): void;
  /** A chunk of about `nextBytes` comes next: lets go what was taken for far more than that. */
  settle(nextBytes: number): void;
};

/** One chunk fills while another is encoded. */
const MOST_KEPT = 2;
/** Chunks of a trickle differ: memory this many times what comes is worth keeping. */
const FITTING = 4;

/** Holds none. */
export function createSpareMemory(): SpareMemory {
  let free: RawBatch[] = [];
  return {
    take() {
      const taken = free.pop() ?? null;
      taken?.clear();
      return taken;
    },
    giveBack(raw) {
      if (free.length < MOST_KEPT) free.push(raw);
    },
    settle(nextBytes) {
      const most = Math.max(FITTING * nextBytes, LEAST_CAPACITY);
      free = free.filter(({ capacityBytes }) => capacityBytes <= most);
    },
  };
}
