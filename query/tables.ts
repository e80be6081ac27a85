/** What tables a store holds, each in one line. */

import { asLabError, isLabError } from "../core/errors.ts";
import type { Catalog } from "./catalog.ts";
import { momentText } from "./dates.ts";

export type TableSummary = {
  name: string;
  uri: string;
  /** Changes when a table of the same name is made anew. */
  id: string | null;
  version: number | null;
  /** Time of the last commit. */
  timestamp: string | null;
  /** By statistics; null where they do not say. */
  rows: string | null;
  numFiles: number | null;
  sizeBytes: string | null;
  partitionColumns: string[];
  problem: { code: string; message: string; hint?: string } | null;
};

/** Every table of the catalog by name. One that cannot be read is listed with its `problem`. */
export async function listTables(catalog: Catalog, signal: AbortSignal): Promise<TableSummary[]> {
  const summaries: TableSummary[] = [];
  for (const name of await catalog.names(signal)) {
    const summary = await summarize(catalog, name, signal);
    if (summary !== undefined) summaries.push(summary);
  }
  return summaries;
}

async function summarize(
  catalog: Catalog,
  name: string,
  signal: AbortSignal,
): Promise<TableSummary | undefined> {
  try {
    const { table } = await catalog.open(name, signal);
    const snapshot = await table.latest(signal);
    return {
      name,
      uri: table.store.root,
      id: snapshot.metadata.id,
      version: snapshot.version,
      timestamp: momentText(snapshot.timestampMs),
      rows: snapshot.liveRows()?.toString() ?? null,
      numFiles: snapshot.numFiles,
      sizeBytes: String(snapshot.sizeBytes),
      partitionColumns: [...snapshot.partitionColumns],
      problem: null,
    };
  } catch (error) {
    signal.throwIfAborted();
    // It went away between the listing and now.
    if (isLabError(error, "TABLE_NOT_FOUND")) return undefined;
    return {
      name,
      uri: catalog.uriOf(name),
      id: null,
      version: null,
      timestamp: null,
      rows: null,
      numFiles: null,
      sizeBytes: null,
      partitionColumns: [],
      problem: asLabError(error).toJSON(),
    };
  }
}
