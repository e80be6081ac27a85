/** The commit of a batch: rows, those they take the place of, and positions, together. Pure. */

import type { Metadata, PartitionValues } from "../../delta/actions.ts";
import { sumBytes } from "../../delta/file-totals.ts";
import { serializeSchema } from "../../delta/schema.ts";
import type { CommitRequest, Reads, Snapshot } from "../../delta/table.ts";
import type { StructType } from "../../delta/types.ts";
import { ENFORCED } from "../../engine/constraints.ts";
import type { MergeCounts, MergeRequest } from "../apply.ts";
import type { Folded } from "../change.ts";
import { isPartedByKey } from "./key-partitions.ts";
import type { Plan } from "./plan.ts";
import type { Retirement } from "./retire.ts";
import type { Written } from "./write-rows.ts";

/** What was made for a request. */
export type Made = {
  plan: Plan;
  /** Of the new rows. */
  schema: StructType;
  /** Table properties that change. */
  properties: Readonly<Record<string, string>>;
  written: Written;
  retirement: Retirement;
  counts: MergeCounts;
};

export function mergeRequest(request: MergeRequest, made: Made): CommitRequest {
  const { snapshot, keyColumns, txns, readTxns, lab } = request;
  const { plan, written, retirement, counts } = made;
  const adds = [...written.adds, ...retirement.adds];
  const { removes } = retirement;
  const metadata = changedMetadata(snapshot, made);
  return {
    readSnapshot: snapshot,
    operation: "MERGE",
    operationParameters: { predicate: JSON.stringify(keyColumns.map((name) => `t.${name} = s.${name}`)) },
    operationMetrics: {
      numTargetRowsInserted: String(counts.inserted),
      numTargetRowsUpdated: String(counts.updated),
      numTargetRowsDeleted: String(counts.deleted),
      numTargetRowsCopied: String(retirement.copied),
      numTargetFilesAdded: String(adds.length),
      numTargetFilesRemoved: String(removes.length),
      numTargetChangeFilesAdded: String(written.cdcs.length),
      numTargetDeletionVectorsAdded: String(retirement.kept.length),
      numTargetBytesAdded: String(
        sumBytes(written.adds) + (retirement.copied > 0 ? sumBytes(retirement.adds) : 0),
      ),
    },
    ...{ adds, removes, cdcs: written.cdcs, txns, readTxns, enforced: ENFORCED },
    ...(metadata ? { metadata } : {}),
    reads: readsOf(
      snapshot,
      keyColumns,
      plan,
      written,
      removes.map(({ path }) => path),
    ),
    info: { lab: lab(counts) },
  };
}

/** Undefined where it stays. */
function changedMetadata(
  { schema: before, metadata }: Snapshot,
  { schema, properties }: Made,
): Metadata | undefined {
  const schemaString = schema === before ? metadata.schemaString : serializeSchema(schema);
  const isSame = schemaString === metadata.schemaString && Object.keys(properties).length === 0;
  if (isSame) return undefined;
  return { ...metadata, schemaString, configuration: { ...metadata.configuration, ...properties } };
}

/**
 * A key that is in no file must not have come into one: rows that others add are read, unless they are in partitions that no key of the batch
 * can be in. Files that lost no row may be rearranged meanwhile.
 */
function readsOf(
  snapshot: Snapshot,
  keyColumns: readonly string[],
  plan: Plan,
  written: Written,
  touched: readonly string[],
): Reads {
  if (plan.rows.length === 0 && plan.retired.length === 0) return "nothing";
  const files = new Set(touched);
  const { partitionColumns } = snapshot;
  if (plan.truncated.length > 0 || !isPartedByKey(snapshot, keyColumns))
    return { files, partitions: () => true };
  const keyOf = (values: PartitionValues) =>
    JSON.stringify(partitionColumns.map((name) => values[name] ?? null));
  const mine = new Set(written.adds.map(({ partitionValues }) => keyOf(partitionValues)));
  return { files, partitions: (values) => mine.has(keyOf(values)) };
}

/** Rows as readers see them. Of a change that did nothing for them is said that it was ignored. */
export function countsOf(plan: Plan, folded: Folded): MergeCounts {
  const count = (effect: string) => plan.rows.filter((row) => row.effect === effect).length;
  const truncated = plan.truncated.filter(({ isDeleted }) => !isDeleted).length;
  const [inserted, updated, deleted] = [count("insert"), count("update"), count("delete")];
  return {
    ...{ inserted, updated, deleted: deleted + truncated, swept: plan.swept },
    ignored: folded.changes.length - inserted - updated - deleted - plan.aside.removed,
    folded: folded.folded,
    uncertain: folded.uncertain + plan.uncertain,
  };
}
