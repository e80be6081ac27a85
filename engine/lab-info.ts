/** What an ingester wrote down in `commitInfo.lab` (contracts.md, "Tables"): which offsets a version settled, and for whom. */

import type { CommitInfo } from "../delta/actions.ts";

/** Offsets of one Kafka partition that a version settled, both ends included. */
export type OffsetRange = { topic: string; partition: number; first: string; last: string };

export type LabInfo = {
  /** Prefix of the txn ids. */
  app: string;
  /** Grows when the topic was made anew and the user said restart. */
  generation: number;
  partitions: OffsetRange[];
};

/** Undefined for commits of others: they may write anything under that name. */
export function labInfoOf(info: CommitInfo | undefined): LabInfo | undefined {
  const lab = info?.lab as
    | { v?: unknown; app?: unknown; generation?: unknown; partitions?: unknown }
    | undefined;
  if (lab?.v !== 1 || !Array.isArray(lab.partitions)) return undefined;
  return {
    app: String(lab.app ?? ""),
    generation: Number(lab.generation ?? 0),
    partitions: lab.partitions.map(({ topic, partition, first, last }) => ({
      topic: String(topic),
      partition: Number(partition),
      first: String(first),
      last: String(last),
    })),
  };
}

/** The ranges that an ingester wrote down; none for commits of others. */
export function offsetsOf(info: CommitInfo | undefined): OffsetRange[] {
  return labInfoOf(info)?.partitions ?? [];
}
