/** In which versions each removed file was part of the table, as far as the commits that are left say. */

import { readCommits } from "../delta/load.ts";
import { type LogListing, listLog } from "../delta/log-list.ts";
import type { Store } from "../delta/store/store.ts";
import type { Snapshot } from "../delta/table.ts";
import type { OnProgress } from "./progress.ts";
import { objectNames } from "./table-objects.ts";
import type { VersionRange } from "./version-ranges.ts";

export type FileLives = {
  /** By name in the store: the versions that need the object, for those that some commit removed. */
  readonly removed: ReadonlyMap<string, VersionRange[]>;
  /** Names that were removed after the given time. */
  readonly late: ReadonlySet<string>;
};

/** The oldest version that the log still leads to. */
export function oldestReadable(listing: LogListing): number {
  if (listing.commits[0]?.version === 0) return 0;
  return listing.checkpoints.at(-1)?.version ?? listing.commits[0]?.version ?? 0;
}

/** Reads every commit that is left up to `snapshot`. Memory grows with the files that the log names, as paths. */
export async function readFileLives(
  store: Store,
  snapshot: Snapshot,
  options: { lateAfterMs: number; signal: AbortSignal; onProgress?: OnProgress | undefined },
): Promise<FileLives> {
  const { signal, onProgress } = options;
  const listing = await listLog(store, 0, signal);
  const oldest = oldestReadable(listing);
  const commits = listing.commits.filter(({ version }) => version >= oldest && version <= snapshot.version);
  const since = new Map<string, number>();
  const removed = new Map<string, VersionRange[]>();
  const late = new Set<string>();
  let done = 0;
  for await (const { version, actions } of readCommits(store, commits, signal)) {
    for (const action of actions) {
      if (!("remove" in action)) continue;
      for (const name of objectNames(store, action.remove)) {
        const lives = removed.get(name) ?? [];
        lives.push([since.get(name) ?? oldest, version - 1]);
        removed.set(name, lives);
        since.delete(name);
        if ((action.remove.deletionTimestamp ?? 0) > options.lateAfterMs) late.add(name);
      }
    }
    for (const action of actions)
      if ("add" in action) for (const name of objectNames(store, action.add)) since.set(name, version);
    onProgress?.("reading the log", ++done, commits.length);
  }
  return { removed, late };
}
