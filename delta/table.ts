/** The public surface of `delta/`: create or open a table, look at a version, commit the next one. */

import type {
  Add,
  Cdc,
  CommitInfo,
  DomainMetadata,
  Metadata,
  PartitionValues,
  Protocol,
  Remove,
  Txn,
} from "./actions.ts";
import type { BoundsFilter } from "./file-bounds.ts";
import type { Store } from "./store/store.ts";
import type { StructType } from "./types.ts";
import type { Duty } from "./writer-duties.ts";

/** One version of a table: immutable, whatever others commit. */
export type Snapshot = {
  readonly version: number;
  /** Commit time in ms: the in-commit timestamp where it is on, else the file's time made strictly increasing. */
  readonly timestampMs: number;
  readonly protocol: Protocol;
  readonly metadata: Metadata;
  readonly schema: StructType;
  readonly partitionColumns: readonly string[];
  readonly numFiles: number;
  /** Bytes of the live files. */
  readonly sizeBytes: number;
  /** The live files in an unspecified but stable order, made one at a time: a table may have millions. */
  files(): Iterable<Add>;
  /**
   * The live files of the partitions that `matches` takes, asked once per distinct partition, or of all; of those the ones that reach into each of
   * `reaching` and whose statistics `mayHold` takes, asked once per file. Bounds are kept with the table, so that the statistics of a file are
   * read once for many filters.
   */
  filesWhere(
    matches: ((values: PartitionValues) => boolean) | undefined,
    mayHold?: (stats: string | undefined, values: PartitionValues) => boolean,
    reaching?: readonly BoundsFilter[],
  ): Iterable<Add>;
  /** At most `count` of the live files, those that were written last by their `modificationTime`, the newest first. */
  newestFiles(count: number): Add[];
  /** Tombstones that are still kept, for vacuum and checkpoints. */
  tombstones(): Iterable<Remove>;
  /** Rows by the files' statistics; undefined as soon as one file does not say. */
  liveRows(): bigint | undefined;
  /** `version` of the newest txn of `appId`, if there is one. */
  txn(appId: string): bigint | undefined;
  txns(): ReadonlyMap<string, Txn>;
  domains(): ReadonlyMap<string, DomainMetadata>;
};

/**
 * What a commit is made of, and what it rests on. What to pass as `reads`:
 * - append, blind: nothing, which is the default. It contradicts no other change of data.
 * - delete, update, merge: `partitions` that the condition may touch, and as `files` all files that were looked into (those of the
 *   partitions that statistics did not rule out), rewritten or not.
 * - overwrite: "table"; by predicate or of some partitions: `partitions`.
 * - compaction and clustering: nothing beside the removes, with dataChange false in each add and remove.
 * - restore, and whatever depends on the absence of something: "table".
 */
export type CommitRequest = {
  /** The snapshot the change was decided on. */
  readSnapshot: Snapshot;
  operation: string;
  operationParameters?: Record<string, string>;
  operationMetrics?: Record<string, string>;
  adds?: readonly Add[];
  removes?: readonly Remove[];
  cdcs?: readonly Cdc[];
  txns?: readonly Txn[];
  /** Replaces all of the metadata; carry over what stays. */
  metadata?: Metadata;
  protocol?: Protocol;
  domains?: readonly DomainMetadata[];
  reads?: Reads;
  /** Transactions that were looked at to decide and are not moved: a winner that moves one conflicts. */
  readTxns?: readonly string[];
  /**
   * What the caller has seen to for what it adds (`dutiesOf` says what a table asks). `UNCHANGED_ROWS` and `UNCHANGED_FILES` are for rows and
   * files that come from the table itself. UNSUPPORTED_FEATURE where the table asks for more than is promised.
   */
  enforced?: ReadonlySet<Duty>;
  /** Further fields of commitInfo, such as `lab`. */
  info?: Record<string, unknown>;
  /** Fresh for each series of attempts; default: a random UUID. Settles lost replies. */
  txnId?: string;
};

/**
 * What was read to decide. `partitions`: rows were looked for wherever it says true, so that rows added there by others contradict.
 * `files`: paths, as in the log, of the files that were looked into, so that their removal contradicts; without it, the removal
 * of any file of those partitions does.
 */
export type Reads =
  | "nothing"
  | "table"
  | { partitions?: (values: PartitionValues) => boolean; files?: ReadonlySet<string> };

/** Losing a race is a value: what stands in the way, and in which version. */
export type CommitResult =
  | { kind: "committed"; version: number; snapshot: Snapshot; attempts: number }
  | { kind: "conflict"; version: number; reason: ConflictReason; message: string };

export type ConflictReason =
  | "txn"
  | "metadata"
  | "protocol"
  | "append"
  | "removed"
  | "domain"
  | "attempts"
  | "expired";

export type HistoryEntry = {
  version: number;
  timestampMs: number;
  operation: string;
  /** Undefined where statistics do not say. */
  rowsAdded: bigint | undefined;
  rowsRemoved: bigint | undefined;
  filesAdded: number;
  filesRemoved: number;
  bytesAdded: number;
  /** Undefined where a removal does not say how large the file was. */
  bytesRemoved: number | undefined;
  /** Whether it changed the schema, properties or other metadata, or made the table. */
  hasMetadata: boolean;
  /** How long the work of the commit took, in ms, by what its writer told of it; undefined where it did not. */
  durationMs: number | undefined;
  commitInfo: CommitInfo | undefined;
};

/** Versions between `after` and `before`, both exclusive; of more than `limit` the newest. */
export type HistoryRange = {
  after?: number | undefined;
  before?: number | undefined;
  limit?: number | undefined;
};

export type Table = {
  readonly store: Store;
  /** The newest version: refreshed by reading only commits that are new since the last call. */
  latest(signal: AbortSignal): Promise<Snapshot>;
  /** A version, or the newest one not younger than a time. VERSION_NOT_FOUND, TIMESTAMP_NOT_FOUND. */
  at(point: { version: number } | { timestampMs: number }, signal: AbortSignal): Promise<Snapshot>;
  /** Newest first. Only versions whose commit files are still there. */
  history(options: HistoryRange & { signal: AbortSignal }): AsyncIterable<HistoryEntry>;
  /** The actions of one commit as they stand in the log. */
  commitActions(version: number, signal: AbortSignal): Promise<import("./actions.ts").Action[]>;
  /**
   * Commits the next version, trying again behind winners that do not contradict (PROTOCOL.md and checklist section 7). Data files are
   * in the store before the call. Any unclear reply is settled by reading that version. Checkpoints are the caller's to start: see `maintain`.
   */
  commit(request: CommitRequest, signal: AbortSignal): Promise<CommitResult>;
  /** After a commit, best effort: writes a checkpoint where one is due. Returns whether one was written. */
  maintain(snapshot: Snapshot, signal: AbortSignal): Promise<boolean>;
  /** Writes a checkpoint of this version now, and points `_last_checkpoint` at it. */
  checkpoint(snapshot: Snapshot, signal: AbortSignal): Promise<void>;
};
