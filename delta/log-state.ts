/** Replay: what a sequence of commits amounts to (PROTOCOL.md, "Action Reconciliation"). */

import type { Action, CommitInfo, DomainMetadata, Metadata, Protocol, Txn } from "./actions.ts";
import { type FileRows, fileRows } from "./file-rows.ts";
import { deletedFileRetentionMs } from "./table-properties.ts";

/** A version of the log, replayed. Everything but `rows` is immutable; `rows` answers for this version for ever. */
export type LogState = {
  readonly version: number;
  readonly timestampMs: number;
  readonly protocol: Protocol | undefined;
  readonly metadata: Metadata | undefined;
  readonly txns: ReadonlyMap<string, Txn>;
  readonly domains: ReadonlyMap<string, DomainMetadata>;
  readonly numFiles: number;
  readonly sizeBytes: number;
  readonly rows: FileRows;
  /** Bytes of data files that commits brought since this state was loaded: what a checkpoint is weighed against. */
  readonly bytesWritten: number;
  /** Rows there were when `rows` was last written afresh. */
  readonly rowsWhenFresh: number;
};

/** `isCompaction`: the actions are those of several commits, reconciled (PROTOCOL.md, "Log Compaction Files"). */
export type Commit = {
  version: number;
  actions: readonly Action[];
  modifiedMs: number;
  isCompaction?: boolean;
};

/** The state before the first commit. */
export function emptyState(root: string): LogState {
  return {
    version: -1,
    timestampMs: Number.NEGATIVE_INFINITY,
    protocol: undefined,
    metadata: undefined,
    txns: new Map(),
    domains: new Map(),
    numFiles: 0,
    sizeBytes: 0,
    rows: fileRows(root),
    bytesWritten: 0,
    rowsWhenFresh: 0,
  };
}

/**
 * The state after one more commit. Only the newest state of a table may be continued, since its rows are appended to;
 * older states stay valid. Never throws, so that a state is never half applied. Costs the size of the commit, not the table's.
 */
export function applyCommit(state: LogState, commit: Commit): LogState {
  const { version, actions } = commit;
  const next = collect(state, actions);
  const { rows } = state;
  let { bytesWritten } = state;
  const remove = () => {
    for (const action of actions) if ("remove" in action) rows.remove(version, action.remove);
  };
  // The order within a commit has no meaning: removes first, so that remove(p) with add(p) leaves the add.
  if (!commit.isCompaction) remove();
  for (const action of actions) {
    if (!("add" in action)) continue;
    rows.add(version, action.add);
    bytesWritten += action.add.size;
  }
  // Some writers leave both words on a file in a compaction: there the file came before it went.
  if (commit.isCompaction) remove();
  const info = actions.find((action) => "commitInfo" in action)?.commitInfo;
  return {
    ...next,
    version,
    timestampMs: commitTime(next.metadata, info, Math.max(commit.modifiedMs, state.timestampMs + 1)),
    numFiles: rows.liveFiles,
    sizeBytes: rows.liveBytes,
    bytesWritten,
    rows,
    rowsWhenFresh: state.rowsWhenFresh,
  };
}

/** Rows are written afresh once they doubled: replaced ones and old tombstones go, at a constant cost per commit. */
export function trimmed(state: LogState, nowMs: number): LogState {
  if (state.rows.length < 2 * state.rowsWhenFresh + 4096) return state;
  const rows = state.rows.rewritten(nowMs - deletedFileRetentionMs(state.metadata?.configuration ?? {}));
  return { ...state, rows, rowsWhenFresh: rows.length };
}

/** The in-commit timestamp where the table has them on, else the file's time. */
export function commitTime(
  metadata: Metadata | undefined,
  info: CommitInfo | undefined,
  fileTimeMs: number,
): number {
  const isOn = metadata?.configuration["delta.enableInCommitTimestamps"] === "true";
  const time = isOn ? Number(info?.inCommitTimestamp ?? Number.NaN) : Number.NaN;
  return Number.isFinite(time) ? time : fileTimeMs;
}

/** Everything of a commit but its files. Maps are copied only where they change. */
function collect(
  state: LogState,
  actions: readonly Action[],
): Pick<LogState, "protocol" | "metadata" | "txns" | "domains"> {
  let { protocol, metadata } = state;
  let txns: Map<string, Txn> | undefined;
  let domains: Map<string, DomainMetadata> | undefined;
  for (const action of actions) {
    if ("protocol" in action) protocol = action.protocol;
    else if ("metaData" in action) metadata = action.metaData;
    else if ("txn" in action) {
      txns ??= new Map(state.txns);
      txns.set(action.txn.appId, action.txn);
    } else if ("domainMetadata" in action) {
      domains ??= new Map(state.domains);
      if (action.domainMetadata.removed) domains.delete(action.domainMetadata.domain);
      else domains.set(action.domainMetadata.domain, action.domainMetadata);
    }
  }
  return { protocol, metadata, txns: txns ?? state.txns, domains: domains ?? state.domains };
}
