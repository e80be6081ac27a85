/** What a log cleanup must not pass: commits that speak to an audit and are not rolled up. */

import type { Snapshot, Table } from "../delta/table.ts";
import { auditsOf } from "../engine/lab-info.ts";
import { rolledUp } from "./rolled.ts";

/** The oldest such commit below version `before`; undefined where there is none. `audit` null: there is no audit table. */
export async function oldestUnrolled(
  table: Table,
  audit: Pick<Snapshot, "txns"> | null,
  before: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { metadata } = await table.latest(signal);
  const after = (audit && rolledUp(audit, metadata.id)?.version) ?? -1;
  if (after >= before - 1) return undefined;
  let oldest: number | undefined;
  for await (const { version, commitInfo } of table.history({ after, signal }))
    if (version < before && auditsOf(commitInfo).length > 0) oldest = version;
  return oldest;
}
