/** Which version was current at a time (PROTOCOL.md, "In-Commit Timestamps"). */

import { isLabError, LabError } from "../core/errors.ts";
import { parseCommit } from "./commit-file.ts";
import { listLog } from "./log-list.ts";
import { commitPath } from "./log-names.ts";
import type { Store } from "./store/store.ts";
import type { Snapshot } from "./table.ts";

type Timed = { version: number; timestampMs: number };

/**
 * The newest version whose time is not after `timestampMs`; a time after the newest version gives the newest. TIMESTAMP_NOT_FOUND for a time
 * before the oldest version that can still be read.
 */
export async function versionAt(
  store: Store,
  latest: Snapshot,
  timestampMs: number,
  signal: AbortSignal,
): Promise<number> {
  if (timestampMs >= latest.timestampMs) return latest.version;
  const listing = await listLog(store, 0, signal);
  const oldest = listing.commits[0]?.version === 0 ? 0 : (listing.checkpoints.at(-1)?.version ?? 0);
  const byFile = fileTimes(listing.commits).filter(
    ({ version }) => version >= oldest && version <= latest.version,
  );
  const enabled = enablement(latest);
  const found =
    enabled && timestampMs >= enabled.timestampMs
      ? await newestByCommit(store, Math.max(enabled.version, oldest), latest, timestampMs, signal)
      : byFile.findLast(
          (commit) => commit.version < (enabled?.version ?? Infinity) && commit.timestampMs <= timestampMs,
        )?.version;
  if (found !== undefined) return found;
  const first = byFile[0];
  throw new LabError("TIMESTAMP_NOT_FOUND", `no version is as old as ${iso(timestampMs)}`, {
    hint: first
      ? `the oldest readable version, ${first.version}, is of ${iso(first.timestampMs)}`
      : "`lab history TABLE` lists them",
    details: { timestampMs },
  });
}

/** Times of commit files, made strictly increasing: copies and coarse clocks give equal ones. */
export function fileTimes(commits: readonly { version: number; object: { modifiedMs: number } }[]): Timed[] {
  let last = Number.NEGATIVE_INFINITY;
  return commits.map(({ version, object }) => {
    last = Math.max(Math.floor(object.modifiedMs), last + 1);
    return { version, timestampMs: last };
  });
}

/** From where on in-commit timestamps count; undefined where they are off. Without the two properties: from the start. */
function enablement(snapshot: Snapshot): Timed | undefined {
  const { configuration } = snapshot.metadata;
  if (configuration["delta.enableInCommitTimestamps"] !== "true") return undefined;
  return {
    version: Number(configuration["delta.inCommitTimestampEnablementVersion"] ?? 0),
    timestampMs: Number(
      configuration["delta.inCommitTimestampEnablementTimestamp"] ?? Number.NEGATIVE_INFINITY,
    ),
  };
}

/** Bisects the versions from `first` on: their in-commit timestamps increase. */
async function newestByCommit(
  store: Store,
  first: number,
  latest: Snapshot,
  timestampMs: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  let [low, high] = [first - 1, latest.version];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const time = await commitTimestamp(store, middle, signal);
    if (time <= timestampMs) low = middle;
    else high = middle;
  }
  return low >= first ? low : undefined;
}

async function commitTimestamp(store: Store, version: number, signal: AbortSignal): Promise<number> {
  const path = commitPath(version);
  try {
    const actions = parseCommit(await store.get(path, signal), path);
    const info = actions.find((action) => "commitInfo" in action)?.commitInfo;
    if (info?.inCommitTimestamp !== undefined) return Number(info.inCommitTimestamp);
    throw new LabError("CORRUPT_LOG", `${path} has no inCommitTimestamp, which the table promises`);
  } catch (error) {
    // A version below the oldest commit file is older than all that are there.
    if (isLabError(error, "OBJECT_MISSING")) return Number.NEGATIVE_INFINITY;
    throw error;
  }
}

function iso(timestampMs: number): string {
  const date = new Date(timestampMs);
  return Number.isNaN(date.getTime()) ? String(timestampMs) : date.toISOString();
}
