/** Vacuum: deletes files that no kept version needs, and says which versions end by it. */

import { LabError } from "../core/errors.ts";
import { inParallel } from "../core/in-parallel.ts";
import { retry } from "../core/retry.ts";
import { checkWritable } from "../delta/protocol.ts";
import type { Store, StoredObject } from "../delta/store/store.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { deletedFileRetentionMs } from "../delta/table-properties.ts";
import { type DescribedVersions, describeVersions } from "./describe-versions.ts";
import { removeEmptyFolders } from "./empty-folders.ts";
import { type FileLives, readFileLives } from "./file-lives.ts";
import type { OnProgress } from "./progress.ts";
import { dataObjects, possibleNames } from "./table-objects.ts";
import { merged, type VersionRange, without } from "./version-ranges.ts";

export type VacuumOptions = {
  /** Files that no version newer than this needs go, in ms; default: the table's `delta.deletedFileRetentionDuration`. */
  retainMs?: number | undefined;
  /** Allows `retainMs` below the table's own retention. Files of running writers and queries may go then. */
  allowShort?: boolean;
  /** Only tells what would go. */
  isDryRun?: boolean;
  /** Finds the versions that end; reads every commit that is left. Default true. */
  explain?: boolean;
  now?: () => number;
  onProgress?: OnProgress | undefined;
};

export type VacuumResult = {
  /** The version that was looked at. */
  version: number;
  isDryRun: boolean;
  retainMs: number;
  /** Files older than this and needed by no version since are meant. */
  cutoffMs: number;
  /** What went, or would go. */
  deleted: StoredObject[];
  bytes: number;
  folders: number;
  /** Files that no version names and that are too young: those of a commit under way are among them. */
  young: { files: number; bytes: number };
  /** Versions that could be read whole before and cannot after; null where that was not asked for. */
  ended: DescribedVersions[] | null;
};

const PARALLEL = 16;
/** An outage shorter than this does not end a vacuum half way. */
const PATIENCE_MS = 60_000;

/**
 * Deletes the data files, deletion vectors and change data files that are older than the retention and that neither the newest version nor a
 * removal within the retention names. What a writer has stored and not yet committed is safe by its age. The deleting stands between two
 * commits, VACUUM START and VACUUM END, as other engines write them. RETENTION_TOO_SHORT, UNSUPPORTED_FEATURE, COMMIT_CONFLICT.
 */
export async function vacuum(
  table: Table,
  options: VacuumOptions,
  signal: AbortSignal,
): Promise<VacuumResult> {
  const { store } = table;
  const { isDryRun = false, explain = true, onProgress } = options;
  const snapshot = await table.latest(signal);
  checkWritable(snapshot.protocol, snapshot.metadata);
  const own = deletedFileRetentionMs(snapshot.metadata.configuration);
  const retainMs = options.retainMs ?? own;
  if (retainMs < own && options.allowShort !== true) throw tooShort(retainMs, own);
  const cutoffMs = (options.now ?? Date.now)() - retainMs;

  // The log drops what was removed before the table's own retention: a longer one is kept by reading the commits.
  const lives =
    explain || retainMs > own
      ? await readFileLives(store, snapshot, { lateAfterMs: cutoffMs, signal, onProgress })
      : undefined;
  const found = await findUnneeded(store, snapshot, { cutoffMs, lives, signal, onProgress });
  const result = {
    version: snapshot.version,
    isDryRun,
    retainMs,
    cutoffMs,
    young: found.young,
    folders: 0,
    ended: explain && lives ? await describeVersions(store, endedBy(found, lives), signal) : null,
  };
  if (isDryRun || found.unneeded.length === 0)
    return { ...result, deleted: found.unneeded, bytes: sizeOf(found.unneeded) };

  const started = await begin(table, { snapshot, retainMs, own, unneeded: found.unneeded }, signal);
  const again = namedSince(store, snapshot, started);
  const deleted = found.unneeded.filter(({ path }) => !again.has(path));
  let done = 0;
  await inParallel(deleted, PARALLEL, async ({ path }) => {
    await retry(() => store.delete(path, signal), { signal, deadlineMs: PATIENCE_MS });
    onProgress?.("deleting", ++done, deleted.length);
  });
  const folders = await removeEmptyFolders(
    store,
    deleted.map(({ path }) => path),
  );
  await end(table, { files: deleted.length, folders }, signal);
  return { ...result, version: started.version, deleted, bytes: sizeOf(deleted), folders };
}

type Found = {
  unneeded: StoredObject[];
  young: { files: number; bytes: number };
  /** Names of all data objects that are there and stay. */
  staying: ReadonlySet<string>;
};

async function findUnneeded(
  store: Store,
  snapshot: Snapshot,
  options: {
    cutoffMs: number;
    lives: FileLives | undefined;
    signal: AbortSignal;
    onProgress: OnProgress | undefined;
  },
): Promise<Found> {
  const { cutoffMs, lives, signal, onProgress } = options;
  const needed = new Set<string>(lives?.late);
  for (const add of snapshot.files()) for (const name of possibleNames(store, add)) needed.add(name);
  for (const remove of snapshot.tombstones()) {
    if ((remove.deletionTimestamp ?? 0) <= cutoffMs) continue;
    for (const name of possibleNames(store, remove)) needed.add(name);
  }
  const unneeded: StoredObject[] = [];
  const young = { files: 0, bytes: 0 };
  const staying = new Set<string>();
  let seen = 0;
  for await (const object of dataObjects(store, snapshot, signal)) {
    onProgress?.("listing", ++seen, null);
    if (!needed.has(object.path) && object.modifiedMs < cutoffMs) {
      unneeded.push(object);
      continue;
    }
    if (lives?.removed.has(object.path)) staying.add(object.path);
    if (needed.has(object.path)) continue;
    young.files++;
    young.bytes += object.size;
  }
  return { unneeded, young, staying };
}

/** Versions that need one of the files that go, without those that lack another one already. */
function endedBy({ unneeded, staying }: Found, { removed }: FileLives): VersionRange[] {
  const going = new Set(unneeded.map(({ path }) => path));
  const ending: VersionRange[] = [];
  const ended: VersionRange[] = [];
  for (const [name, ranges] of removed) {
    if (going.has(name)) ending.push(...ranges);
    else if (!staying.has(name)) ended.push(...ranges);
  }
  return without(merged(ending), merged(ended));
}

/** Names that commits after the snapshot brought back, as a restore does. */
function namedSince(store: Store, snapshot: Snapshot, newest: Snapshot): Set<string> {
  const names = new Set<string>();
  if (newest.version === snapshot.version + 1) return names;
  for (const add of newest.files()) for (const name of possibleNames(store, add)) names.add(name);
  return names;
}

async function begin(
  table: Table,
  start: { snapshot: Snapshot; retainMs: number; own: number; unneeded: readonly StoredObject[] },
  signal: AbortSignal,
): Promise<Snapshot> {
  const { retainMs, own, unneeded } = start;
  const result = await table.commit(
    {
      readSnapshot: start.snapshot,
      operation: "VACUUM START",
      operationParameters: {
        retentionCheckEnabled: String(retainMs >= own),
        specifiedRetentionMillis: String(retainMs),
        defaultRetentionMillis: String(own),
      },
      operationMetrics: {
        numFilesToDelete: String(unneeded.length),
        sizeOfDataToDelete: String(sizeOf(unneeded)),
      },
    },
    signal,
  );
  if (result.kind === "committed") return result.snapshot;
  throw new LabError("COMMIT_CONFLICT", `nothing was deleted: version ${result.version}: ${result.message}`, {
    hint: "run vacuum again",
  });
}

/** Best effort: the files are gone, whatever stands in the log. */
async function end(
  table: Table,
  done: { files: number; folders: number },
  signal: AbortSignal,
): Promise<void> {
  const readSnapshot = await table.latest(signal);
  await table.commit(
    {
      readSnapshot,
      operation: "VACUUM END",
      operationParameters: { status: "COMPLETED" },
      operationMetrics: {
        numDeletedFiles: String(done.files),
        numVacuumedDirectories: String(done.folders),
      },
    },
    signal,
  );
}

function sizeOf(objects: readonly StoredObject[]): number {
  return objects.reduce((sum, { size }) => sum + size, 0);
}

function tooShort(retainMs: number, own: number): LabError {
  const hours = (ms: number) => `${Number((ms / 3_600_000).toFixed(2))} h`;
  return new LabError(
    "RETENTION_TOO_SHORT",
    `a retention of ${hours(retainMs)} is below the table's own, ${hours(own)}: files of writers that have not committed yet and of queries that still run could go`,
    {
      hint: "give a longer --retain; or set delta.deletedFileRetentionDuration; or, when nobody else uses the table, add --allow-short-retention",
      details: { retainMs, tableRetentionMs: own },
    },
  );
}
