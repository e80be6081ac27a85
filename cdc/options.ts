/** How the messages of a topic say what changed. Plain data. */

import type { Deletes } from "./merge/cdc-field.ts";
import type { TimeCount } from "./time-columns.ts";

export const CHANGE_FORMATS = ["debezium", "dms", "maxwell", "dynamodb", "plain"] as const;
export type ChangeFormat = (typeof CHANGE_FORMATS)[number];

export type CdcOptions = {
  format: ChangeFormat;
  /** Columns that make a key; absent: what the messages' keys have (Debezium, DynamoDB). */
  keyColumns?: readonly string[] | undefined;
  deletes: Deletes;
  /** Memory for the index of the table's keys. */
  keyMemoryBytes?: number | undefined;
  /** Debezium: once a snapshot is over, rows that are older and were not in it are deleted. */
  sweep?: boolean | undefined;
  /** Debezium: what stands for a value that did not change. */
  placeholder?: string | undefined;
  /** Columns whose numbers are times, by what they count. */
  timeColumns?: ReadonlyMap<string, TimeCount> | undefined;
  plain?: PlainPaths | undefined;
};

/** Format `plain`: where a message says what, as names with dots between them. What is not told is not read. */
export type PlainPaths = {
  /** What happened: a word; without it a row is an upsert. */
  op?: string | undefined;
  /** The object that holds the row; the message itself by default. */
  row?: string | undefined;
  /** An object with the key columns, for deletes that hold no row. */
  key?: string | undefined;
  /** Up to three whole numbers, compared in this order. */
  position?: readonly string[] | undefined;
  /** When it happened: ISO 8601, or ms since 1970. */
  time?: string | undefined;
  /** Words that mean a delete, beside `d`, `delete` and `remove`. */
  deleteOps?: readonly string[] | undefined;
};
