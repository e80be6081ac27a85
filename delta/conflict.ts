/** Whether a commit that won the race contradicts ours (checklist of the protocol's writers; pure). */

import type { Action, Metadata, PartitionValues, Protocol } from "./actions.ts";
import { canonicalPath } from "./path.ts";
import { writerFeaturesOf } from "./protocol.ts";
import type { CommitRequest, ConflictReason } from "./table.ts";

export type IsolationLevel = "Serializable" | "WriteSerializable" | "SnapshotIsolation";

/** What of a request decides conflicts, apart from the snapshot it rests on. */
export type Mine = Pick<
  CommitRequest,
  "adds" | "removes" | "txns" | "metadata" | "protocol" | "domains" | "reads"
>;

export type ConflictContext = {
  /** The table's root, to compare paths. */
  root: string;
  /** The protocol that the request was decided on. */
  protocol: Protocol;
  isolation: IsolationLevel;
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

/** Only adds, decided without looking at the table. */
export function isBlindAppend(mine: Mine): boolean {
  return (mine.removes ?? []).length === 0 && (mine.reads ?? "nothing") === "nothing";
}

/** What in the winner's actions stands in the way of `mine`; undefined where both may stand. */
export function checkConflict(
  mine: Mine,
  winner: readonly Action[],
  context: ConflictContext,
): Conflict | undefined {
  return (
    protocolConflict(mine, winner, context) ??
    metadataConflict(winner) ??
    txnConflict(mine, winner) ??
    domainConflict(mine, winner) ??
    appendConflict(mine, winner, context) ??
    removeConflict(mine, winner, context)
  );
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

function metadataConflict(winner: readonly Action[]): Conflict | undefined {
  if (!winner.some((action) => "metaData" in action)) return undefined;
  return { reason: "metadata", message: "the table's schema or properties changed" };
}

function txnConflict(mine: Mine, winner: readonly Action[]): Conflict | undefined {
  const apps = new Set((mine.txns ?? []).map((txn) => txn.appId));
  for (const action of winner) {
    if ("txn" in action && apps.has(action.txn.appId)) {
      const { appId, version } = action.txn;
      return { reason: "txn", message: `transaction ${appId} was moved to ${version} by another writer` };
    }
  }
  return undefined;
}

function domainConflict(mine: Mine, winner: readonly Action[]): Conflict | undefined {
  const domains = new Set((mine.domains ?? []).map((domain) => domain.domain));
  for (const action of winner) {
    if ("domainMetadata" in action && domains.has(action.domainMetadata.domain))
      return {
        reason: "domain",
        message: `domain ${action.domainMetadata.domain} was changed by another writer`,
      };
  }
  return undefined;
}

function appendConflict(
  mine: Mine,
  winner: readonly Action[],
  context: ConflictContext,
): Conflict | undefined {
  const { isolation } = context;
  if (isolation === "SnapshotIsolation") return undefined;
  const wasBlind = winner.some(
    (action) => "commitInfo" in action && action.commitInfo.isBlindAppend === true,
  );
  if (wasBlind && isolation === "WriteSerializable" && !mine.metadata) return undefined;
  for (const action of winner) {
    if ("add" in action && isRead(mine, action.add.partitionValues))
      return { reason: "append", message: `${action.add.path} was added to what this commit read` };
  }
  return undefined;
}

function removeConflict(
  mine: Mine,
  winner: readonly Action[],
  context: ConflictContext,
): Conflict | undefined {
  const { root } = context;
  const paths = new Set((mine.removes ?? []).map((file) => canonicalPath(root, file.path)));
  for (const action of winner) {
    if (!("remove" in action)) continue;
    const { path, partitionValues } = action.remove;
    if (isRead(mine, partitionValues))
      return { reason: "removed", message: `${path} was removed from what this commit read` };
    if (paths.has(canonicalPath(root, path)))
      return { reason: "removed", message: `${path} was removed by another writer, too` };
  }
  return undefined;
}

/** Whether a file of these partition values is among what was read; unknown values may be anywhere. */
function isRead(mine: Mine, values: PartitionValues | undefined): boolean {
  const reads = mine.reads ?? "nothing";
  if (reads === "nothing" || reads === "table") return reads === "table";
  return values === undefined || reads.partitions(values);
}
