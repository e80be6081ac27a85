/** What commits of a table settled of each run and window, as `commitInfo.lab.audit` tells it. Pure. */

import type { CommitInfo } from "../delta/actions.ts";
import { auditsOf } from "../engine/lab-info.ts";
import type { Settled } from "./answer.ts";
import { addChecksums } from "./header.ts";

/** The sums over commits of what `topic` brought. */
export function sumSettled(topic: string, commits: Iterable<CommitInfo | undefined>): Settled[] {
  const sums = new Map<string, Settled>();
  for (const info of commits) {
    for (const { origin, epoch, windows, ...one } of auditsOf(info)) {
      if (one.topic !== topic) continue;
      for (const { start, received, letters, checksum } of windows) {
        const key = JSON.stringify([origin, epoch, start]);
        const sum = sums.get(key) ?? { origin, epoch, windowMs: start, received: 0, letters: 0, checksum: 0 };
        sums.set(key, {
          ...sum,
          received: sum.received + received,
          letters: sum.letters + letters,
          checksum: addChecksums(sum.checksum, checksum),
        });
      }
    }
  }
  return [...sums.values()];
}
