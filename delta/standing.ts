/** Whether a table is still the one that was read: it may be removed, or made anew, under a writer that runs for long. */

import { LabError } from "../core/errors.ts";
import { listLog } from "./log-list.ts";
import type { Snapshot, Table } from "./table.ts";

/**
 * NOT_A_TABLE where nothing of the log is as new as the snapshot that was read from it: a commit behind it would be the first of a log
 * without a beginning. One listing. A table made anew that has already more versions than the old one is not told apart.
 */
export async function requireStanding(table: Table, snapshot: Snapshot, signal: AbortSignal): Promise<void> {
  const { commits, checkpoints } = await listLog(table.store, snapshot.version, signal);
  if (commits.length > 0 || checkpoints.length > 0) return;
  throw new LabError(
    "NOT_A_TABLE",
    `version ${snapshot.version} is gone from the log of ${table.store.root}: the table was removed or made anew`,
    {
      hint: "start again: it goes on from what is there now",
      details: { root: table.store.root, version: snapshot.version },
    },
  );
}
