/** What routed tables hold that the stream's table has not settled: the rows of a run that ended between their commits. */

import type { WrittenRow } from "../engine/written.ts";
import type { Destination, Opened } from "./destination.ts";
import { type AppIdForm, appId, offsetsMissing } from "./identity.ts";
import { type Route, routesOf } from "./routed-tables.ts";
import type { RowReader } from "./row-reader.ts";

export type RoutedResume = {
  /** Positions of routed tables that are ahead. */
  ahead: ReadonlyMap<Route, ReadonlyMap<number, bigint>>;
  /** The last offsets of which they have rows there. */
  held: ReadonlyMap<Route, ReadonlyMap<number, bigint>>;
  /** The rows behind the settled positions that they hold, which are final. */
  written: readonly WrittenRow[];
};

/**
 * Asks each routed table that the stream's table names. `next` are the positions that records are read from. OFFSETS_MISSING where one has rows of a
 * partition that neither of them has a position of.
 */
export async function readRouted(
  rows: Opened,
  input: {
    app: string;
    topic: string;
    appIdForm: AppIdForm;
    next: ReadonlyMap<number, bigint>;
    generation: number;
    routed: Destination["routed"];
    rowReader: RowReader;
    signal: AbortSignal;
  },
): Promise<RoutedResume> {
  const { app, topic, signal } = input;
  const ahead = new Map<Route, Map<number, bigint>>();
  const held = new Map<Route, Map<number, bigint>>();
  const written: WrittenRow[] = [];
  for (const [route, opened] of await input.routed.refresh(routesOf(rows.snapshot), signal)) {
    const positions = new Map<number, bigint>();
    const lastRows = new Map<number, bigint>();
    for (const [partition, next] of input.next) {
      const id = appId(app, topic, partition, input.appIdForm);
      const stored = opened.snapshot.txn(id);
      const isUnknown = stored === undefined && rows.snapshot.txn(id) === undefined;
      if (isUnknown && (await input.rowReader.hasRowsOf(opened, { topic, partition, signal })))
        throw offsetsMissing(app, topic, partition);
      if (stored === undefined || stored < next) continue;
      positions.set(partition, stored);
      const from = { topic, partition, from: next, generation: input.generation, signal };
      for (const row of await input.rowReader.rowsFrom(opened, from)) {
        written.push(row);
        if (row.offset > (lastRows.get(partition) ?? -1n)) lastRows.set(partition, row.offset);
      }
    }
    ahead.set(route, positions);
    held.set(route, lastRows);
  }
  return { ahead, held, written };
}
