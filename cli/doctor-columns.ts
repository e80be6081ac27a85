/** Doctor's look at columns that are text because a few messages differed from the others. */

import type { Table } from "../delta/table.ts";
import { mixedColumns } from "../engine/mixed-columns.ts";
import type { Check } from "./doctor-checks.ts";
import { checkTables } from "./doctor-tables.ts";

const NAME = "columns";

/** A note for each column of the store's tables that became STRING because messages had different things there. */
export function checkColumns(store: string, signal: AbortSignal): Promise<Check[]> {
  return checkTables(store, NAME, mixedOf, signal);
}

async function* mixedOf(table: Table, name: string, signal: AbortSignal): AsyncGenerator<Check> {
  const { schema } = await table.latest(signal);
  for (const { column, why } of mixedColumns(schema))
    yield {
      name: NAME,
      verdict: "note",
      detail: `${name}: column ${column} is STRING: ${why}`,
      fix: "declare its type (schema) and ingest into another table: docs/formats.md, A column that became text",
    };
}
