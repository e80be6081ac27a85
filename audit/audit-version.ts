/** One version of the audit table, so that all that is asked of it fits together, whatever is written meanwhile. */

import type { Snapshot } from "../delta/table.ts";
import type { Query } from "../query/query.ts";
import { sqlName } from "./sql.ts";

export type AuditVersion = {
  /** For a FROM clause. */
  name: string;
  snapshot: Snapshot;
  /** The rows of a statement about the table, as JSON cells. */
  rows(sql: string, signal: AbortSignal): Promise<readonly (readonly unknown[])[]>;
};

/** The newest version of table `name`. TABLE_NOT_FOUND. */
export async function auditVersion(query: Query, name: string, signal: AbortSignal): Promise<AuditVersion> {
  const { table } = await query.catalog.openAny(name, signal);
  const snapshot = await table.latest(signal);
  return {
    name: sqlName(name),
    snapshot,
    rows: async (sql, asking) =>
      (await query.query(sql, { point: { version: snapshot.version }, signal: asking })).rows,
  };
}
