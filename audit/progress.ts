/** How far a topic is settled in a table. */

import type { Snapshot } from "../delta/table.ts";
import { settledOffsets } from "../engine/settled-offsets.ts";
import type { Position, Watermarks } from "../kafka/ports.ts";

export type Progress = {
  /** Messages that are still in the topic and not settled; offsets of aborted and compacted records count, too. */
  lag: number;
  /** Offsets that retention took before they were settled. */
  gone: number;
  /** The first offset of each partition that waits. */
  waiting: readonly Position[];
};

/** `snapshot` null: there is no table yet, and nothing is settled. */
export function progressOf(
  topic: string,
  marks: ReadonlyMap<number, Watermarks>,
  snapshot: Pick<Snapshot, "txns"> | null,
): Progress {
  let [lag, gone] = [0n, 0n];
  const waiting: Position[] = [];
  const settled = snapshot ? settledOffsets(snapshot, topic) : new Map<number, bigint>();
  for (const [partition, { low, high }] of marks) {
    const next = (settled.get(partition) ?? -1n) + 1n;
    const from = larger(next, low);
    if (high > from) waiting.push({ topic, partition, nextOffset: from });
    lag += larger(0n, high - from);
    gone += larger(0n, low - next);
  }
  return { lag: Number(lag), gone: Number(gone), waiting };
}

const larger = (a: bigint, b: bigint) => (a > b ? a : b);
