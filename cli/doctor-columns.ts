/** Doctor's look at columns that are text because a few messages differed from the others. */

import { asLabError, isLabError } from "../core/errors.ts";
import { mixedColumns } from "../engine/mixed-columns.ts";
import { openQuery } from "../query/query.ts";
import type { Check } from "./doctor-checks.ts";

/** For all tables of a store that is far away or does not answer. */
const PATIENCE_MS = 15_000;
const NAME = "columns";

/** A note for each column of the store's tables that became STRING because messages had different things there. */
export async function checkColumns(store: string, signal: AbortSignal): Promise<Check[]> {
  const query = openQuery({ store });
  const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const checks: Check[] = [];
  try {
    for (const name of await query.catalog.names(patience)) {
      try {
        const { table } = await query.catalog.open(name, patience);
        const { schema } = await table.latest(patience);
        for (const { column, why } of mixedColumns(schema))
          checks.push({
            name: NAME,
            verdict: "note",
            detail: `${name}: column ${column} is STRING: ${why}`,
            fix: "declare its type (schema) and ingest into another table: docs/formats.md, A column that became text",
          });
      } catch (error) {
        // A table that cannot be read is another check's to name.
        if (!isLabError(error, "CORRUPT_LOG", "UNSUPPORTED_FEATURE", "TABLE_NOT_FOUND")) throw error;
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    checks.push({ name: NAME, verdict: "note", detail: `not all looked at: ${asLabError(error).message}` });
  } finally {
    await query.close();
  }
  return checks;
}
