/** The tables that dead letters are about: rows, where a route sends some of them, letters, and what became of the letters. */

import { isLabError } from "../core/errors.ts";
import { createTable } from "../delta/create.ts";
import { openTable, type TableOptions } from "../delta/open.ts";
import type { Store } from "../delta/store/store.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import type { StructField, StructType } from "../delta/types.ts";
import { createRoutedTables, type RoutedTables } from "../ingest/routed-tables.ts";

export type Opened = { table: Table; snapshot: Snapshot };

/** `open`: for the table at another URI, once each. */
export type LetterStores = {
  rows: Store;
  letters: Store;
  state: Store;
  open: (uri: string) => Promise<Store>;
};

/** The newest versions, all read at one time, letters and states before the rows; null where there is no such table. */
export type Looked = { rows: Opened | null; letters: Opened | null; state: Opened | null };

export type LetterTables = {
  look(signal: AbortSignal): Promise<Looked>;
  /** The table of states; made where it is missing. */
  state(signal: AbortSignal): Promise<Opened>;
  /** Those that rows are routed to. */
  routed: RoutedTables;
  /** Best effort: checkpoints where they are due. */
  maintain(signal: AbortSignal): Promise<void>;
};

/** URIs of the tables of letters and of states of the table at `uri` (contracts.md, "Tables"). */
export const lettersUri = (uri: string): string => `${uri}__dead_letters`;
export const stateUri = (uri: string): string => `${uri}__dead_letters_state`;

const column = (name: string, type: StructField["type"]): StructField => ({
  name,
  type,
  nullable: true,
  metadata: {},
});

/** Columns of the table of states. */
export const stateSchema: StructType = {
  type: "struct",
  fields: [
    column("topic", "string"),
    column("partition", "integer"),
    column("offset", "long"),
    column("state", "string"),
    column("version", "long"),
    column("at", "timestamp"),
  ],
};

type Kind = "rows" | "letters" | "state";

/** The caller keeps and closes the stores, also those that are opened on the way. */
export function openLetterTables(stores: LetterStores, options: TableOptions = {}): LetterTables {
  const tables = new Map<Kind, Table>();

  async function find(kind: Kind, signal: AbortSignal): Promise<Opened | null> {
    try {
      const table = tables.get(kind) ?? (await openTable(stores[kind], signal, options));
      tables.set(kind, table);
      return { table, snapshot: await table.latest(signal) };
    } catch (error) {
      if (isLabError(error, "NOT_A_TABLE")) return null;
      throw error;
    }
  }

  return {
    routed: createRoutedTables(stores.rows.root, stores.open, options),
    async look(signal) {
      // A letter that is replayed in between must not look open and without a row.
      const state = await find("state", signal);
      const letters = await find("letters", signal);
      return { state, letters, rows: await find("rows", signal) };
    },
    async state(signal) {
      const found = await find("state", signal);
      if (found) return found;
      try {
        tables.set("state", await createTable(stores.state, { schema: stateSchema }, signal, options));
      } catch (error) {
        if (!isLabError(error, "TABLE_EXISTS")) throw error;
      }
      return (await find("state", signal))!;
    },
    async maintain(signal) {
      const all = [...tables.values()].map(async (table) =>
        table.maintain(await table.latest(signal), signal),
      );
      await Promise.allSettled(all);
    },
  };
}
