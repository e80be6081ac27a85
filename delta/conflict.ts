/** Whether a commit that won the race contradicts ours (checklist of the protocol's writers; pure). */

import { isDeepStrictEqual } from "node:util";
import type { Action, Add, Metadata, PartitionValues, Protocol, Remove } from "./actions.ts";
import { canonicalPath } from "./path.ts";
import { writerFeaturesOf } from "./protocol.ts";
import { parseSchema } from "./schema.ts";
import type { CommitRequest, ConflictReason } from "./table.ts";
import type { DataType } from "./types.ts";

export type IsolationLevel = "Serializable" | "WriteSerializable" | "SnapshotIsolation";

/** What of a request decides conflicts, apart from the snapshot it rests on. */
export type Mine = Pick<
  CommitRequest,
  "adds" | "removes" | "cdcs" | "txns" | "metadata" | "protocol" | "domains" | "reads" | "readTxns"
>;

export type ConflictContext = {
  /** The table's root, to compare paths. */
  root: string;
  /** The protocol and metadata that the request was decided on. */
  protocol: Protocol;
  metadata: Metadata;
};

export type Conflict = { reason: ConflictReason; message: string };

/** The isolation that the table asks for; a commit that changes no data needs less. */
export function isolationOf(mine: Mine, metadata: Metadata): IsolationLevel {
  const files = [...(mine.adds ?? []), ...(mine.removes ?? [])];
  if (files.length > 0 && files.every((file) => !file.dataChange)) return "SnapshotIsolation";
  return metadata.configuration["delta.isolationLevel"] === "Serializable"
    ? "Serializable"
    : "WriteSerializable";
}

/** Only adds, decided without looking at the table's files. Transactions may have been looked at. */
export function isBlindAppend(mine: Mine): boolean {
  return !mine.removes?.length && !mine.cdcs?.length && (mine.reads ?? "nothing") === "nothing";
}

/** A function that finds what in a winner's actions stands in the way of `mine`; undefined where both may stand. */
export function conflictsOf(
  mine: Mine,
  context: ConflictContext,
): (winner: readonly Action[]) => Conflict | undefined {
  const keyOf = (path: string) => canonicalPath(context.root, path);
  const isolation = isolationOf(mine, context.metadata);
  const reads = mine.reads ?? "nothing";
  const files = typeof reads === "object" ? reads.files : undefined;
  const readFiles = files && new Set([...files].map(keyOf));
  const removed = new Set((mine.removes ?? []).map((file) => keyOf(file.path)));
  const added = new Set((mine.adds ?? []).map((file) => keyOf(file.path)));
  const apps = new Set([...(mine.txns ?? []).map((txn) => txn.appId), ...(mine.readTxns ?? [])]);
  const domains = new Set((mine.domains ?? []).map((domain) => domain.domain));

  /** Whether rows were looked for where these partition values are; unknown values may be anywhere. */
  const isLookedAt = (values: PartitionValues | undefined) => {
    if (isolation === "SnapshotIsolation" || reads === "nothing") return false;
    if (reads === "table") return true;
    return reads.partitions !== undefined && (values === undefined || reads.partitions(values));
  };
  const addConflict = (add: Add, isNewToReaders: boolean): Conflict | undefined => {
    const { path, partitionValues } = add;
    if (added.has(keyOf(path)))
      return { reason: "append", message: `${path} was added by another writer, too` };
    if (isNewToReaders && isLookedAt(partitionValues))
      return { reason: "append", message: `${path} was added to what this commit read` };
    return undefined;
  };
  const removeConflict = ({ path, partitionValues }: Remove): Conflict | undefined => {
    const key = keyOf(path);
    if (readFiles ? readFiles.has(key) : isLookedAt(partitionValues))
      return { reason: "removed", message: `${path} was removed from what this commit read` };
    // Adding a live file again, for its statistics or deletion vector, would bring back what the winner took away.
    if (removed.has(key) || added.has(key))
      return { reason: "removed", message: `${path} was removed by another writer, too` };
    return undefined;
  };

  return (winner) => {
    const whole = protocolConflict(mine, winner, context) ?? metadataConflict(mine, winner, context);
    if (whole) return whole;
    const isNewToReaders = bringsRows(winner, isolation, mine.metadata !== undefined);
    for (const action of winner) {
      const conflict =
        "txn" in action && apps.has(action.txn.appId)
          ? txnConflict(action.txn.appId, action.txn.version)
          : "domainMetadata" in action && domains.has(action.domainMetadata.domain)
            ? domainConflict(action.domainMetadata.domain)
            : "add" in action
              ? addConflict(action.add, isNewToReaders)
              : "remove" in action
                ? removeConflict(action.remove)
                : undefined;
      if (conflict) return conflict;
    }
    return undefined;
  };
}

function protocolConflict(
  mine: Mine,
  winner: readonly Action[],
  context: ConflictContext,
): Conflict | undefined {
  const changed = winner.find((action) => "protocol" in action)?.protocol;
  if (!changed) return undefined;
  if (mine.protocol) return { reason: "protocol", message: "both commits change the protocol" };
  const left = writerFeaturesOf(changed);
  const dropped = [...writerFeaturesOf(context.protocol)].filter((feature) => !left.has(feature));
  if (dropped.length === 0) return undefined;
  return { reason: "protocol", message: `the protocol lost ${dropped.join(", ")}` };
}

/** Another schema or other properties: rows were made and checked for the old ones. Only identity columns that moved on are harmless. */
function metadataConflict(
  mine: Mine,
  winner: readonly Action[],
  context: ConflictContext,
): Conflict | undefined {
  const changed = winner.find((action) => "metaData" in action)?.metaData;
  if (!changed) return undefined;
  if (!mine.metadata && isDeepStrictEqual(withoutHighWater(changed), withoutHighWater(context.metadata)))
    return undefined;
  return { reason: "metadata", message: "the table's schema or properties changed" };
}

function withoutHighWater(metadata: Metadata): unknown {
  const strip = (type: DataType): unknown => {
    if (typeof type === "string") return type;
    if (type.type !== "struct") return type;
    const fields = type.fields.map(
      ({ metadata: { "delta.identity.highWaterMark": _, ...rest }, ...field }) => ({
        ...field,
        metadata: rest,
      }),
    );
    return { type: "struct", fields };
  };
  return { ...metadata, schemaString: strip(parseSchema(metadata.schemaString)) };
}

function txnConflict(appId: string, version: bigint): Conflict {
  return { reason: "txn", message: `transaction ${appId} was moved to ${version} by another writer` };
}

function domainConflict(domain: string): Conflict {
  return { reason: "domain", message: `domain ${domain} was changed by another writer` };
}

/**
 * Whether the winner's adds are rows that our reading missed. Not where the winner only rearranged rows, nor, below Serializable, where it was
 * a blind append: that one counts as done after ours. A change of metadata that rests on the rows has to see them all.
 */
function bringsRows(winner: readonly Action[], isolation: IsolationLevel, changesMetadata: boolean): boolean {
  const hasRemoves = winner.some((action) => "remove" in action);
  const changesRows = winner.some(
    (action) =>
      ("add" in action && action.add.dataChange) || ("remove" in action && action.remove.dataChange),
  );
  if (hasRemoves && !changesRows) return false;
  const wasBlind = winner.some(
    (action) => "commitInfo" in action && action.commitInfo.isBlindAppend === true,
  );
  return !wasBlind || isolation === "Serializable" || changesMetadata;
}
