/** Doctor's way through the tables of a store. */

import { asLabError, isLabError } from "../core/errors.ts";
import type { Table } from "../delta/table.ts";
import { openQuery } from "../query/query.ts";
import type { Check } from "./doctor-checks.ts";

/** For all tables of a store that is far away or does not answer. */
const PATIENCE_MS = 15_000;

/**
 * What `look` gives of each table of the store, one after the other; what it gave before it failed counts. A table that cannot be read, and what is wrong with the store, is another check's to
 * name: of the one nothing is said, of the other that not all was looked at, by a note of check `name`.
 */
export async function checkTables(
  store: string,
  name: string,
  look: (table: Table, tableName: string, signal: AbortSignal) => AsyncIterable<Check>,
  signal: AbortSignal,
): Promise<Check[]> {
  const query = openQuery({ store });
  const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const checks: Check[] = [];
  try {
    for (const tableName of await query.catalog.names(patience)) {
      try {
        const { table } = await query.catalog.open(tableName, patience);
        for await (const check of look(table, tableName, patience)) checks.push(check);
      } catch (error) {
        if (!isLabError(error, "CORRUPT_LOG", "UNSUPPORTED_FEATURE", "TABLE_NOT_FOUND")) throw error;
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    checks.push({ name, verdict: "note", detail: `not all looked at: ${asLabError(error).message}` });
  } finally {
    await query.close();
  }
  return checks;
}
