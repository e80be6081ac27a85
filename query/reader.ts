/** Tables as a page reads them: summaries, history, versions, rows, and SQL that comes from the network. */

import type { HistoryRange } from "../delta/table.ts";
import { type CommitDetail, describeCommit } from "./commit.ts";
import { diffDocument, diffVersions, type TableDiff } from "./diff.ts";
import { readTimeline, type TimelineEntry, versionAtOffset } from "./history.ts";
import { momentOf } from "./moment.ts";
import { openPositions, type PositionReader } from "./positions.ts";
import { type Preview, previewRows } from "./preview.ts";
import { openQuery, type QueryOptions } from "./query.ts";
import type { AskedPoint } from "./resolve.ts";
import type { QueryAnswer } from "./run.ts";
import { openSandbox, type SandboxLimits } from "./sandbox.ts";
import { describeVersion, type VersionDetail } from "./show.ts";
import { listTables, type TableSummary } from "./tables.ts";

export type TableReader = {
  tables(signal: AbortSignal): Promise<TableSummary[]>;
  /** Newest first. TABLE_NOT_FOUND. */
  history(name: string, range: HistoryRange, signal: AbortSignal): Promise<TimelineEntry[]>;
  /** TABLE_NOT_FOUND, VERSION_NOT_FOUND. */
  version(name: string, version: number, signal: AbortSignal): Promise<VersionDetail>;
  /** Up to `limit` rows of one version, the newest first where the table tells. DATA_FILE_MISSING after vacuum. */
  rows(name: string, version: number, limit: number, signal: AbortSignal): Promise<Preview>;
  /** Rows in and out between two versions; see `diffVersions`. */
  diff(
    name: string,
    range: { from: number; to: number; maxRows: number },
    signal: AbortSignal,
  ): Promise<TableDiff>;
  /** One untrusted SELECT; see `Sandbox.run`. `at` is a time as ISO 8601 writes it. */
  query(request: { sql: string; version?: number; at?: string }, signal: AbortSignal): Promise<QueryAnswer>;
  /** The actions of one version, raw and in words. TABLE_NOT_FOUND, VERSION_NOT_FOUND. */
  commit(name: string, version: number, signal: AbortSignal): Promise<CommitDetail>;
  /** The version that is meant by a time (ISO 8601), or by an offset of a partition. VERSION_NOT_FOUND, TIMESTAMP_NOT_FOUND. */
  versionAt(
    name: string,
    point: { at: string } | { partition: number; offset: bigint },
    signal: AbortSignal,
  ): Promise<number>;
  /** From which Kafka records the rows of each table are. */
  readonly positions: PositionReader;
  close(): Promise<void>;
};

/** Files that a version's description lists at most. */
const MAX_FILES = 300;
/** Actions that a commit's description lists at most. */
const MAX_LINES = 500;

/** Opens readers over one store; nothing is asked for yet. */
export function openTableReader(options: QueryOptions & { sandbox?: Partial<SandboxLimits> }): TableReader {
  const query = openQuery(options);
  const { catalog, context } = query;
  const sandbox = openSandbox({
    store: options.store,
    ...(options.tables ? { tables: options.tables } : {}),
    ...(options.cache ? { cache: options.cache } : {}),
    ...(options.sandbox ? { limits: options.sandbox } : {}),
  });
  return {
    positions: openPositions(context, catalog),
    tables: (signal) => listTables(catalog, signal),
    async history(name, range, signal) {
      const { table } = await catalog.open(name, signal);
      const entries: TimelineEntry[] = [];
      for await (const entry of readTimeline(table, { ...range, signal })) entries.push(entry);
      return entries;
    },
    async version(name, version, signal) {
      const named = await catalog.open(name, signal);
      return describeVersion(named.name, await named.table.at({ version }, signal), MAX_FILES);
    },
    async rows(name, version, limit, signal) {
      const named = await catalog.open(name, signal);
      const snapshot = await named.table.at({ version }, signal);
      return previewRows(context, named, snapshot, { limit, signal });
    },
    async diff(name, range, signal) {
      return diffDocument(
        await diffVersions(context, await catalog.open(name, signal), { ...range, signal }),
      );
    },
    async commit(name, version, signal) {
      return describeCommit(await catalog.open(name, signal), version, { maxLines: MAX_LINES, signal });
    },
    async versionAt(name, point, signal) {
      const named = await catalog.open(name, signal);
      if ("partition" in point) return versionAtOffset(named, point, signal);
      return (await named.table.at({ timestampMs: momentOf(point.at) }, signal)).version;
    },
    query: ({ sql, version, at }, signal) => {
      const point: AskedPoint | undefined =
        version !== undefined ? { version } : at !== undefined ? { timestampMs: momentOf(at) } : undefined;
      return sandbox.run(sql, { point, signal });
    },
    async close() {
      await sandbox.close();
      await query.close();
    },
  };
}
