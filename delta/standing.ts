/** Whether a table is still the one that was read: it may be removed, made anew, or cleaned up under a writer that runs for long. */

import { isLabError, LabError } from "../core/errors.ts";
import { listLog } from "./log-list.ts";
import { commitPath } from "./log-names.ts";
import type { Store } from "./store/store.ts";
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

export type Whereabouts = { modifiedMs: number | undefined; isStranded: boolean };

/**
 * What the log says of a commit that was just put. `isStranded`: the version before it is not there. So it is for a writer that stood still
 * for longer than the log is kept: the number that it takes for the next one was used and freed by cleanup, and no reader looks there.
 */
export async function whereabouts(store: Store, version: number, signal: AbortSignal): Promise<Whereabouts> {
  const before = Math.max(0, version - 1);
  const { commits, compactions, checkpoints } = await listLog(store, before, signal);
  const ours = commits.find((commit) => commit.version === version)?.object.modifiedMs;
  const isPreceded =
    version === 0 || [...commits, ...compactions, ...checkpoints].some((file) => file.version === before);
  return {
    modifiedMs: ours === undefined ? undefined : Math.floor(ours),
    // A listing may lag behind: what counts is the file itself.
    isStranded: !isPreceded && !(await exists(store, commitPath(before), signal)),
  };
}

async function exists(store: Store, path: string, signal: AbortSignal): Promise<boolean> {
  try {
    await store.getRange(path, 0, 1, signal);
    return true;
  } catch (error) {
    if (isLabError(error, "OBJECT_MISSING")) return false;
    throw error;
  }
}
