/** The port through which the dashboard reads tables: what it uses of query's reader. Whoever opens the reader closes it. */

import type { TableReader as OpenReader } from "../query/reader.ts";

export type TableReader = Omit<OpenReader, "close">;

type Found<K extends keyof TableReader> = Awaited<ReturnType<TableReader[K]>>;

export type TableSummary = Found<"tables">[number];
export type VersionEntry = Found<"history">[number];
export type VersionDetail = Found<"version">;
export type ResultSet = Found<"rows">;
export type TableDiff = Found<"diff">;
export type QueryRequest = Parameters<TableReader["query"]>[0];
export type QueryAnswer = Found<"query">;
export type Problem = NonNullable<TableSummary["problem"]>;
