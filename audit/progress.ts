/** How far a topic is settled in the tables that its messages go to. */

import type { Snapshot } from "../delta/table.ts";
import type { Watermarks } from "../kafka/ports.ts";

export type Progress = {
  /** Messages that are still in the topic and not settled; offsets of aborted and compacted records count, too. */
  lag: number;
  /** Offsets that retention took before they were settled. */
  gone: number;
};

/** Of several tables the one that is furthest counts: a message is there once it is in one. */
export function progressOf(
  topic: string,
  marks: ReadonlyMap<number, Watermarks>,
  snapshots: readonly Snapshot[],
): Progress {
  let [lag, gone] = [0n, 0n];
  for (const [partition, { low, high }] of marks) {
    const next = snapshots.reduce(
      (most, snapshot) => larger(most, nextOffset(snapshot, topic, partition)),
      0n,
    );
    lag += larger(0n, high - larger(next, low));
    gone += larger(0n, low - next);
  }
  return { lag: Number(lag), gone: Number(gone) };
}

/** One past the last settled offset, by whichever app; 0 where none is. */
function nextOffset(snapshot: Snapshot, topic: string, partition: number): bigint {
  const end = `/${topic}-${partition}`;
  let next = 0n;
  for (const [id, { version }] of snapshot.txns()) if (id.endsWith(end)) next = larger(next, version + 1n);
  return next;
}

const larger = (a: bigint, b: bigint) => (a > b ? a : b);
