/** What stands beside the versions of a table on a timeline: which have a checkpoint, and which cannot be read any more. */

import { type LogListing, listLog } from "../delta/log-list.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { oldestReadable, readFileLives } from "./file-lives.ts";
import { missingObjects } from "./presence.ts";
import { merged, type VersionRange } from "./version-ranges.ts";

export type VersionMarks = {
  /** Ascending. */
  checkpoints: number[];
  /** Versions whose commit is still there and that cannot be read whole: files of theirs are gone, or the log does not lead to them. */
  unreadable: VersionRange[];
};

/** What other engines delete without a word in the log is seen after this. */
const LOOK_AGAIN_MS = 600_000;

/**
 * Reads the marks of `table`, as often as it is asked. Which versions are unreadable is found by reading the log and looking for the files it
 * removed; that is kept until a vacuum or a cleanup, or for ten minutes.
 */
export function markReader(
  table: Table,
  now: () => number = Date.now,
): (signal: AbortSignal) => Promise<VersionMarks> {
  let known: { version: number; oldest: number; atMs: number; unreadable: VersionRange[] } | undefined;

  const isFresh = async (snapshot: Snapshot, oldest: number, signal: AbortSignal): Promise<boolean> => {
    if (known?.oldest !== oldest || now() - known.atMs > LOOK_AGAIN_MS || known.version > snapshot.version)
      return false;
    for await (const { operation } of table.history({ after: known.version, signal }))
      if (operation.startsWith("VACUUM")) return false;
    return true;
  };

  return async (signal) => {
    const snapshot = await table.latest(signal);
    const listing = await listLog(table.store, 0, signal);
    const oldest = oldestReadable(listing);
    if (!known || !(await isFresh(snapshot, oldest, signal))) {
      const atMs = now();
      const unreadable = await unreadableOf(table, snapshot, listing, signal);
      known = { version: snapshot.version, oldest, atMs, unreadable };
    }
    return { checkpoints: checkpointsOf(listing), unreadable: known.unreadable };
  };
}

const checkpointsOf = ({ checkpoints }: LogListing): number[] =>
  [...new Set(checkpoints.map(({ version }) => version))].sort((a, b) => a - b);

async function unreadableOf(
  table: Table,
  snapshot: Snapshot,
  listing: LogListing,
  signal: AbortSignal,
): Promise<VersionRange[]> {
  const first = listing.commits[0]?.version ?? 0;
  const { removed } = await readFileLives(table.store, snapshot, {
    lateAfterMs: Number.POSITIVE_INFINITY,
    signal,
  });
  const missing = await missingObjects(table.store, new Set(removed.keys()), signal);
  return merged([
    [first, oldestReadable(listing) - 1],
    ...missing.flatMap((name) => removed.get(name) ?? []),
  ]);
}
