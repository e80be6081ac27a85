/** Loads a version of a table: the newest checkpoint that helps, then the commits after it. */

import { isLabError, LabError } from "../core/errors.ts";
import type { Action } from "./actions.ts";
import { readCheckpoint } from "./checkpoint-read.ts";
import type { CheckpointRow } from "./checkpoint-row.ts";
import { parseCommit } from "./commit-file.ts";
import { readHint } from "./last-checkpoint.ts";
import {
  type CheckpointFiles,
  type CommitFile,
  firstMissing,
  type LogListing,
  listLog,
  newestVersion,
  type Segment,
  segmentsTo,
} from "./log-list.ts";
import { commitPath, SIDECAR_FOLDER } from "./log-names.ts";
import { applyCommit, type Commit, commitTime, emptyState, type LogState } from "./log-state.ts";
import { decodePath } from "./path.ts";
import type { Store } from "./store/store.ts";

/** Commits fetched at once while replaying. */
const FETCH_AHEAD = 8;

export type Loaded = {
  state: LogState;
  /** The checkpoint the state was built on: its version and bytes. */
  checkpoint: { version: number; sizeInBytes: number; numFiles: number } | undefined;
};

/**
 * The state at `target`, or the newest one. `_last_checkpoint` is tried first and never trusted; a checkpoint that cannot be read gives
 * way to an older one where the commits are still there. NOT_A_TABLE, VERSION_NOT_FOUND, CORRUPT_LOG.
 */
export async function loadState(
  store: Store,
  target: number | undefined,
  signal: AbortSignal,
): Promise<Loaded> {
  try {
    return await replay(store, await waysTo(store, target, signal), signal);
  } catch (error) {
    if (!isLabError(error, "OBJECT_MISSING", "CORRUPT_LOG")) throw error;
  }
  // What was listed may have been cleaned up since, or the hint led to something damaged: once more from a full listing.
  try {
    return await replay(store, await allWaysTo(store, target, signal), signal);
  } catch (error) {
    if (!isLabError(error, "OBJECT_MISSING")) throw error;
    throw new LabError("CORRUPT_LOG", `the log lost a file while it was read: ${error.message}`, {
      cause: error,
    });
  }
}

/**
 * As `loadState`, by a listing of the log that was made before, in which commits and checkpoints may be gone by now: OBJECT_MISSING, CORRUPT_LOG.
 * `passed` is told the states of versions on the way.
 */
export async function loadBy(
  store: Store,
  listing: LogListing,
  target: number,
  signal: AbortSignal,
  passed: (state: LogState) => void,
): Promise<Loaded> {
  const segments = segmentsTo(listing, target);
  if (segments === undefined) throw unreachable(store, listing, target);
  return replay(store, segments, signal, passed);
}

async function waysTo(
  store: Store,
  target: number | undefined,
  signal: AbortSignal,
): Promise<Iterable<Segment>> {
  const hint = await readHint(store, signal);
  if (hint && (target === undefined || hint.version <= target)) {
    const near = await listLog(store, hint.version, signal);
    const segments = reachesBeyond(near, hint.version) ? segmentsTo(near, target) : undefined;
    if (segments !== undefined) return segments;
  }
  return allWaysTo(store, target, signal);
}

async function allWaysTo(
  store: Store,
  target: number | undefined,
  signal: AbortSignal,
): Promise<Iterable<Segment>> {
  const listing = await listLog(store, 0, signal);
  const segments = segmentsTo(listing, target);
  if (segments === undefined) throw unreachable(store, listing, target);
  return segments;
}

/** A stale hint may point beyond the end of a table that was made anew. */
function reachesBeyond(listing: LogListing, version: number): boolean {
  return (newestVersion(listing) ?? -1) >= version;
}

function unreachable(store: Store, listing: LogListing, target: number | undefined): LabError {
  const newest = newestVersion(listing);
  if (newest === undefined)
    return new LabError("NOT_A_TABLE", `${store.root} holds no Delta table`, {
      hint: "check the path; a table is a folder with a _delta_log in it",
      details: { root: store.root },
    });
  const oldest = listing.checkpoints.at(-1)?.version;
  const isCleaned = listing.commits[0]?.version !== 0 && oldest !== undefined;
  if (target !== undefined && isCleaned && target < oldest)
    return new LabError("VERSION_NOT_FOUND", `version ${target} is no longer in the log of ${store.root}`, {
      hint: `the oldest version that can be read is ${oldest}`,
      details: { version: target, oldest },
    });
  const path = commitPath(firstMissing(listing, target) ?? 0);
  const [part] = listing.missingParts;
  return new LabError("CORRUPT_LOG", `${path} is missing from the log of ${store.root}, or empty`, {
    hint: part
      ? `restore it from a copy, or the part ${part} of a checkpoint, which is missing too`
      : "restore the file from a copy; no checkpoint and no compaction stands in for it",
    details: { root: store.root, path, ...(part ? { part } : {}) },
  });
}

/** Replays the first of the ways whose checkpoint can be read. */
async function replay(
  store: Store,
  segments: Iterable<Segment>,
  signal: AbortSignal,
  passed?: (state: LogState) => void,
): Promise<Loaded> {
  const { base, segment } = await firstReadable(store, segments, signal);
  let state = base;
  for await (const commit of readCommits(store, segment.commits, signal)) {
    state = applyCommit(state, commit);
    passed?.(state);
  }
  if (!state.protocol || !state.metadata)
    throw new LabError("CORRUPT_LOG", `the log has no ${state.protocol ? "metaData" : "protocol"} action`, {
      details: { root: store.root, version: segment.version },
    });
  const { checkpoint } = segment;
  const sizeInBytes = checkpoint?.files.reduce((sum, file) => sum + file.size, 0) ?? 0;
  return {
    state: { ...state, rowsWhenFresh: state.rows.length },
    checkpoint: checkpoint && { version: checkpoint.version, sizeInBytes, numFiles: base.numFiles },
  };
}

async function firstReadable(
  store: Store,
  segments: Iterable<Segment>,
  signal: AbortSignal,
): Promise<{ base: LogState; segment: Segment }> {
  let failure: unknown;
  for (const segment of segments) {
    const { checkpoint } = segment;
    if (!checkpoint) return { base: emptyState(store.root), segment };
    try {
      return { base: await fromCheckpoint(store, checkpoint, segment, signal), segment };
    } catch (error) {
      if (!isLabError(error, "CORRUPT_LOG", "OBJECT_MISSING")) throw error;
      failure ??= error;
    }
  }
  throw failure;
}

/** The state that one checkpoint holds, whatever commits and other checkpoints say. OBJECT_MISSING, CORRUPT_LOG. */
export async function fromCheckpoint(
  store: Store,
  checkpoint: CheckpointFiles,
  segment: Pick<Segment, "checkpointCommit" | "commits">,
  signal: AbortSignal,
): Promise<LogState> {
  const { version } = checkpoint;
  const empty = emptyState(store.root);
  const actions: Action[] = [];
  const pending = checkpoint.files.map((file) => file.path);
  const main = new Set(pending);
  let isMarked = false;
  for (let path = pending.shift(); path !== undefined; path = pending.shift()) {
    const file = path;
    const row = (row: CheckpointRow) => {
      if ("add" in row) empty.rows.add(version, row.add);
      else if ("remove" in row) empty.rows.remove(version, row.remove);
      else if ("sidecar" in row) {
        // A sidecar that names sidecars could lead in a circle.
        if (!main.has(file)) throw wrongCheckpoint(file, "a sidecar must not name others");
        pending.push(sidecarPath(row.sidecar));
      } else if ("checkpointMetadata" in row) {
        isMarked = row.checkpointMetadata.version === version;
        if (!isMarked) throw wrongCheckpoint(file, `it is of version ${row.checkpointMetadata.version}`);
      } else actions.push(row);
    };
    const sink = { row, expect: empty.rows.expect };
    await readCheckpoint(await store.get(path, signal), path, sink, signal);
  }
  if (checkpoint.kind === "v2" && !isMarked)
    throw wrongCheckpoint(checkpoint.files[0]!.path, "it has no checkpointMetadata");
  const { modifiedMs } = segment.checkpointCommit ?? checkpoint.files[0]!;
  const state = applyCommit(empty, { version, actions, modifiedMs: Math.floor(modifiedMs) });
  const needsTime = segment.commits.length === 0 && segment.checkpointCommit !== undefined;
  const timestampMs = needsTime ? await commitFileTime(store, state, signal) : state.timestampMs;
  return { ...state, timestampMs };
}

/** Wherever the URI of a sidecar points, the protocol keeps it in the log's own folder: a copied table still finds it. */
function sidecarPath(uri: string): string {
  return `${SIDECAR_FOLDER}${decodePath(uri.slice(uri.lastIndexOf("/") + 1))}`;
}

function wrongCheckpoint(path: string, why: string): LabError {
  return new LabError("CORRUPT_LOG", `checkpoint ${path} is wrong: ${why}`, { details: { path } });
}

/** The time of the commit that a checkpoint stands for: its file is read where in-commit timestamps ask for it. */
async function commitFileTime(store: Store, state: LogState, signal: AbortSignal): Promise<number> {
  if (state.metadata?.configuration["delta.enableInCommitTimestamps"] !== "true") return state.timestampMs;
  const path = commitPath(state.version);
  try {
    const actions = parseCommit(await store.get(path, signal), path);
    return commitTime(
      state.metadata,
      actions.find((action) => "commitInfo" in action)?.commitInfo,
      state.timestampMs,
    );
  } catch (error) {
    if (isLabError(error, "OBJECT_MISSING", "CORRUPT_LOG")) return state.timestampMs;
    throw error;
  }
}

/** Reads commit files in order, some ahead of the one that is asked for. */
export async function* readCommits(
  store: Store,
  commits: readonly CommitFile[],
  signal: AbortSignal,
): AsyncGenerator<Commit & { actions: Action[] }> {
  const ahead: Promise<Action[]>[] = [];
  let next = 0;
  for (const { version, object, isCompaction = false } of commits) {
    while (next < commits.length && ahead.length < FETCH_AHEAD) {
      const { path } = commits[next++]!.object;
      const read = store.get(path, signal).then((bytes) => parseCommit(bytes, path));
      // A failure is seen when its turn comes; until then it must not count as unhandled.
      read.catch(() => {});
      ahead.push(read);
    }
    const actions = await ahead.shift()!;
    yield { version, actions, modifiedMs: Math.floor(object.modifiedMs), isCompaction };
  }
}
