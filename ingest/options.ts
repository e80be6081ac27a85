/** What one stream is told: from where, to where, how, and how often. */

import type { StructType } from "../delta/types.ts";
import type { Format } from "../formats/wire.ts";
import type { AppIdForm } from "./identity.ts";
import type { BadLimit } from "./threshold.ts";

/** Where a partition starts that the table knows no position of. */
export type StartPosition =
  | { kind: "earliest" }
  | { kind: "latest" }
  | { kind: "time"; timestampMs: number }
  | { kind: "offsets"; next: ReadonlyMap<number, bigint> };

export type StreamOptions = {
  topic: string;
  /** Canonical URI of the table. */
  tableUri: string;
  /** Prefix of the txn ids; two apps on one table are two readers of the topic. */
  app: string;
  /** How the table's txns are to name partitions; absent: as those that are there do, which is checked either way. */
  appIdForm?: AppIdForm;
  /** Consumer group; workers on one table share one. */
  group: string;
  format: Format;
  /** Schema of a table that is yet to be made, without `_kafka`; absent: from the first messages. */
  schema?: StructType;
  partitionBy: readonly string[];
  transform?: string;
  /** Row-local SQL over the row's columns: rows go to table `<table>__<value>`, and the table itself keeps the positions. */
  route?: string;
  /** How many tables a route may make; records beyond become letters. */
  maxTables: number;
  /** Keep the value's bytes in `_kafka.value`. */
  keepRaw: boolean;
  /** Write `_kafka`; on a table that others made only if it has the column or the user asked. */
  metadata: boolean;
  flush: { latencyMs: number; rows: number; bytes: number };
  start: StartPosition;
  onBadRecord: "deadletter" | "stop";
  /** More bad records among the last ones end the stream; null: never. */
  maxBad: BadLimit | null;
  onUnknownField: "add" | "ignore" | "deadletter";
  onTopicReset: "fail" | "restart" | "skip";
  /** Properties of a table that is yet to be made. */
  tableProperties: Readonly<Record<string, string>>;
  /** Read up to the end offsets seen at the start, then end. */
  once: boolean;
};
