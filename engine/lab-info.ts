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

/** `commitInfo.lab.audit`: what became of stamped messages, one for each run of an origin; those without a stamp are in windows of their Kafka time. */
export type AuditInfo = {
  topic: string;
  origin: string;
  epoch: number;
  windows: readonly AuditWindow[];
};

export type AuditWindow = {
  /** In ms. */
  start: number;
  /** All messages that were settled: rows, letters, and what a transform left out. */
  received: number;
  letters: number;
  checksum: number;
  /** The greatest place in the window of a message that was settled; -1 where none has a stamp. */
  last: number;
};

/** None for commits of others, and for those of messages that were not stamped. */
export function auditsOf(info: CommitInfo | undefined): readonly AuditInfo[] {
  if (labInfoOf(info) === undefined) return [];
  const lab = info?.lab as { audit?: unknown } | undefined;
  return Array.isArray(lab?.audit) ? (lab.audit as AuditInfo[]) : [];
}
