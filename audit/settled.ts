/** What commits of a table settled of each topic, run and window, as `commitInfo.lab.audit` tells it. Pure. */

import type { CommitInfo } from "../delta/actions.ts";
import { auditsOf } from "../engine/lab-info.ts";
import type { Settled } from "./findings.ts";
import { addChecksums, negativeChecksum } from "./header.ts";

export type SettledOf = Settled & { topic: string };

export type Sums = {
  add(one: SettledOf): void;
  /** `sign` -1: what it says is taken back. */
  addCommit(info: CommitInfo | undefined, sign?: 1 | -1): void;
  /** Those that are not zero. */
  readonly all: readonly SettledOf[];
};

/** Adds up what it is given, in any order. */
export function settledSums(): Sums {
  const sums = new Map<string, SettledOf>();

  function add(one: SettledOf): void {
    const key = JSON.stringify([one.topic, one.origin, one.epoch, one.windowMs]);
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, { ...one });
    else {
      sum.received += one.received;
      sum.letters += one.letters;
      sum.checksum = addChecksums(sum.checksum, one.checksum);
      sum.last = Math.max(sum.last, one.last);
    }
  }

  return {
    add,
    addCommit(info, sign = 1) {
      for (const { topic, origin, epoch, windows } of auditsOf(info))
        for (const { start, received, letters, checksum, last } of windows)
          add({
            ...{ topic, origin, epoch, windowMs: start, received: sign * received, letters: sign * letters },
            ...{ checksum: sign === 1 ? checksum : negativeChecksum(checksum), last },
          });
    },
    get all() {
      return [...sums.values()].filter(
        ({ received, letters, checksum }) => received !== 0 || letters !== 0 || checksum !== 0,
      );
    },
  };
}
