/** Cleanup of the log: old commits and checkpoints that no readable version needs (PROTOCOL.md, "Metadata Cleanup"). */

import { isLabError } from "../core/errors.ts";
import { inParallel } from "../core/in-parallel.ts";
import { retry } from "../core/retry.ts";
import { readCheckpoint } from "../delta/checkpoint-read.ts";
import type { CheckpointRow } from "../delta/checkpoint-row.ts";
import { fromCheckpoint } from "../delta/load.ts";
import { type CheckpointFiles, type LogListing, listLog, segmentsTo } from "../delta/log-list.ts";
import { parseLogName, SIDECAR_FOLDER, VERSIONED_PREFIX } from "../delta/log-names.ts";
import { checkWritable, unsupported, writerFeaturesOf } from "../delta/protocol.ts";
import type { Store, StoredObject } from "../delta/store/store.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { isLogCleanupEnabled, logRetentionMs } from "../delta/table-properties.ts";
import { fileTimes, versionAt } from "../delta/time-travel.ts";
import type { OnProgress } from "./progress.ts";

export type CleanupOptions = {
  /** Only tells what would go. */
  isDryRun?: boolean;
  now?: () => number;
  /** The oldest commit before a version that somebody has yet to read; undefined where there is none. It stays, and all after it. */
  unread?: (before: number, signal: AbortSignal) => Promise<number | undefined>;
  onProgress?: OnProgress | undefined;
};

export type LogFiles = {
  commits: number;
  checkpoints: number;
  checksums: number;
  compactions: number;
  sidecars: number;
};

export type CleanupResult = {
  isDryRun: boolean;
  retainMs: number;
  /** Versions older than this may end: the start of a day in UTC. */
  cutoffMs: number;
  /** The oldest version that can be read afterwards; null where nothing may be deleted. */
  oldest: number | null;
  deleted: LogFiles;
  bytes: number;
  /** Why nothing was deleted of the versions; null where something was. */
  reason: "off" | "young" | "no checkpoint" | "unread" | null;
  /** The oldest commit that would have gone, but for somebody who has yet to read it; null where there is none. */
  unread: number | null;
};

const DAY_MS = 86_400_000;
const PARALLEL = 16;
/** An outage shorter than this does not end a cleanup half way. */
const PATIENCE_MS = 60_000;
const CHECKSUM = /^_delta_log\/(\d{20})\.crc$/;

/**
 * Deletes commits, checkpoints, checksums and compactions older than `delta.logRetentionDuration`, up to the newest checkpoint that is older than
 * that, which stays with its commit and is read first: from it on every version stays readable, and keeps its time. Then sidecars that
 * no checkpoint names and that are older than a day. Nothing where `delta.enableExpiredLogCleanup` is false. UNSUPPORTED_FEATURE.
 */
export async function cleanupLog(
  table: Table,
  options: CleanupOptions,
  signal: AbortSignal,
): Promise<CleanupResult> {
  const { store } = table;
  const { isDryRun = false, onProgress } = options;
  const snapshot = await table.latest(signal);
  checkWritable(snapshot.protocol, snapshot.metadata);
  // Versions from before a feature was dropped must not go one by one (Delta's checkpoint protection): here none goes.
  if (writerFeaturesOf(snapshot.protocol).has("checkpointProtection"))
    throw unsupported("checkpointProtection (cleanup of the log)", "written");
  const { configuration } = snapshot.metadata;
  const nowMs = (options.now ?? Date.now)();
  const retainMs = logRetentionMs(configuration);
  const cutoffMs = Math.floor((nowMs - retainMs) / DAY_MS) * DAY_MS;
  const nothing = {
    isDryRun,
    retainMs,
    cutoffMs,
    oldest: null,
    deleted: { ...NONE },
    bytes: 0,
    unread: null,
  };
  if (!isLogCleanupEnabled(configuration)) return { ...nothing, reason: "off" };

  const expired = await newestAt(store, snapshot, cutoffMs, signal);
  if (expired === undefined) return { ...nothing, reason: "young" };
  const objects: StoredObject[] = [];
  for await (const object of store.list(VERSIONED_PREFIX, { signal })) objects.push(object);
  const listing = await listLog(store, 0, signal);
  let kept = await checkpointToKeep(store, listing, expired, signal);
  if (!kept) return { ...nothing, reason: "no checkpoint" };
  const unread = (await options.unread?.(kept.version, signal)) ?? null;
  if (unread !== null) kept = await checkpointToKeep(store, listing, unread, signal);
  if (!kept) return { ...nothing, reason: "unread", unread };

  const old = objects.flatMap((object) => {
    const found = describe(object.path);
    return found && isOld(found, kept) ? [{ ...found, object }] : [];
  });
  old.sort((a, b) => a.version - b.version);
  const spare = await spareSidecars(store, listing, { kept, nowMs, signal });
  const doomed = [...old, ...spare.map((object) => ({ kind: "sidecars" as const, version: 0, object }))];
  const deleted = { ...NONE };
  for (const { kind } of doomed) deleted[kind]++;
  const result: CleanupResult = {
    ...{ ...nothing, unread },
    oldest: kept.version,
    deleted,
    bytes: doomed.reduce((sum, { object }) => sum + object.size, 0),
    reason: old.length > 0 ? null : unread === null ? "young" : "unread",
  };
  if (isDryRun) return result;
  // The oldest first: whoever looks meanwhile, or after a crash, sees a log that begins later, not one with a hole.
  for (let at = 0; at < doomed.length; at += PARALLEL) {
    const some = doomed.slice(at, at + PARALLEL);
    await inParallel(some, PARALLEL, ({ object }) =>
      retry(() => store.delete(object.path, signal), { signal, deadlineMs: PATIENCE_MS }),
    );
    onProgress?.("deleting", at + some.length, doomed.length);
  }
  return result;
}

const NONE: LogFiles = { commits: 0, checkpoints: 0, checksums: 0, compactions: 0, sidecars: 0 };

type Described = { kind: keyof LogFiles; version: number; from?: number };

function describe(path: string): Described | undefined {
  const checksum = CHECKSUM.exec(path);
  if (checksum) return { kind: "checksums", version: Number(checksum[1]) };
  const name = parseLogName(path);
  if (name?.kind === "commit") return { kind: "commits", version: name.version };
  if (name?.kind === "compaction") return { ...name, kind: "compactions" };
  return name && { kind: "checkpoints", version: name.version };
}

/** A compaction that begins with what goes has no use, unless it stands in for a commit that is missing further on. */
function isOld({ version, from }: Described, kept: Kept): boolean {
  if (from === undefined) return version < kept.version;
  return kept.isGapless ? from <= kept.version : version <= kept.version;
}

/** The newest version that is not younger than a time; undefined where all are. */
async function newestAt(
  store: Store,
  snapshot: Snapshot,
  timestampMs: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  try {
    return await versionAt(store, snapshot, timestampMs, signal);
  } catch (error) {
    if (isLabError(error, "TIMESTAMP_NOT_FOUND")) return undefined;
    throw error;
  }
}

/** The version that stays the oldest, and whether each commit after it is there. */
type Kept = { version: number; isGapless: boolean };

/**
 * The newest checkpoint up to a version that leads to the newest version without a gap, can be read, and whose commit has a time that
 * does not rest on those before it: times are made increasing, so those of later versions would change with what is deleted.
 */
async function checkpointToKeep(
  store: Store,
  listing: LogListing,
  version: number,
  signal: AbortSignal,
): Promise<Kept | undefined> {
  const leading = new Map(
    [...(segmentsTo(listing, undefined) ?? [])].map((segment) => [segment.checkpoint, segment]),
  );
  const times = new Map(fileTimes(listing.commits).map((commit) => [commit.version, commit.timestampMs]));
  for (const checkpoint of listing.checkpoints) {
    const segment = leading.get(checkpoint);
    if (checkpoint.version > version || !segment) continue;
    const commit = listing.commits.find((one) => one.version === checkpoint.version);
    const isOwnTime =
      commit !== undefined && Math.floor(commit.object.modifiedMs) === times.get(checkpoint.version);
    if (!isOwnTime || !(await isWhole(store, checkpoint, signal))) continue;
    return { version: checkpoint.version, isGapless: segment.commits.every((file) => !file.isCompaction) };
  }
  return undefined;
}

/** What stands before a checkpoint is deleted for good only once the checkpoint is known to hold it. */
async function isWhole(store: Store, checkpoint: CheckpointFiles, signal: AbortSignal): Promise<boolean> {
  try {
    const state = await fromCheckpoint(
      store,
      checkpoint,
      { checkpointCommit: undefined, commits: [] },
      signal,
    );
    // Statistics may stay packed until somebody asks.
    for (const _ of state.rows.files(state.version));
    return state.protocol !== undefined && state.metadata !== undefined;
  } catch (error) {
    if (isLabError(error, "CORRUPT_LOG", "OBJECT_MISSING")) return false;
    throw error;
  }
}

/** Sidecars older than a day that no checkpoint from `kept` on names; none where one of those cannot be read. */
async function spareSidecars(
  store: Store,
  listing: LogListing,
  options: { kept: Kept; nowMs: number; signal: AbortSignal },
): Promise<StoredObject[]> {
  const { kept, nowMs, signal } = options;
  const old: StoredObject[] = [];
  for await (const object of store.list(SIDECAR_FOLDER, { signal }))
    if (object.modifiedMs < nowMs - DAY_MS) old.push(object);
  if (old.length === 0) return [];
  const named = new Set<string>();
  const noteSidecar = (row: CheckpointRow) => {
    if ("sidecar" in row) named.add(row.sidecar.split("/").at(-1)!);
  };
  try {
    for (const { version, files } of listing.checkpoints) {
      if (version < kept.version) continue;
      for (const { path } of files)
        await readCheckpoint(await store.get(path, signal), path, { row: noteSidecar }, signal);
    }
  } catch (error) {
    if (isLabError(error, "CORRUPT_LOG", "OBJECT_MISSING")) return [];
    throw error;
  }
  return old.filter(({ path }) => !named.has(path.slice(SIDECAR_FOLDER.length)));
}
