/** Doctor's look at who else writes to tables that are being ingested. */

import { asLabError, isLabError } from "../core/errors.ts";
import { labInfoOf } from "../engine/lab-info.ts";
import type { Catalog } from "../query/catalog.ts";
import { openQuery } from "../query/query.ts";
import type { Check } from "./doctor-checks.ts";

/** Versions of a table that are looked at. */
const RECENT = 500;
/** For all tables of a store that is far away or does not answer. */
const PATIENCE_MS = 15_000;
const NAME = "writers";

/**
 * A warning for each table of the store that an ingester writes and that Spark has written to, by the `engineInfo` of its newest commits: Spark
 * puts a commit by checking first and writing then, so one of two at the same moment can be lost (docs/others.md).
 */
export async function checkWriters(store: string, signal: AbortSignal): Promise<Check[]> {
  const query = openQuery({ store });
  const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const checks: Check[] = [];
  try {
    for (const name of await query.catalog.names(patience)) {
      const spark = await sparkBesideIngester(query.catalog, name, patience);
      if (spark === undefined) continue;
      checks.push({
        name: NAME,
        verdict: "warning",
        detail: `${name} is ingested, and ${spark.engine} wrote its version ${spark.version}: both at the same moment can lose a commit`,
        fix: "stop the ingester while Spark writes, or let Spark only read; see docs/others.md",
      });
    }
  } catch (error) {
    signal.throwIfAborted();
    // What is wrong with the store is another check's to say.
    checks.push({ name: NAME, verdict: "note", detail: `not all looked at: ${asLabError(error).message}` });
  } finally {
    await query.close();
  }
  return checks;
}

/** The newest commit by Spark, where the table is ingested, too. */
async function sparkBesideIngester(catalog: Catalog, name: string, signal: AbortSignal) {
  let isIngested = false;
  let spark: { version: number; engine: string } | undefined;
  try {
    const { table } = await catalog.open(name, signal);
    for await (const { version, commitInfo } of table.history({ limit: RECENT, signal })) {
      isIngested ||= labInfoOf(commitInfo) !== undefined;
      const engine = String(commitInfo?.engineInfo ?? "");
      if (/spark/i.test(engine)) spark ??= { version, engine };
    }
  } catch (error) {
    // A table that cannot be read is no table that is ingested.
    if (!isLabError(error, "CORRUPT_LOG", "UNSUPPORTED_FEATURE", "TABLE_NOT_FOUND")) throw error;
  }
  return isIngested ? spark : undefined;
}
