/** The port between raw messages and data files: a batch of bytes in, Parquet files, statistics and letters out. */

import type { PartitionValues } from "../delta/actions.ts";
import type { Widen } from "../delta/type-widening.ts";
import type { StructField, StructType } from "../delta/types.ts";
import type { ConstrainedTable } from "./constraints.ts";
import type { Derived } from "./partitioning.ts";
import type { RawBatch } from "./raw-batch.ts";
import type { WrittenRow } from "./written.ts";

/** How messages become rows of one table. Fixed for an encoder's life except `schema`, which follows the table. */
export type EncodePlan = {
  format: "json" | "text" | "bytes";
  /** The table's whole schema, `_kafka` last where metadata is on. */
  schema: StructType;
  partitionColumns: readonly string[];
  /** `_kafka` is written. */
  metadata: boolean;
  /** With it, in its field `value`, the value's bytes as they came (`RawBatch.original`). A table without the field gets it. */
  keepRaw: boolean;
  /** Row-local DuckDB SQL over `messages`; absent: the message's fields as they are. */
  transform?: string;
  /**
   * The schema of the messages that a transform reads, without `_kafka`; as `inferInput` or `evolvedInput` gave it. Absent: what the
   * batch's messages suggest, with the table's types for the table's names.
   */
  input?: StructType;
  onUnknownField: "add" | "ignore" | "deadletter";
  /** What the table's columns may become where values need it and new fields are added: `wideningFor` the table. */
  widen?: Widen | undefined;
  /** Columns to derive in rows that neither message nor transform gives them in: `derivedOf` the table. */
  derived: readonly Derived[];
  /**
   * A row-local DuckDB expression over a row's columns (those of the table, after the transform): its text tells to which table the row goes.
   * Files are split by it.
   */
  route?: string;
  /** Asked once for each value of a route that a batch has: why rows of it are not written but letters; null where they are. */
  refuseRoute?: (value: string | null) => { code: string; message: string } | null;
  /** Rows that a table has already: they count as written, and are not written again. Needs `metadata`. */
  written?: readonly WrittenRow[];
  /** The table's properties: they say which columns get statistics, and with the schema what each row has to fulfil. */
  configuration?: Readonly<Record<string, string>>;
};

/** A Parquet file that stands in the staging folder and waits for its place in the table. */
export type EncodedFile = {
  /** Local path; the caller moves or deletes it. */
  file: string;
  partitionValues: PartitionValues;
  /** Where the plan has a route: what it is for all rows of the file, as text; null for NULL. */
  route?: string | null;
  rows: number;
  /** Bytes. */
  size: number;
  /** The protocol's per-file statistics as a JSON string. */
  stats: string;
};

export type LetterStage = "decode" | "schema" | "transform" | "constraint" | "partition" | "route";

/** A record that cannot become a row, and why. `index` is its place in the raw batch. */
export type BadRecord = { index: number; stage: LetterStage; code: string; message: string };

export type Encoded = {
  files: EncodedFile[];
  bad: BadRecord[];
  /** Per Kafka partition: rows written and records that a transform left out. */
  counts: Map<number, { rows: number; skipped: number }>;
  /** Where messages held fields that the schema lacks and the plan adds them: the schema the files were written with. */
  evolvedSchema: StructType | undefined;
  /** The same for the messages before a transform. */
  evolvedInput?: StructType;
};

export type Encoder = {
  /** Rows of `batch` as files in the staging folder. Throws only for a bug, an outage of the disk, or an abort: bad records are values. */
  encode(batch: RawBatch, plan: EncodePlan, signal: AbortSignal): Promise<Encoded>;
  /**
   * The schema a first batch suggests (without `_kafka`), by the rules of docs/formats.md; null when no record of it parses. Where the
   * plan says what the messages are, they are not looked at.
   */
  inferSchema(
    batch: RawBatch,
    plan: Pick<EncodePlan, "format" | "transform" | "input"> & Partial<Pick<EncodePlan, "keepRaw">>,
    signal: AbortSignal,
  ): Promise<StructType | null>;
  /** The schema of the messages themselves, which a transform reads; null when no record of it parses. */
  inferInput(
    batch: RawBatch,
    plan: Pick<EncodePlan, "format">,
    signal: AbortSignal,
  ): Promise<StructType | null>;
  /** TRANSFORM_REFUSED with the reason where the SQL is not row-local; the columns it yields otherwise. */
  checkTransform(
    sql: string,
    input: StructType,
    signal: AbortSignal,
    keepRaw?: boolean,
  ): Promise<readonly StructField[]>;
  /** TRANSFORM_REFUSED with the reason where the SQL is no row-local expression over the columns of `rows` that gives a text. */
  checkRoute(sql: string, rows: StructType, signal: AbortSignal): Promise<void>;
  /** UNSUPPORTED_FEATURE, naming the constraint, where rows cannot be checked for what the table asks of them; `encode` does, too. */
  checkConstraints(table: ConstrainedTable, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
};
