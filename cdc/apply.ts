/** The port between folded changes and the commit that applies them to a keyed table; `merge/` fulfils it. */

import type { Txn } from "../delta/actions.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import type { LetterStage } from "../engine/encoder.ts";
import type { Folded, Place } from "./change.ts";

/**
 * What one commit did to the table: rows, but `ignored`, which are changes older than what the table held, and `folded` ones. `swept` are those of
 * `deleted` that no change deleted, but a snapshot that did not have them. `uncertain` is how many times an order was taken that nothing proves.
 */
export type MergeCounts = {
  inserted: number;
  updated: number;
  deleted: number;
  swept: number;
  ignored: number;
  folded: number;
  uncertain: number;
};

export type MergeRequest = {
  table: Table;
  /** The version to build on. Where others have committed since, what they did to our keys is taken into account. */
  snapshot: Snapshot;
  folded: Folded;
  /** The columns that the rows need, `_cdc` among them: the table's own, or those it gets with this commit. */
  schema: StructType;
  /** Columns that make a key, in order. */
  keyColumns: readonly string[];
  /** Positions that are settled with it, and those that it rests on. */
  txns: readonly Txn[];
  readTxns: readonly string[];
  /** `commitInfo.lab`. */
  lab: (counts: MergeCounts) => object;
  /** Files stand in the store, and the commit is next. */
  onCommitting?: () => void;
  signal: AbortSignal;
};

/** A change that the table cannot take, by the message it came from, in the terms of a dead letter. */
export type RefusedChange = { place: Place; stage: LetterStage; code: string; message: string };

export type MergeResult =
  | { kind: "committed"; snapshot: Snapshot; counts: MergeCounts; addedFiles: number; addedBytes: number }
  /** Nothing was committed: another was first with a position of ours (`txn`), or changed the table in a way that voids what was read. */
  | { kind: "conflict"; reason: string; message: string }
  /** Nothing was committed: it may be asked again without these. */
  | { kind: "refused"; changes: readonly RefusedChange[] };

/** Applies changes in one commit, exactly once: rows and positions together. Outages and bugs reject. */
export type ApplyChanges = (request: MergeRequest) => Promise<MergeResult>;
