/** Checks a log: every commit is there and parses, and whatever sums commits up agrees with them. */

import { isLabError } from "../core/errors.ts";
import type { Action } from "../delta/actions.ts";
import { parseCommit } from "../delta/commit-file.ts";
import { readHint } from "../delta/last-checkpoint.ts";
import { fromCheckpoint } from "../delta/load.ts";
import { type CheckpointFiles, listLog, newestVersion } from "../delta/log-list.ts";
import { commitPath, LAST_CHECKPOINT } from "../delta/log-names.ts";
import { applyCommit, emptyState, type LogState, trimmed } from "../delta/log-state.ts";
import type { Store, StoredObject } from "../delta/store/store.ts";
import { compareChecksum, compareStates, damagedChecksum } from "./compare-states.ts";
import { oldestReadable } from "./file-lives.ts";
import type { Findings } from "./findings.ts";
import type { OnProgress } from "./progress.ts";

export type LogCheck = {
  /** The versions whose commits were read; null for none. */
  oldest: number | null;
  newest: number | null;
  commits: number;
  checkpoints: number;
  checksums: number;
};

export type VerifyLogOptions = {
  damage: Findings;
  /** What readers get by without. */
  notes: Findings;
  /** Told of the actions of every commit. */
  onActions: (actions: readonly Action[]) => void;
  now: () => number;
  signal: AbortSignal;
  onProgress?: OnProgress | undefined;
};

const FETCH_AHEAD = 8;
const LOST_COMMIT =
  "restore the file from a copy; without it no version from here to the next checkpoint can be read";

/** Walks the log from the oldest readable version to the newest, holding one state, and one more per checkpoint while it is compared. */
export async function verifyLog(store: Store, options: VerifyLogOptions): Promise<LogCheck> {
  const { damage, notes, signal } = options;
  const listing = await listLog(store, 0, signal);
  const newest = newestVersion(listing);
  const check: LogCheck = { oldest: null, newest: newest ?? null, commits: 0, checkpoints: 0, checksums: 0 };
  if (newest === undefined) return check;
  const oldest = oldestReadable(listing);
  check.oldest = oldest;
  for (const file of listing.missingParts)
    notes.add({
      file,
      problem: "checkpoint",
      message: "a part of a checkpoint is missing, so readers pass the checkpoint over",
      hint: "lab checkpoint writes a whole one",
    });
  await checkHint(store, listing.checkpoints, options);

  const commits = new Map(listing.commits.map(({ version, object }) => [version, object]));
  const versions = [...new Set([...commits.keys(), ...listing.checkpoints.map(({ version }) => version)])]
    .filter((version) => version >= oldest)
    .sort((a, b) => a - b);
  const reportMissing = (from: number, to: number) => {
    const isStoodFor = listing.compactions.some((file) => file.from <= from && to <= file.version);
    (isStoodFor ? notes : damage).add({
      file: commitPath(from),
      problem: "commit",
      message: `${from === to ? `the commit of version ${from} is` : `the commits of versions ${from} to ${to} are`} missing${isStoodFor ? "; a compaction stands in" : ""}`,
      hint: LOST_COMMIT,
    });
  };
  /** Undefined while it is not known what the state is: behind a commit that is missing or damaged. */
  let state: LogState | undefined = oldest === 0 ? emptyState(store.root) : undefined;
  let timeMs = Number.NEGATIVE_INFINITY;
  let expected = oldest;
  for await (const { version, object, actions, problem } of readAhead(store, versions, commits, signal)) {
    // The oldest version may rest on its checkpoint alone.
    const isMissing = object === undefined && version > oldest;
    if (version > expected || isMissing) reportMissing(expected, isMissing ? version : version - 1);
    if (version > expected) state = undefined;
    expected = version + 1;
    if (actions) {
      options.onActions(actions);
      check.commits++;
    } else if (object) {
      damage.add({ file: object.path, problem: "commit", message: problem ?? "", hint: LOST_COMMIT });
    }
    state =
      state && actions && object
        ? trimmed(
            applyCommit(state, { version, actions, modifiedMs: Math.floor(object.modifiedMs) }),
            options.now(),
          )
        : undefined;
    for (const checkpoint of listing.checkpoints.filter((one) => one.version === version)) {
      const held = await readCheckpointState(store, checkpoint, options);
      if (!held) continue;
      check.checkpoints++;
      if (state) compareStates(state, held, { root: store.root, file: checkpoint.files[0]!.path, damage });
      state ??= { ...held, rowsWhenFresh: held.rows.length };
    }
    if (actions) timeMs = checkTime({ version, actions, state, before: timeMs }, damage);
    if (state && (await checkChecksum(store, state, options))) check.checksums++;
    options.onProgress?.("reading the log", version, newest);
  }
  return check;
}

type Read = {
  version: number;
  object: StoredObject | undefined;
  actions: Action[] | undefined;
  problem?: string;
};

/** The commits of versions in order, some fetched ahead. A damaged one comes with what is wrong with it. */
async function* readAhead(
  store: Store,
  versions: readonly number[],
  commits: ReadonlyMap<number, StoredObject>,
  signal: AbortSignal,
): AsyncGenerator<Read> {
  const read = async (version: number): Promise<Read> => {
    const object = commits.get(version);
    if (!object) return { version, object, actions: undefined };
    try {
      return { version, object, actions: parseCommit(await store.get(object.path, signal), object.path) };
    } catch (error) {
      if (!isLabError(error, "CORRUPT_LOG", "OBJECT_MISSING")) throw error;
      return { version, object, actions: undefined, problem: error.message };
    }
  };
  const ahead: Promise<Read>[] = [];
  let next = 0;
  for (let at = 0; at < versions.length; at++) {
    while (next < versions.length && ahead.length < FETCH_AHEAD) {
      const reading = read(versions[next++]!);
      // A failure is seen when its turn comes; until then it must not count as unhandled.
      reading.catch(() => {});
      ahead.push(reading);
    }
    yield await ahead.shift()!;
  }
}

async function readCheckpointState(
  store: Store,
  checkpoint: CheckpointFiles,
  { damage, signal }: VerifyLogOptions,
): Promise<LogState | undefined> {
  try {
    return await fromCheckpoint(store, checkpoint, { checkpointCommit: undefined, commits: [] }, signal);
  } catch (error) {
    if (!isLabError(error, "CORRUPT_LOG", "OBJECT_MISSING")) throw error;
    damage.add({
      file: checkpoint.files[0]!.path,
      problem: "checkpoint",
      message: error.message,
      hint: "delete it where the commits before it are there, then lab checkpoint writes a new one",
    });
    return undefined;
  }
}

async function checkHint(
  store: Store,
  checkpoints: readonly CheckpointFiles[],
  { notes, signal }: VerifyLogOptions,
): Promise<void> {
  const hint = await readHint(store, signal);
  if (!hint || checkpoints.some(({ version }) => version === hint.version)) return;
  notes.add({
    file: LAST_CHECKPOINT,
    problem: "checkpoint",
    message: `it points at a checkpoint of version ${hint.version} that is not there, so readers list the log`,
    hint: "lab checkpoint writes one and points at it",
  });
}

/** The commit's in-commit timestamp, or `before` where the table has none. */
function checkTime(
  commit: { version: number; actions: readonly Action[]; state: LogState | undefined; before: number },
  damage: Findings,
): number {
  const { version, actions, state, before } = commit;
  if (state?.metadata?.configuration["delta.enableInCommitTimestamps"] !== "true") return before;
  const info = actions.find((action) => "commitInfo" in action)?.commitInfo;
  const time = info?.inCommitTimestamp === undefined ? undefined : Number(info.inCommitTimestamp);
  if (time !== undefined && time > before) return time;
  damage.add({
    file: commitPath(version),
    problem: "time",
    message:
      time === undefined
        ? "it has no inCommitTimestamp, which the table promises"
        : `its inCommitTimestamp ${time} is not after that of the version before, ${before}`,
    hint: "queries by time may find another version; ask by version instead",
  });
  return Math.max(time ?? before, before);
}

/** True where a checksum file is there. */
async function checkChecksum(store: Store, state: LogState, options: VerifyLogOptions): Promise<boolean> {
  const file = commitPath(state.version).replace(/json$/, "crc");
  let bytes: Uint8Array;
  try {
    bytes = await store.get(file, options.signal);
  } catch (error) {
    if (isLabError(error, "OBJECT_MISSING")) return false;
    throw error;
  }
  const where = { root: store.root, file, damage: options.damage };
  try {
    compareChecksum(state, bytes, where);
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error;
    damagedChecksum(error.message, where);
  }
  return true;
}
