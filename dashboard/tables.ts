/** The ports through which the dashboard reads tables: what it uses of query/. Whoever opens them closes them. */

import type {
  PositionReader as OpenPositions,
  PlacedRange,
  RecordOrigin,
  TablePositions,
} from "../query/positions.ts";
import type { TableReader as OpenReader } from "../query/reader.ts";

export type TableReader = Omit<OpenReader, "close" | "positions">;
export type PositionReader = OpenPositions;
export type { PlacedRange, RecordOrigin, TablePositions };

/** What stands beside the versions of a table on the timeline. */
export type VersionMarks = {
  /** Versions that have a checkpoint, ascending. */
  checkpoints: readonly number[];
  /** Ranges of versions that cannot be read whole any more, both ends included. */
  unreadable: readonly (readonly [from: number, to: number])[];
};
export type MarkReader = (table: string, signal: AbortSignal) => Promise<VersionMarks>;

type Found<K extends keyof TableReader> = Awaited<ReturnType<TableReader[K]>>;

export type TableSummary = Found<"tables">[number];
export type VersionEntry = Found<"history">[number];
export type VersionDetail = Found<"version">;
export type ResultSet = Found<"rows">;
export type TableDiff = Found<"diff">;
export type CommitDetail = Found<"commit">;
export type QueryRequest = Parameters<TableReader["query"]>[0];
export type QueryAnswer = Found<"query">;
export type Problem = NonNullable<TableSummary["problem"]>;
