/** Versions before the newest, kept for those who go from one to the next, as a page does that is scrubbed. */

import { isLabError } from "../core/errors.ts";
import { loadBy, loadState, readCommits } from "./load.ts";
import { type LogListing, listLog, newestVersion } from "./log-list.ts";
import { applyCommit, type LogState } from "./log-state.ts";
import { snapshotOf } from "./snapshot.ts";
import type { Store } from "./store/store.ts";
import type { Snapshot } from "./table.ts";

export type PassedVersions = {
  /** One call at a time. VERSION_NOT_FOUND, UNSUPPORTED_FEATURE, CORRUPT_LOG. */
  at(version: number, signal: AbortSignal): Promise<Snapshot>;
  /** Forgets all: the log is another one. */
  clear(): void;
};

/** Versions that were replayed one after the other from one checkpoint. They share their rows, so that each costs little. */
type Run = { tip: LogState; states: Map<number, LogState> };

/** Files that all runs together may have, to be kept: some 100 MB of them; and how many runs and versions of each are. */
const MOST_FILES = 400_000;
const MOST_RUNS = 32;
const MOST_STATES = 64;
/** Commits that are read sooner than a checkpoint. */
const NEAR = 32;

/** Asks for nothing yet. The listing of the log is kept too: what it says of passed versions only changes when they are cleaned up. */
export function passedVersions(store: Store): PassedVersions {
  /** The one used last comes last. */
  let runs: Run[] = [];
  let listing: LogListing | undefined;
  let schemaOf: Snapshot | undefined;

  const listed = async (version: number, signal: AbortSignal): Promise<LogListing> => {
    if (!listing || (newestVersion(listing) ?? -1) < version) listing = await listLog(store, 0, signal);
    return listing;
  };
  const keep = (run: Run): void => {
    runs = [...runs.filter((one) => one !== run), run];
    let files = runs.reduce((sum, { tip }) => sum + tip.rows.length, 0);
    while (runs.length > MOST_RUNS || files > MOST_FILES) files -= runs.shift()!.tip.rows.length;
  };
  const pass = (run: Run, state: LogState): void => {
    run.tip = state;
    run.states.set(state.version, state);
    for (const version of run.states.keys()) {
      if (run.states.size <= MOST_STATES) break;
      run.states.delete(version);
    }
  };

  /** Goes on from a kept run, where that is near, or no checkpoint is nearer. */
  const goOn = async (
    version: number,
    known: LogListing,
    signal: AbortSignal,
  ): Promise<LogState | undefined> => {
    const checkpoint = known.checkpoints.find((one) => one.version <= version)?.version ?? -1;
    const from = Math.min(checkpoint, version - NEAR);
    const run = runs.findLast(({ tip }) => tip.version < version && tip.version >= from);
    if (!run) return undefined;
    const first = known.commits.findIndex((commit) => commit.version === run.tip.version + 1);
    const commits = known.commits.slice(first, first + version - run.tip.version);
    if (first === -1 || commits.at(-1)?.version !== version) return undefined;
    for await (const commit of readCommits(store, commits, signal)) pass(run, applyCommit(run.tip, commit));
    keep(run);
    return run.tip;
  };
  const load = async (version: number, known: LogListing, signal: AbortSignal): Promise<LogState> => {
    const states: LogState[] = [];
    const { state } = await loadBy(store, known, version, signal, (one) => states.push(one));
    const run: Run = { tip: state, states: new Map() };
    for (const one of states.slice(-MOST_STATES)) pass(run, one);
    pass(run, state);
    keep(run);
    return state;
  };
  const find = async (version: number, signal: AbortSignal): Promise<LogState> => {
    const run = runs.findLast(({ states }) => states.has(version));
    if (run) {
      keep(run);
      return run.states.get(version)!;
    }
    try {
      const known = await listed(version, signal);
      return (await goOn(version, known, signal)) ?? (await load(version, known, signal));
    } catch (error) {
      if (!isLabError(error, "OBJECT_MISSING", "CORRUPT_LOG", "VERSION_NOT_FOUND")) throw error;
    }
    // What was known of the log may have been cleaned up since.
    runs = [];
    listing = undefined;
    return (await loadState(store, version, signal)).state;
  };

  return {
    async at(version, signal) {
      schemaOf = snapshotOf(await find(version, signal), schemaOf);
      return schemaOf;
    },
    clear() {
      runs = [];
      listing = undefined;
    },
  };
}
