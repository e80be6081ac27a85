/** The tables of a stream, rows and dead letters and those of a route: opened where they are, made when first needed. */

import { isLabError } from "../core/errors.ts";
import { createTable } from "../delta/create.ts";
import { openTable, type TableOptions } from "../delta/open.ts";
import type { Store } from "../delta/store/store.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import { parsePartitioning, requireSameBuckets } from "../engine/partitioning.ts";
import type { StreamOptions } from "./options.ts";
import { createRoutedTables, type RoutedTables } from "./routed-tables.ts";
import { letterSchema } from "./schemas.ts";
import type { NewTable } from "./work.ts";

/** A table and the version that the next commit builds on. */
export type Opened = { table: Table; snapshot: Snapshot };

export type Destination = {
  /** The newest versions of both tables as they are now; null where a table is yet to be made. */
  refresh(signal: AbortSignal): Promise<{ rows: Opened | null; letters: Opened | null }>;
  /** Makes the table of rows, with these properties and what the user gave; if another worker was faster, opens what it made. */
  createRows(definition: NewTable, signal: AbortSignal): Promise<Opened>;
  createLetters(signal: AbortSignal): Promise<Opened>;
  /** The tables that a route fills. */
  routed: RoutedTables;
  close(): Promise<void>;
};

export type DestinationStores = { rows: Store; letters: Store; open: (uri: string) => Promise<Store> };

export function createDestination(
  options: Pick<StreamOptions, "tableUri" | "partitionBy" | "tableProperties">,
  stores: DestinationStores,
  events: {
    /** Told of the URI of each routed table that is opened. */
    onRouted: (uri: string) => void;
    onStep: (step: "in-checkpoint") => void;
    /** The store is away in the middle of a commit, which is tried again. */
    onOutage: (error: unknown, pauseMs: number) => void;
  },
): Destination {
  const tableOptions: TableOptions = {
    onStep: events.onStep,
    outages: { onFailure: (error, _attempt, pauseMs) => events.onOutage(error, pauseMs) },
  };
  const { columns: partitionColumns, derived } = parsePartitioning(options.partitionBy);
  const openRouted = (uri: string) => {
    events.onRouted(uri);
    return stores.open(uri);
  };
  const routed = createRoutedTables(options.tableUri, openRouted, tableOptions);
  const tables: { rows: Table | null; letters: Table | null } = { rows: null, letters: null };

  async function look(kind: "rows" | "letters", signal: AbortSignal): Promise<Opened | null> {
    try {
      tables[kind] ??= await openTable(stores[kind], signal, tableOptions);
    } catch (error) {
      if (isLabError(error, "NOT_A_TABLE")) return null;
      throw error;
    }
    return opened(kind, tables[kind], signal);
  }

  async function opened(kind: "rows" | "letters", table: Table, signal: AbortSignal): Promise<Opened> {
    const snapshot = await table.latest(signal);
    if (kind === "rows") requireSameBuckets(snapshot.schema, snapshot.partitionColumns, derived);
    return { table, snapshot };
  }

  async function create(
    kind: "rows" | "letters",
    definition: {
      schema: StructType;
      partitionColumns?: readonly string[];
      configuration?: Record<string, string>;
    },
    signal: AbortSignal,
  ): Promise<Opened> {
    try {
      tables[kind] = await createTable(stores[kind], definition, signal, tableOptions);
    } catch (error) {
      if (!isLabError(error, "TABLE_EXISTS")) throw error;
      tables[kind] = await openTable(stores[kind], signal, tableOptions);
    }
    return opened(kind, tables[kind], signal);
  }

  return {
    async refresh(signal) {
      // Letters first: read the other way round, letters that another worker commits in between would look like verdicts of rows
      // that are not there yet.
      const letters = await look("letters", signal);
      return { letters, rows: await look("rows", signal) };
    },
    createRows({ schema, configuration: own }, signal) {
      const configuration = { ...own, ...options.tableProperties };
      return create("rows", { schema, partitionColumns, configuration }, signal);
    },
    createLetters: (signal) => create("letters", { schema: letterSchema }, signal),
    routed,
    async close() {
      await Promise.all([stores.rows.close(), stores.letters.close(), routed.close()]);
    },
  };
}
