/** Opens a table: its newest version is read once and then followed. */

import { isLabError, LabError } from "../core/errors.ts";
import type { RetryOptions } from "../core/retry.ts";
import type { Action } from "./actions.ts";
import { type CheckpointMark, checkpointIfDue, writeCheckpoint } from "./checkpoint.ts";
import { commitTo } from "./commit.ts";
import { parseCommit } from "./commit-file.ts";
import { readHistory } from "./history.ts";
import { type Loaded, loadState, readCommits } from "./load.ts";
import { listLog, newestVersion } from "./log-list.ts";
import { commitPath } from "./log-names.ts";
import { applyCommit, type LogState, trimmed } from "./log-state.ts";
import { passedVersions } from "./passed-versions.ts";
import { recentCommits } from "./recent-commits.ts";
import { snapshotOf } from "./snapshot.ts";
import { type Whereabouts, whereabouts } from "./standing.ts";
import type { Store } from "./store/store.ts";
import type { Snapshot, Table } from "./table.ts";
import { versionAt } from "./time-travel.ts";

export type TableOptions = {
  now?: () => number;
  /** Number in [0, 1), for the pauses between attempts. */
  random?: () => number;
  /** How outages of the store are waited out while committing; default: for ever, with growing pauses. */
  outages?: Omit<RetryOptions, "signal">;
  /** Attempts of one commit behind winners that do not contradict. */
  maxAttempts?: number;
  /** Called between a checkpoint's file and the hint that points at it. */
  onStep?: (step: "in-checkpoint") => void;
};

/** Snapshots kept for being asked again: of versions just passed. They share their rows with the newest one. */
const RECENT = 16;

/**
 * So long after a listing the next commit is only asked for by its name: a listing goes through the names of all. A commit file that was
 * cleaned up again before a reader came to it shows in the next listing alone.
 */
const LIST_EVERY_MS = 10_000;

/** NOT_A_TABLE where there is none; UNSUPPORTED_FEATURE, CORRUPT_LOG. The caller keeps and closes the store. */
export async function openTable(
  store: Store,
  signal: AbortSignal,
  options: TableOptions = {},
): Promise<Table> {
  const now = options.now ?? Date.now;
  const random = options.random ?? Math.random;
  const loaded = await loadState(store, undefined, signal);
  let tip: LogState = loaded.state;
  let mark = markOf(loaded);
  let newest: Snapshot = snapshotOf(tip);
  const recent = new Map<number, Snapshot>([[newest.version, newest]]);
  const commits = recentCommits();
  const passed = passedVersions(store);
  const exclusive = mutex();
  const exclusivelyPassed = mutex();
  const checkpointOptions = { now, ...(options.onStep ? { onStep: options.onStep } : {}) };

  /** Moves the tip on by one commit; `newest` follows as far as this reader may read. */
  const advance = (commit: { version: number; actions: readonly Action[]; modifiedMs: number }) => {
    tip = applyCommit(tip, commit);
    commits.note(commit.version, commit.actions);
    const rows = tip.rows;
    tip = trimmed(tip, now());
    // Older snapshots hold on to the rows they were made with.
    if (tip.rows !== rows) recent.clear();
    keep(snapshotOf(tip, newest));
  };
  const keep = (snapshot: Snapshot) => {
    newest = snapshot;
    recent.set(snapshot.version, snapshot);
    for (const version of recent.keys()) {
      if (recent.size <= RECENT) break;
      recent.delete(version);
    }
  };
  let listedAt = now();
  const isNewest = async (waiting: AbortSignal): Promise<boolean> => {
    const isFresh = Math.abs(now() - listedAt) < LIST_EVERY_MS;
    // The tip is ahead where it may not be read.
    if (!isFresh || newest.version !== tip.version) return false;
    try {
      await store.getRange(commitPath(tip.version + 1), 0, 1, waiting);
      return false;
    } catch (error) {
      if (isLabError(error, "OBJECT_MISSING")) return true;
      throw error;
    }
  };
  const reload = async (waiting: AbortSignal) => {
    const fresh = await loadState(store, undefined, waiting);
    tip = fresh.state;
    mark = markOf(fresh);
    recent.clear();
    passed.clear();
    keep(snapshotOf(tip));
  };
  /** A version that is not the newest. */
  const passedAt = async (version: number, waiting: AbortSignal): Promise<Snapshot> =>
    recent.get(version) ?? exclusivelyPassed(() => passed.at(version, waiting), waiting);
  /** The commits after the tip, or undefined where some of them are gone. */
  const freshCommits = async (waiting: AbortSignal) => {
    listedAt = now();
    const listing = await listLog(store, tip.version + 1, waiting);
    const fresh = listing.commits.filter((commit) => commit.version > tip.version);
    const isContiguous = fresh.every((commit, at) => commit.version === tip.version + 1 + at);
    const isBehind = (newestVersion(listing) ?? -1) > (fresh.at(-1)?.version ?? tip.version);
    return isContiguous && !isBehind ? fresh : undefined;
  };
  /** Where a commit stands that is known to be there; nothing is known of it where the store cannot say. */
  const placeOf = async (version: number, waiting: AbortSignal): Promise<Partial<Whereabouts>> => {
    try {
      return await whereabouts(store, version, waiting);
    } catch (error) {
      if (!isLabError(error) && !waiting.aborted) throw error;
      return {};
    }
  };
  /** A listing may lag behind; up to `atLeast`, which is known to be there, commits are asked for by name. */
  const refresh = async (waiting: AbortSignal, atLeast = 0) => {
    // Listing a folder while others write may show a later file and not an earlier one: look twice before a reload.
    const fresh = (await freshCommits(waiting)) ?? (await freshCommits(waiting));
    if (!fresh) return reload(waiting);
    const known = new Map(fresh.map(({ version }) => [version, commits.get(version)]));
    const unread = readCommits(
      store,
      fresh.filter(({ version }) => !known.get(version)),
      waiting,
    );
    for (const { version, object } of fresh) {
      const actions = known.get(version) ?? (await unread.next()).value!.actions;
      advance({ version, actions, modifiedMs: Math.floor(object.modifiedMs) });
    }
    while (tip.version < atLeast) {
      const version = tip.version + 1;
      const actions = commits.get(version) ?? (await table.commitActions(version, waiting));
      const { modifiedMs = now() } = await placeOf(version, waiting);
      advance({ version, actions, modifiedMs });
    }
    if (newest.version !== tip.version) keep(snapshotOf(tip, newest));
  };

  const table: Table = {
    store,
    async latest(waiting) {
      // Mostly it is, and then there is nothing that only one at a time may do.
      const isThere = await isNewest(waiting);
      waiting.throwIfAborted();
      if (isThere) return newest;
      await exclusive(async () => {
        if (!(await isNewest(waiting))) await refresh(waiting);
      }, waiting);
      return newest;
    },
    async at(point, waiting) {
      const latest = await table.latest(waiting);
      const version =
        "version" in point ? point.version : await versionAt(store, latest, point.timestampMs, waiting);
      if (!Number.isSafeInteger(version) || version < 0 || version > latest.version)
        throw new LabError(
          "VERSION_NOT_FOUND",
          `version ${version} does not exist; the newest is ${latest.version}`,
          { hint: "`lab history TABLE` lists them", details: { version, newest: latest.version } },
        );
      return passedAt(version, waiting);
    },
    history: (asked) => readHistory(store, asked),
    async commitActions(version, waiting) {
      const path = commitPath(version);
      try {
        return parseCommit(await store.get(path, waiting), path);
      } catch (cause) {
        if (!isLabError(cause, "OBJECT_MISSING")) throw cause;
        throw new LabError("VERSION_NOT_FOUND", `the commit file of version ${version} is not there`, {
          hint: "the version does not exist, or its commit file was cleaned up",
          details: { version },
          cause,
        });
      }
    },
    commit: (request, waiting) =>
      commitTo(
        {
          store,
          now,
          random,
          outages: options.outages ?? {},
          maxAttempts: options.maxAttempts ?? 200,
          actionsOf: async (version) => commits.get(version) ?? table.commitActions(version, waiting),
          lost: commits.note,
          refreshed: async (version) => {
            if (newest.version < version) await exclusive(() => refresh(waiting, version), waiting);
            return newest;
          },
          committed: (version, actions) =>
            exclusive(async () => {
              const { modifiedMs = now(), isStranded } = await placeOf(version, waiting);
              if (isStranded) {
                await store.delete(commitPath(version), waiting);
                await reload(waiting);
                return null;
              }
              if (tip.version === version - 1) advance({ version, actions, modifiedMs });
              return passedAt(version, waiting);
            }),
        },
        request,
        waiting,
      ),
    async maintain(snapshot, waiting) {
      const done = await checkpointIfDue(store, snapshot, mark, tip.bytesWritten, checkpointOptions, waiting);
      mark = done.mark;
      return done.isWritten;
    },
    async checkpoint(snapshot, waiting) {
      const { bytesWritten } = tip;
      mark = { ...(await writeCheckpoint(store, snapshot, checkpointOptions, waiting)), bytesWritten };
    },
  };
  return table;
}

/**
 * One version, without following the table: works for an old version whose successors cannot be read here.
 * VERSION_NOT_FOUND, NOT_A_TABLE, UNSUPPORTED_FEATURE, CORRUPT_LOG.
 */
export async function readVersion(store: Store, version: number, signal: AbortSignal): Promise<Snapshot> {
  return snapshotOf((await loadState(store, version, signal)).state);
}

function markOf({ checkpoint }: Loaded): CheckpointMark {
  return { version: 0, sizeInBytes: 0, numFiles: 0, ...checkpoint, bytesWritten: 0 };
}

/** Runs work one at a time, in the order asked. A caller whose signal aborts stops waiting for its turn. */
function mutex(): <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(work: () => Promise<T>, signal?: AbortSignal) =>
    new Promise<T>((resolve, reject) => {
      const onAbort = () => reject(signal?.reason);
      signal?.addEventListener("abort", onAbort, { once: true });
      const mine = last.then(() => {
        signal?.throwIfAborted();
        return work();
      });
      last = mine.catch(() => {});
      mine.then(resolve, reject).finally(() => signal?.removeEventListener("abort", onAbort));
    });
}
