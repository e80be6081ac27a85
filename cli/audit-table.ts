/** The table of heartbeats, without which no day can be answered for. */

import { isLabError, LabError } from "../core/errors.ts";
import type { Catalog } from "../query/catalog.ts";

/** TABLE_NOT_FOUND where the audit table is missing, and how it comes to be. */
export async function requireAuditTable(
  catalog: Catalog,
  { table, topic }: { table: string; topic: string },
  signal: AbortSignal,
): Promise<void> {
  try {
    await catalog.openAny(table, signal);
  } catch (error) {
    if (!isLabError(error, "TABLE_NOT_FOUND")) throw error;
    throw new LabError("TABLE_NOT_FOUND", `there is no table ${table} that tells what was sent`, {
      hint: `\`lab produce --topic orders --source orders --rate 50/s --audit ${topic}\` says it to the topic ${topic}, and \`lab ingest --topic ${topic} --table ${table} --partition-by day\` writes it to the table`,
      cause: error,
      details: { table, topic, root: catalog.root },
    });
  }
}
