/** How far a topic is settled in the tables that its messages go to. */

import type { Snapshot } from "../delta/table.ts";
import { settledOffsets } from "../engine/settled-offsets.ts";
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
  snapshots: readonly Pick<Snapshot, "txns">[],
): Progress {
  let [lag, gone] = [0n, 0n];
  const settled = snapshots.map((snapshot) => settledOffsets(snapshot, topic));
  for (const [partition, { low, high }] of marks) {
    const next = settled.reduce((most, offsets) => larger(most, (offsets.get(partition) ?? -1n) + 1n), 0n);
    lag += larger(0n, high - larger(next, low));
    gone += larger(0n, low - next);
  }
  return { lag: Number(lag), gone: Number(gone) };
}

const larger = (a: bigint, b: bigint) => (a > b ? a : b);
