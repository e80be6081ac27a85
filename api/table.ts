/** The API for programs: a Delta table opened by its path or URI, asked in SQL, at any version, and followed. */

import { basename, dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Cell } from "../query/cells.ts";
import { diffDocument, diffVersions, type TableDiff } from "../query/diff.ts";
import { toObject } from "../query/formats/json.ts";
import { readHistory, type VersionEntry } from "../query/history.ts";
import { momentOf } from "../query/moment.ts";
import { openQuery, type Query } from "../query/query.ts";
import type { AskedPoint } from "../query/resolve.ts";
import { describeVersion, type VersionDetail } from "../query/show.ts";
import { followRows, type NewRows } from "./follow-rows.ts";
import {
  type HybridRecordsOptions,
  type KafkaRecord,
  type RecordBatch,
  type RecordsOptions,
  tableRecords,
  tableThenTopic,
  workOf,
} from "./records.ts";

export { ERRORS, type ErrorCode, LabError } from "../core/errors.ts";
export type {
  Cell,
  HybridRecordsOptions,
  KafkaRecord,
  NewRows,
  RecordBatch,
  RecordsOptions,
  TableDiff,
  VersionDetail,
  VersionEntry,
};

/**
 * A row by the names of its columns. Values are those of the lab's JSON: integers beyond 32 bits and decimals as text, so that none is rounded;
 * moments as ISO 8601 in UTC with microseconds, binary as base64, NULL as null.
 */
export type Row = { [column: string]: Cell };

/** A version, the newest one that is not younger than a time, or the first one that holds an offset of a Kafka partition. */
export type At =
  | { version: number }
  | { at: string | Date }
  | { partition: number; offset: bigint | number | string };

export type OpenOptions = {
  /** What SQL calls the table; default: the last part of its path. */
  name?: string;
  /** Ends whatever the table is asked, with its reason. */
  signal?: AbortSignal;
  /** What one query may use; default 2 GiB, and a thread for each core, 4 at most. */
  limits?: { memoryLimitBytes?: number; threads?: number };
};

/** Every method rejects with a `LabError` that has a `code`, and most have a `hint`; each reads the newest commits first. */
export type DeltaTable = {
  /** What SQL calls it. */
  readonly name: string;
  readonly uri: string;
  /** Number of the newest version. */
  version(): Promise<number>;
  /** Schema, files (the first 1,000), properties and txns of a version; default: the newest. */
  describe(at?: { version: number }): Promise<VersionDetail>;
  /** What happened, newest first: operation, rows, files, and the Kafka offsets that each version settled. */
  history(range?: { after?: number; limit?: number }): AsyncIterable<VersionEntry>;
  /** All rows of a version, a few thousand in memory at a time. */
  rows(at?: At): AsyncIterable<Row>;
  /** The rows of one SELECT in DuckDB's SQL, all at once. `AT (VERSION => n)` works in it, and `at` stands for it where it does not. */
  query(sql: string, at?: At): Promise<Row[]>;
  /** Rows in and out between two versions; up to `maxRows` (1,000) of each side are listed, all are counted. */
  diff(from: number, to: number, options?: { maxRows?: number }): Promise<TableDiff>;
  /** Rows of versions after `after` (default: the newest) as they are committed, without end; leave the loop, or abort, to stop. */
  follow(options?: { after?: number; signal?: AbortSignal }): AsyncIterable<NewRows>;
  /**
   * The Kafka records that rows came from, in Kafka's order: partitions in theirs, merged by time. The last batch of a version has none. ORIGIN_MISSING for a
   * table without `_kafka`, TABLE_REWRITTEN, VERSION_EXPIRED.
   */
  records(options?: RecordsOptions): AsyncIterable<RecordBatch>;
  /** The table up to the offset it has settled, then the live topic at the next one, without end: no gap, no double. OFFSET_EXPIRED, TOPIC_RESET. */
  hybridRecords(options: HybridRecordsOptions): AsyncIterable<RecordBatch>;
  /** Lets go of what is open. Nothing may be asked afterwards. */
  close(): Promise<void>;
};

const MAX_FILES = 1000;

/**
 * Opens a table: a path, `file://`, or `s3://bucket/key` with `AWS_*` in the environment. The caller closes it. NOT_A_TABLE, STORE_UNREACHABLE,
 * CREDENTIALS_MISSING, UNSUPPORTED_FEATURE, CORRUPT_LOG.
 */
export async function openTable(uri: string, options: OpenOptions = {}): Promise<DeltaTable> {
  const place = /^[a-z][a-z0-9+.-]*:\/\//i.test(uri) ? uri.replace(/\/+$/, "") : resolve(uri);
  const path = place.startsWith("file://") ? fileURLToPath(place) : place;
  const name = options.name ?? basename(path);
  const signal = options.signal ?? new AbortController().signal;
  const query = openQuery({
    store: dirname(path),
    tables: new Map([[name, place]]),
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
  try {
    const { table } = await query.catalog.open(name, signal);
    await table.latest(signal);
  } catch (error) {
    await query.close();
    throw error;
  }
  return tableOf(query, { name, uri: place, signal, limits: options.limits });
}

function tableOf(
  query: Query,
  {
    name,
    uri,
    signal,
    limits,
  }: { name: string; uri: string; signal: AbortSignal; limits: OpenOptions["limits"] },
): DeltaTable {
  const named = () => query.catalog.open(name, signal);
  async function* ask(sql: string, at: At | undefined): AsyncIterable<Row> {
    const running = await query.start(sql, { point: pointOf(at), signal });
    try {
      const object = toObject(running.columns);
      for await (const chunk of running.chunks) for (const row of chunk) yield object(row);
    } finally {
      await running.close();
    }
  }
  const until = (other: AbortSignal | undefined) =>
    other === undefined ? signal : AbortSignal.any([signal, other]);
  const around = (other: AbortSignal | undefined) => ({
    work: workOf(limits, query.context.cache),
    signal: until(other),
  });
  const all = `SELECT * FROM "${name.replaceAll('"', '""')}"`;
  return {
    name,
    uri,
    async version() {
      return (await (await named()).table.latest(signal)).version;
    },
    async describe(at) {
      const { table } = await named();
      return describeVersion(
        name,
        await (at === undefined ? table.latest(signal) : table.at(at, signal)),
        MAX_FILES,
      );
    },
    async *history(range = {}) {
      yield* readHistory((await named()).table, { ...range, signal });
    },
    rows: (at) => ask(all, at),
    async query(sql, at) {
      const rows: Row[] = [];
      for await (const row of ask(sql, at)) rows.push(row);
      return rows;
    },
    async diff(from, to, { maxRows = 1000 } = {}) {
      return diffDocument(await diffVersions(query.context, await named(), { from, to, maxRows, signal }));
    },
    follow(asked = {}) {
      return followRows(query.context, all, { after: asked.after, signal: until(asked.signal) });
    },
    async *records(asked = {}) {
      const { table } = await named();
      yield* tableRecords(table, asked, around(asked.signal));
    },
    async *hybridRecords(asked) {
      const { table } = await named();
      yield* tableThenTopic(table, asked, around(asked.signal));
    },
    close: () => query.close(),
  };
}

function pointOf(at: At | undefined): AskedPoint | undefined {
  if (at === undefined) return undefined;
  if ("version" in at) return { version: at.version };
  if ("at" in at) return { timestampMs: typeof at.at === "string" ? momentOf(at.at) : at.at.getTime() };
  return { partition: at.partition, offset: BigInt(at.offset) };
}
