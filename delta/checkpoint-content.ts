/** What a checkpoint of a version holds (PROTOCOL.md, "Checkpoints"), and in which form. */

import type { Action, Txn } from "./actions.ts";
import type { StatsForm } from "./checkpoint-write.ts";
import type { Snapshot } from "./table.ts";
import { checkpointStats, deletedFileRetentionMs, transactionRetentionMs } from "./table-properties.ts";
import { mappingMode } from "./writer-duties.ts";

export type CheckpointContent = {
  /** All but files. */
  actions(): Iterable<Action>;
  /** Live files, and tombstones while older versions may still need what they name. Made one at a time. */
  files(): Iterable<Action>;
  txns: ReadonlyMap<string, Txn>;
  stats: StatsForm;
  nowMs: number;
};

export function contentOf(snapshot: Snapshot, nowMs: number): CheckpointContent {
  const { protocol, metadata } = snapshot;
  const txns = lastingTxns(snapshot, nowMs);
  const expired = nowMs - deletedFileRetentionMs(metadata.configuration);
  return {
    txns,
    stats: statsForm(snapshot),
    nowMs,
    *actions() {
      yield { protocol };
      yield { metaData: metadata };
      for (const txn of txns.values()) yield { txn };
      for (const domainMetadata of snapshot.domains().values()) yield { domainMetadata };
    },
    *files() {
      for (const remove of snapshot.tombstones())
        if ((remove.deletionTimestamp ?? 0) > expired) yield { remove };
      for (const add of snapshot.files()) yield { add };
    },
  };
}

/** Transactions expire only where the table says so and they say when they were written; positions of streams say nothing and stay. */
function lastingTxns(snapshot: Snapshot, nowMs: number): ReadonlyMap<string, Txn> {
  const retention = transactionRetentionMs(snapshot.metadata.configuration);
  if (retention === undefined) return snapshot.txns();
  const isKept = ({ lastUpdated }: Txn) => lastUpdated === undefined || lastUpdated > nowMs - retention;
  return new Map([...snapshot.txns()].filter(([, txn]) => isKept(txn)));
}

/** Mapped columns have statistics under names that the schema does not show at its fields: those stay text. */
function statsForm({ schema, partitionColumns, metadata }: Snapshot): StatsForm {
  const { configuration } = metadata;
  const { asJson, asStruct } = checkpointStats(configuration);
  if (!asStruct || mappingMode(metadata) !== "none") return { asJson: true };
  return { asJson, asColumnsOf: { schema, partitionColumns, configuration } };
}
