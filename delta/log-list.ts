/** What stands in `_delta_log/`, and which of it makes up a version. */

import { LabError } from "../core/errors.ts";
import { beforeVersion, parseLogName, partPath, VERSIONED_PREFIX } from "./log-names.ts";
import type { Store, StoredObject } from "./store/store.ts";

/** A complete checkpoint; `files` are its parts in order. */
export type CheckpointFiles = { version: number; kind: "classic" | "multi" | "v2"; files: StoredObject[] };

/** `isCompaction`: the file stands for several commits, of which `version` is the last. */
export type CommitFile = { version: number; object: StoredObject; isCompaction?: true };

export type LogListing = {
  /** Ascending by version. */
  commits: { version: number; object: StoredObject }[];
  /** Each stands for the commits from `from` to `version`; only read where one of those is missing. */
  compactions: { from: number; version: number; object: StoredObject }[];
  /** Best first: newest, and at one version V2 before classic before multi-part. */
  checkpoints: CheckpointFiles[];
  /** Paths that a checkpoint in parts lacks. */
  missingParts: string[];
};

/** The log's files of `fromVersion` and later. */
export async function listLog(store: Store, fromVersion: number, signal: AbortSignal): Promise<LogListing> {
  const objects: StoredObject[] = [];
  const startAfter = beforeVersion(fromVersion);
  for await (const object of store.list(VERSIONED_PREFIX, { startAfter, signal })) objects.push(object);
  return arrange(objects);
}

/** Sorts a listing into commits, compactions and complete checkpoints; the rest is ignored. CORRUPT_LOG for a version beyond 2^53. */
function arrange(objects: readonly StoredObject[]): LogListing {
  const commits: LogListing["commits"] = [];
  const compactions: LogListing["compactions"] = [];
  const checkpoints: CheckpointFiles[] = [];
  const parts = new Map<string, { version: number; files: (StoredObject | undefined)[] }>();
  for (const object of objects) {
    const name = parseLogName(object.path);
    if (!name || object.size === 0) continue;
    if (!Number.isSafeInteger(name.version)) throw impossible(object.path);
    if (name.kind === "commit") commits.push({ version: name.version, object });
    else if (name.kind === "compaction") compactions.push({ from: name.from, version: name.version, object });
    else if (name.kind !== "multi")
      checkpoints.push({ version: name.version, kind: name.kind, files: [object] });
    else if (name.part >= 1 && name.part <= name.parts) {
      const key = `${name.version}/${name.parts}`;
      const found = parts.get(key) ?? { version: name.version, files: new Array(name.parts).fill(undefined) };
      found.files[name.part - 1] = object;
      parts.set(key, found);
    }
  }
  const missingParts: string[] = [];
  for (const { version, files } of parts.values()) {
    const present = files.filter((file) => file !== undefined);
    if (present.length === files.length) checkpoints.push({ version, kind: "multi", files: present });
    else missingParts.push(partPath(version, files.indexOf(undefined) + 1, files.length));
  }
  const rank = { v2: 0, classic: 1, multi: 2 };
  checkpoints.sort((a, b) => b.version - a.version || rank[a.kind] - rank[b.kind]);
  return { commits: commits.sort((a, b) => a.version - b.version), compactions, checkpoints, missingParts };
}

function impossible(path: string): LabError {
  return new LabError("CORRUPT_LOG", `${path} is of a version that no table reaches`, {
    hint: "move the file out of the log",
    details: { path },
  });
}

/** The way to a version: a checkpoint, or none for "from the start", and the commits after it, none missing. */
export type Segment = {
  version: number;
  checkpoint: CheckpointFiles | undefined;
  /** The commit that the checkpoint stands for, where its file is still there. */
  checkpointCommit: StoredObject | undefined;
  commits: CommitFile[];
};

/**
 * All ways to `target` (or the newest version), best first, each worked out when it is asked for: mostly the first one does. Undefined where
 * the listing leads nowhere. VERSION_NOT_FOUND for a target beyond the newest version.
 */
export function segmentsTo(listing: LogListing, target: number | undefined): Iterable<Segment> | undefined {
  const newest = newestVersion(listing);
  if (newest === undefined) return undefined;
  const version = target ?? newest;
  if (version > newest)
    throw new LabError("VERSION_NOT_FOUND", `version ${version} does not exist; the newest is ${newest}`, {
      hint: "`lab history TABLE` lists them",
      details: { version, newest },
    });
  const segments = segmentsOf(listing, version);
  const first = segments.next();
  return first.done ? undefined : withFirst(first.value, segments);
}

function* segmentsOf(listing: LogListing, version: number): Generator<Segment> {
  for (const checkpoint of [...listing.checkpoints, undefined]) {
    const from = checkpoint?.version ?? -1;
    if (from > version) continue;
    const { commits, missing } = commitsBetween(listing, from, version);
    const at = firstAfter(listing, from - 1);
    const checkpointCommit = listing.commits[at]?.version === from ? listing.commits[at]!.object : undefined;
    if (missing === undefined) yield { version, checkpoint, checkpointCommit, commits };
  }
}

function* withFirst<T>(first: T, rest: Iterable<T>): Generator<T> {
  yield first;
  yield* rest;
}

/**
 * The commits after `from` up to `version`; compactions in the place of missing ones. One that begins earlier does as well: it holds the
 * last word on each file, as what was read before does. `missing` is the first version that nothing stands for.
 */
function commitsBetween(
  listing: LogListing,
  from: number,
  version: number,
): { commits: CommitFile[]; missing?: number } {
  const commits = listing.commits.slice(firstAfter(listing, from), firstAfter(listing, version));
  if (commits.length === version - from) return { commits };
  const known = new Map(commits.map((commit) => [commit.version, commit]));
  const files: CommitFile[] = [];
  for (let next = from + 1; next <= version; ) {
    const file = known.get(next) ?? longestCompaction(listing, next, version);
    if (!file) return { commits: files, missing: next };
    files.push(file);
    next = file.version + 1;
  }
  return { commits: files };
}

/** The place of the first commit after `version`. */
function firstAfter({ commits }: LogListing, version: number): number {
  let [low, high] = [0, commits.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (commits[middle]!.version > version) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The first version missing on the way to `target`, or to the newest one, from the best checkpoint or the start. */
export function firstMissing(listing: LogListing, target: number | undefined): number | undefined {
  const version = target ?? newestVersion(listing) ?? 0;
  const start = listing.checkpoints.find((checkpoint) => checkpoint.version <= version)?.version ?? -1;
  return commitsBetween(listing, start, version).missing;
}

function longestCompaction(listing: LogListing, first: number, last: number): CommitFile | undefined {
  const [longest] = listing.compactions
    .filter(({ from, version }) => from <= first && first <= version && version <= last)
    .sort((a, b) => b.version - a.version);
  return longest && { version: longest.version, object: longest.object, isCompaction: true };
}

export function newestVersion(listing: LogListing): number | undefined {
  const versions = [
    listing.commits.at(-1)?.version,
    listing.checkpoints[0]?.version,
    ...listing.compactions.map(({ version }) => version),
  ].filter((version) => version !== undefined);
  return versions.length === 0 ? undefined : versions.reduce((a, b) => Math.max(a, b));
}
