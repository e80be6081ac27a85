/** Verify: reads a whole table and its log, and compares them with each other. */

import { isLabError, LabError } from "../core/errors.ts";
import type { Action, Add } from "../delta/actions.ts";
import { readVersion } from "../delta/open.ts";
import { canonicalPath } from "../delta/path.ts";
import type { Store, StoredObject } from "../delta/store/store.ts";
import type { Snapshot } from "../delta/table.ts";
import { type Finding, type Findings, findings } from "./findings.ts";
import { missingObjects } from "./presence.ts";
import type { OnProgress } from "./progress.ts";
import type { Reading } from "./reading.ts";
import { findDuplicates, suspects } from "./row-keys.ts";
import { dataFilter, objectNames, objectsBesideLog } from "./table-objects.ts";
import { type LogCheck, verifyLog } from "./verify-log.ts";
import { verifyRows } from "./verify-rows.ts";

export type VerifyOptions = {
  /** Whose files are read; default: the newest. The log is read whole. */
  version?: number | undefined;
  reading: Reading;
  now?: () => number;
  onProgress?: OnProgress | undefined;
};

export type Verification = {
  /** Null where no version could be read. */
  version: number | null;
  log: LogCheck;
  files: number;
  bytes: number;
  /** Rows that were counted in the files. */
  rows: bigint;
  damage: { count: number; listed: readonly Finding[] };
  /** What readers get by without. */
  notes: { count: number; listed: readonly Finding[] };
  /** Files that no version names: of commits under way or lost. Vacuum removes them once they are old enough. */
  orphans: { files: number; bytes: number; listed: StoredObject[] };
};

const MOST_LISTED = 1000;
const COPY = "restore the file from a copy, or take its rows out by lab restore to a version without it";

/** Never throws for damage: that is what it finds. NOT_A_TABLE, UNSUPPORTED_FEATURE, VERSION_NOT_FOUND, and outages. */
export async function verifyTable(
  store: Store,
  options: VerifyOptions,
  signal: AbortSignal,
): Promise<Verification> {
  const { onProgress } = options;
  const [damage, notes] = [findings(MOST_LISTED), findings(MOST_LISTED)];
  const now = options.now ?? Date.now;
  const objects = new Map<string, StoredObject>();
  for await (const object of objectsBesideLog(store, signal)) {
    objects.set(object.path, object);
    onProgress?.("listing", objects.size, null);
  }
  // Listed first: a commit that comes meanwhile names its files in time.
  const unnamed = new Set(objects.keys());
  const onActions = (actions: readonly Action[]) => {
    for (const action of actions)
      for (const file of filesOf(action)) for (const name of namesOf(store, file)) unnamed.delete(name);
  };
  const log = await verifyLog(store, { damage, notes, onActions, now, signal, onProgress });
  if (log.newest === null)
    throw new LabError("NOT_A_TABLE", `${store.root} holds no Delta table`, {
      hint: "check the path; a table is a folder with a _delta_log in it",
    });
  const snapshot = await readSnapshot(store, options.version ?? log.newest, damage, signal);
  const nothing = { files: 0, bytes: 0, rows: 0n, orphans: { files: 0, bytes: 0, listed: [] } };
  if (!snapshot) return { version: null, log, ...nothing, ...summed(damage, notes) };

  const there = await presentFiles(store, snapshot, { objects, damage, signal });
  let done = 0;
  const { rows, keys } = await verifyRows(store, snapshot, there, {
    reading: options.reading,
    damage,
    signal,
    onFile: () => onProgress?.("reading files", ++done, there.length),
  });
  const doubtful = suspects(keys);
  const duplicates = await findDuplicates(store, snapshot, doubtful, { reading: options.reading, signal });
  if (duplicates)
    damage.add({
      file: canonicalPath(store.root, doubtful[0]!.path),
      problem: "duplicate",
      message: `${duplicates.rows} rows stand for Kafka records that have a row already, such as ${duplicates.example}; ${doubtful.length} files hold them`,
      hint: "another writer, or a restore and a second reading, added them: lab restore to a version before, or delete them by SQL elsewhere",
    });
  return {
    version: snapshot.version,
    log,
    files: snapshot.numFiles,
    bytes: snapshot.sizeBytes,
    rows,
    orphans: orphansOf(store, snapshot, objects, unnamed),
    ...summed(damage, notes),
  };
}

function summed(damage: Findings, notes: Findings): Pick<Verification, "damage" | "notes"> {
  return {
    damage: { count: damage.count(), listed: damage.listed() },
    notes: { count: notes.count(), listed: notes.listed() },
  };
}

async function readSnapshot(
  store: Store,
  version: number,
  damage: Findings,
  signal: AbortSignal,
): Promise<Snapshot | undefined> {
  try {
    return await readVersion(store, version, signal);
  } catch (error) {
    if (!isLabError(error, "CORRUPT_LOG")) throw error;
    damage.add({
      file: String(error.details.path ?? "_delta_log"),
      problem: "unreadable",
      message: `version ${version} cannot be read: ${error.message}`,
      hint: error.hint ?? "restore the log from a copy",
    });
    return undefined;
  }
}

function filesOf(action: Action): Pick<Add, "path" | "deletionVector">[] {
  if ("add" in action) return [action.add];
  if ("remove" in action) return [action.remove];
  return "cdc" in action ? [{ path: action.cdc.path }] : [];
}

/** A deletion vector whose name makes no sense is found when the vector is read. */
function namesOf(store: Store, file: Pick<Add, "path" | "deletionVector">): string[] {
  try {
    return objectNames(store, file);
  } catch (error) {
    if (!isLabError(error, "CORRUPT_LOG", "UNSUPPORTED_FEATURE")) throw error;
    return [canonicalPath(store.root, file.path)];
  }
}

/** Files that are there and of the right size. */
async function presentFiles(
  store: Store,
  snapshot: Snapshot,
  options: { objects: ReadonlyMap<string, StoredObject>; damage: Findings; signal: AbortSignal },
): Promise<Add[]> {
  const { objects, damage, signal } = options;
  const unseen = new Set<string>();
  for (const add of snapshot.files())
    for (const name of namesOf(store, add)) if (!objects.has(name)) unseen.add(name);
  // Files outside of the table's folder, and such as came after the listing had passed by.
  const missing = new Set(await missingObjects(store, unseen, signal));
  const there: Add[] = [];
  for (const add of snapshot.files()) {
    const [file = ""] = namesOf(store, add);
    const size = objects.get(file)?.size;
    if (missing.has(file))
      damage.add({ file, problem: "missing", message: "the file does not exist", hint: COPY });
    else if (size !== undefined && size !== add.size)
      damage.add({
        file,
        problem: "size",
        message: `it has ${size} bytes, the log says ${add.size}`,
        hint: COPY,
      });
    else there.push(add);
  }
  return there;
}

/** Data that neither a commit that is left names, nor the version. */
function orphansOf(
  store: Store,
  snapshot: Snapshot,
  objects: ReadonlyMap<string, StoredObject>,
  unnamed: Set<string>,
): Verification["orphans"] {
  for (const files of [snapshot.files(), snapshot.tombstones()])
    for (const file of files) for (const name of namesOf(store, file)) unnamed.delete(name);
  const isData = dataFilter(snapshot);
  const orphans: Verification["orphans"] = { files: 0, bytes: 0, listed: [] };
  for (const name of unnamed) {
    if (!isData(name)) continue;
    const object = objects.get(name)!;
    orphans.files++;
    orphans.bytes += object.size;
    if (orphans.listed.length < MOST_LISTED) orphans.listed.push(object);
  }
  return orphans;
}
