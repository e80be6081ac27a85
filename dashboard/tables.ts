/** The port through which the dashboard reads tables: one object of functions, filled from query/. */

/** All longs and decimals are decimal strings, timestamps ISO UTC, as in all JSON of the lab (contracts.md). */
export type TableReader = {
  /** Every table of the store by name. A table whose log cannot be read is listed with its `problem`. */
  tables(signal: AbortSignal): Promise<TableSummary[]>;
  /** Newest first; only versions above `after`, at most `limit`. TABLE_NOT_FOUND. */
  history(
    name: string,
    range: { after?: number; limit: number },
    signal: AbortSignal,
  ): Promise<VersionEntry[]>;
  /** What one version is. TABLE_NOT_FOUND, VERSION_NOT_FOUND. */
  version(name: string, version: number, signal: AbortSignal): Promise<VersionDetail>;
  /** Up to `limit` rows of one version, the newest first where the table tells. DATA_FILE_MISSING after vacuum. */
  rows(name: string, version: number, limit: number, signal: AbortSignal): Promise<ResultSet>;
  /**
   * Runs one untrusted SELECT and gives up as soon as the signal aborts. SQL_ERROR, SQL_REFUSED, QUERY_LIMIT, with
   * `details.position` (characters from the start of the statement) where the engine says.
   */
  query(request: QueryRequest, signal: AbortSignal): Promise<QueryAnswer>;
};

export type TableSummary = {
  name: string;
  uri: string;
  /** Changes when a table of the same name is made anew: caches of its versions are then worthless. */
  id: string | null;
  version: number | null;
  timestamp: string | null;
  numFiles: number | null;
  sizeBytes: string | null;
  problem: Problem | null;
};

export type Problem = { code: string; message: string; hint?: string };

export type OffsetRange = { topic: string; partition: number; first: string; last: string };

export type VersionEntry = {
  version: number;
  timestamp: string;
  operation: string;
  /** Null where statistics do not say. */
  rowsAdded: string | null;
  rowsRemoved: string | null;
  filesAdded: number;
  filesRemoved: number;
  offsets: OffsetRange[];
};

export type VersionDetail = {
  table: string;
  version: number;
  timestamp: string;
  /** Rows of this version by statistics; null where they do not say. */
  rows: string | null;
  numFiles: number;
  sizeBytes: string;
  partitionColumns: string[];
  schema: SchemaField[];
  /** At most a few hundred files; `numFiles` counts all. */
  files: FileEntry[];
  properties: Record<string, string>;
  protocol: { minReaderVersion: number; minWriterVersion: number; features: string[] };
  /** The last settled offset by application id. */
  txns: { appId: string; version: string }[];
};

/** `type` in Delta's words, such as `long` or `struct<topic: string>`. */
export type SchemaField = { name: string; type: string; nullable: boolean };

export type FileEntry = {
  path: string;
  sizeBytes: string;
  rows: string | null;
  partition: Record<string, string | null>;
};

export type ResultSet = {
  columns: { name: string; type: string }[];
  rows: unknown[][];
  truncated: boolean;
};

export type QueryRequest = { sql: string; version?: number; at?: string };

export type QueryAnswer = ResultSet & {
  /** Version of the one table that was read; null for none or several. */
  version: number | null;
  elapsedMs: number;
};
