/** Rows that stand for deleted ones are kept as long as an older change of their key may still come, and then forgotten. */

import { parseInterval } from "../../delta/interval.ts";
import type { Snapshot } from "../../delta/table.ts";
import type { KeyIndex, Located } from "./key-index.ts";

/** Table property: how long such a row is kept after the time at which its source deleted it, such as `interval 30 days`. */
export const KEEP_DELETES_PROPERTY = "lab.cdc.keepDeletes";

const DAY_MS = 86_400_000;
/** A topic keeps its messages for a week by default, and a day more for clocks and delays. */
const KEPT_MS = 8 * DAY_MS;
const EVERY_MS = 3_600_000;

/**
 * The rows that are to be forgotten with the next commit: none but with the first one and then once an hour, and of those that the index knows, so that
 * none is read for this. Rows whose time is not known are kept.
 */
export function createPurging(
  now: () => number,
): (index: KeyIndex, snapshot: Snapshot, signal: AbortSignal) => Promise<Located[]> {
  let lastMs = Number.NEGATIVE_INFINITY;
  return async (index, { metadata }, signal) => {
    const nowMs = now();
    if (nowMs - lastMs < EVERY_MS) return [];
    lastMs = nowMs;
    const kept = metadata.configuration[KEEP_DELETES_PROPERTY];
    const before = BigInt(nowMs - (kept === undefined ? KEPT_MS : parseInterval(kept))) * 1000n;
    const old: Located[] = [];
    for await (const row of index.known(signal)) {
      const time = row.order?.position?.timeMicros;
      if (row.isDeleted && time != null && time < before) old.push(row);
    }
    return old;
  };
}
