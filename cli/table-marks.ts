/** Checkpoints and unreadable versions of a store's tables, for the page. */

import type { MarkReader } from "../dashboard/tables.ts";
import type { Table } from "../delta/table.ts";
import { openCatalog } from "../query/catalog.ts";
import { markReader, type VersionMarks } from "../upkeep/version-marks.ts";

/** Asks for nothing yet. TABLE_NOT_FOUND. */
export function openTableMarks(store: string): { read: MarkReader; close(): Promise<void> } {
  const catalog = openCatalog({ root: store });
  const readers = new WeakMap<Table, (signal: AbortSignal) => Promise<VersionMarks>>();
  return {
    async read(name, signal) {
      const { table } = await catalog.open(name, signal);
      const read = readers.get(table) ?? markReader(table);
      readers.set(table, read);
      return read(signal);
    },
    close: () => catalog.close(),
  };
}
