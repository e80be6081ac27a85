/** Doctor's look at who else writes to tables that are being ingested. */

import type { Table } from "../delta/table.ts";
import { labInfoOf } from "../engine/lab-info.ts";
import type { Check } from "./doctor-checks.ts";
import { checkTables } from "./doctor-tables.ts";

/** Versions of a table that are looked at. */
const RECENT = 500;
const NAME = "writers";

/**
 * A warning for each table of the store that an ingester writes and that Spark has written to, by the `engineInfo` of its newest commits: Spark
 * puts a commit by checking first and writing then, so one of two at the same moment can be lost (docs/others.md).
 */
export function checkWriters(store: string, signal: AbortSignal): Promise<Check[]> {
  return checkTables(store, NAME, sparkBesideIngester, signal);
}

/** The newest commit by Spark, where the table is ingested, too. */
async function* sparkBesideIngester(table: Table, name: string, signal: AbortSignal): AsyncGenerator<Check> {
  let isIngested = false;
  let spark: { version: number; engine: string } | undefined;
  for await (const { version, commitInfo } of table.history({ limit: RECENT, signal })) {
    isIngested ||= labInfoOf(commitInfo) !== undefined;
    const engine = String(commitInfo?.engineInfo ?? "");
    if (/spark/i.test(engine)) spark ??= { version, engine };
    if (!isIngested || spark === undefined) continue;
    yield {
      name: NAME,
      verdict: "warning",
      detail: `${name} is ingested, and ${spark.engine} wrote its version ${spark.version}: both at the same moment can lose a commit`,
      fix: "stop the ingester while Spark writes, or let Spark only read; see docs/others.md",
    };
    return;
  }
}
