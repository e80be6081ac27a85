/** What stands in `_delta_log/`, and which of it makes up a version. */

import { LabError } from "../core/errors.ts";
import { beforeVersion, parseLogName, VERSIONED_PREFIX } from "./log-names.ts";
import type { Store, StoredObject } from "./store/store.ts";

/** A complete checkpoint; `files` are its parts in order. */
export type CheckpointFiles = { version: number; kind: "classic" | "multi" | "v2"; files: StoredObject[] };

export type LogListing = {
  /** Ascending by version. */
  commits: { version: number; object: StoredObject }[];
  /** Best first: newest, and at one version V2 before classic before multi-part. */
  checkpoints: CheckpointFiles[];
};

/** The log's files of `fromVersion` and later. */
export async function listLog(store: Store, fromVersion: number, signal: AbortSignal): Promise<LogListing> {
  const objects: StoredObject[] = [];
  const startAfter = beforeVersion(fromVersion);
  for await (const object of store.list(VERSIONED_PREFIX, { startAfter, signal })) objects.push(object);
  return arrange(objects);
}

/** Sorts a listing into commits and complete checkpoints; the rest is ignored. */
export function arrange(objects: readonly StoredObject[]): LogListing {
  const commits: LogListing["commits"] = [];
  const checkpoints: CheckpointFiles[] = [];
  const parts = new Map<string, { version: number; files: (StoredObject | undefined)[] }>();
  for (const object of objects) {
    const name = parseLogName(object.path);
    if (!name || object.size === 0) continue;
    if (name.kind === "commit") commits.push({ version: name.version, object });
    else if (name.kind !== "multi")
      checkpoints.push({ version: name.version, kind: name.kind, files: [object] });
    else if (name.part >= 1 && name.part <= name.parts) {
      const key = `${name.version}/${name.parts}`;
      const found = parts.get(key) ?? { version: name.version, files: new Array(name.parts).fill(undefined) };
      found.files[name.part - 1] = object;
      parts.set(key, found);
    }
  }
  for (const { version, files } of parts.values()) {
    const present = files.filter((file) => file !== undefined);
    if (present.length === files.length) checkpoints.push({ version, kind: "multi", files: present });
  }
  const rank = { v2: 0, classic: 1, multi: 2 };
  checkpoints.sort((a, b) => b.version - a.version || rank[a.kind] - rank[b.kind]);
  return { commits: commits.sort((a, b) => a.version - b.version), checkpoints };
}

/** The way to a version: a checkpoint, or none for "from the start", and the commits after it, without a gap. */
export type Segment = {
  version: number;
  checkpoint: CheckpointFiles | undefined;
  /** The commit that the checkpoint stands for, where its file is still there. */
  checkpointCommit: StoredObject | undefined;
  commits: LogListing["commits"];
};

/**
 * All ways to `target` (or the newest version), best first; none where the listing leads nowhere.
 * VERSION_NOT_FOUND for a target beyond the newest version.
 */
export function segmentsTo(listing: LogListing, target: number | undefined): Segment[] {
  const newest = newestVersion(listing);
  if (newest === undefined) return [];
  const version = target ?? newest;
  if (version > newest)
    throw new LabError("VERSION_NOT_FOUND", `version ${version} does not exist; the newest is ${newest}`, {
      hint: "see `lab history`",
      details: { version, newest },
    });
  const starts = [...listing.checkpoints.filter((checkpoint) => checkpoint.version <= version), undefined];
  const segments: Segment[] = [];
  for (const checkpoint of starts) {
    const from = checkpoint?.version ?? -1;
    const commits = listing.commits.filter((commit) => commit.version > from && commit.version <= version);
    const checkpointCommit = listing.commits.find((commit) => commit.version === from)?.object;
    if (commits.length === version - from) segments.push({ version, checkpoint, checkpointCommit, commits });
  }
  return segments;
}

export function newestVersion(listing: LogListing): number | undefined {
  const versions = [listing.commits.at(-1)?.version, listing.checkpoints[0]?.version].filter(
    (version) => version !== undefined,
  );
  return versions.length === 0 ? undefined : Math.max(...versions);
}
