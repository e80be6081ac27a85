/** A change of one row as every source says it once it is decoded: which key, what it is now, and where in the source's history it stands. */

import type { Position } from "./position.ts";

/** Where Kafka has a change. A topic that was made anew has the next generation. */
export type Place = { partition: number; offset: bigint; generation: number };

/**
 * What orders a change among others: its position in the source's log where the message tells one, and its place in Kafka. A later change without
 * a position takes over that of what it replaces (`positionAfter`).
 */
export type Order = { position: Position | null; place: Place };

export type Change = Order & {
  /** `upsert`: the row is this now, whether it was there or not. `delete`: there is none. */
  kind: "upsert" | "delete";
  /** The same text for the same key, whatever its columns' types: `keyText`. */
  key: string;
  /**
   * A JSON object in UTF-8. Of an upsert the row, whose key columns are there and none of them null, without the columns in `absent`. Of a
   * delete the key columns alone.
   */
  row: Uint8Array;
  /** Of a delete what the row was, as far as that is told: for tables that need values in the row of a deleted key, too. */
  was?: Uint8Array;
  /** Columns whose value the message leaves out because it did not change (Postgres keeps large values aside): what is stored stays. */
  absent: readonly string[];
  /** What is stored is older than a delete that came in between: of `absent` columns nothing is known. */
  isFresh: boolean;
  /** Where that delete stands: what is stored may be newer than it, where it came again. */
  freshSince?: Order;
  /** Columns that are another change's of the batch, which is older: what is stored may be newer than that one, where it came again. */
  borrowed?: readonly Borrowed[];
  /** Kafka's time of the message, in ms. */
  timestampMs: number;
};

export type Borrowed = { column: string; from: Order };

export type Moved = { change: Change; from: number };

/** Everything older than this is gone, whatever its key. `isSweep`: a snapshot tells all there is behind it, and is over (`snapshot-end.ts`). */
export type Truncate = Order & { kind: "truncate"; isSweep?: boolean; timestampMs: number };

/** What a batch comes to: at most one change a key, and truncates that come before them. Nothing in `changes` is older than a truncate for certain. */
export type Folded = {
  changes: readonly Change[];
  truncates: readonly Truncate[];
  /** Changes that came through another partition than an earlier one of their key, and of which nothing proves which is later: they are in neither. */
  moved: readonly Moved[];
  /** How many changes a later one of the batch took the place of. */
  folded: number;
  /** How many times two changes of a key were put in an order that nothing proves (`compareOrder`). */
  uncertain: number;
};
