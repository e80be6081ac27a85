/** Names that must never change once a table holds them: txn ids, consumer groups, table names. */

import { createHash } from "node:crypto";

/** The txn id of a partition (contracts.md, "Tables"). */
export function appId(app: string, topic: string, partition: number): string {
  return `${app}/${topic}-${partition}`;
}

/** The table property that keeps the schema of a topic's messages where a transform reads them. */
export function inputProperty(topic: string): string {
  return `lab.input.${topic}`;
}

/** Default table of a topic: each character outside `[A-Za-z0-9_]` becomes `_`. */
export function tableNameOf(topic: string): string {
  return topic.replace(/[^A-Za-z0-9_]/g, "_");
}

/** The last segment of a table's URI. */
export function tableNameOfUri(tableUri: string): string {
  return tableUri.split("/").at(-1) || tableUri;
}

/** Default consumer group: workers on one table share it, different tables never do. */
export function groupOf(app: string, tableUri: string): string {
  return `${app}.${tableNameOfUri(tableUri)}.${createHash("sha256").update(tableUri).digest("hex").slice(0, 8)}`;
}
