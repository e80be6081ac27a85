/** What a roll-up leaves in the audit table: how far the log of a table is summed up there, and the columns of the sums. */

import type { Snapshot } from "../delta/table.ts";
import type { StructField, StructType } from "../delta/types.ts";

/** Of rows that say what commits settled. */
export const SETTLED_STAGE = "settled";
/** Of rows that say that commits before a time were gone when the log was summed up. */
export const GAP_STAGE = "gap";

/** The transaction whose version is the last version of the table that is rolled up. */
export const rollUpTxn = (app: string, tableId: string) => `${app}/audit-rollup/${tableId}`;

/** How far the log of table `tableId` is rolled up, whatever the app that did it; undefined where it never was. */
export function rolledUp(
  audit: Pick<Snapshot, "txns">,
  tableId: string,
): { appId: string; version: number } | undefined {
  for (const [appId, { version }] of audit.txns())
    if (appId.endsWith(`/audit-rollup/${tableId}`)) return { appId, version: Number(version) };
  return undefined;
}

const column = (name: string, type: StructField["type"]): StructField => ({
  ...{ name, type, nullable: true, metadata: {} },
});

/** Columns that sums need beside those of heartbeats: a table that only heard of these gets them. */
export const SUM_COLUMNS: StructType = {
  type: "struct",
  fields: [column("last_sequence", "long"), column("letters", "long"), column("table_id", "string")],
};

/** Whether a version of the audit table may hold sums. */
export const hasSums = ({ schema }: Pick<Snapshot, "schema">) =>
  schema.fields.some(({ name }) => name === "table_id");
