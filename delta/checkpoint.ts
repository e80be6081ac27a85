/** When a checkpoint is due, and writing one: the file first, verified, then the hint that points at it. */

import { isDeepStrictEqual } from "node:util";
import { LabError } from "../core/errors.ts";
import type { Action } from "./actions.ts";
import { readCheckpoint } from "./checkpoint-read.ts";
import { encodeCheckpoint } from "./checkpoint-write.ts";
import { readHint, writeHint } from "./last-checkpoint.ts";
import { checkpointPath } from "./log-names.ts";
import type { Store } from "./store/store.ts";
import type { Snapshot } from "./table.ts";
import { checkpointInterval, deletedFileRetentionMs } from "./table-properties.ts";

/** The newest checkpoint known of, and the bytes that commits had brought by then. */
export type CheckpointMark = { version: number; sizeInBytes: number; numFiles: number; bytesWritten: number };

export type CheckpointOptions = { now: () => number; onStep?: (step: "in-checkpoint") => void };

/** A checkpoint may cost this part of the bytes written since the last one. */
const SHARE = 0.05;
/** Below this size a checkpoint is cheap whatever was written. */
const ALWAYS_CHEAP = 128 * 1024;
/** No reader shall replay more commits than this times the interval. */
const MOST_INTERVALS = 50;
const BYTES_PER_FILE = 200;

/**
 * Whether a checkpoint pays: at least `delta.checkpointInterval` commits after the last one, and small against what was written
 * since, so that the cost of checkpoints does not grow with the square of a table.
 */
export function isCheckpointDue(snapshot: Snapshot, mark: CheckpointMark, bytesWritten: number): boolean {
  const commits = snapshot.version - mark.version;
  const interval = checkpointInterval(snapshot.metadata.configuration);
  if (commits < interval) return false;
  const perFile = mark.numFiles > 0 ? mark.sizeInBytes / mark.numFiles : BYTES_PER_FILE;
  const cost = perFile * snapshot.numFiles;
  return (
    cost <= ALWAYS_CHEAP ||
    cost <= SHARE * (bytesWritten - mark.bytesWritten) ||
    commits >= MOST_INTERVALS * interval
  );
}

/** Writes one if it is due and nobody else wrote it. The mark to go on with, and whether it was us. */
export async function checkpointIfDue(
  store: Store,
  snapshot: Snapshot,
  mark: CheckpointMark,
  bytesWritten: number,
  options: CheckpointOptions,
  signal: AbortSignal,
): Promise<{ mark: CheckpointMark; isWritten: boolean }> {
  if (!isCheckpointDue(snapshot, mark, bytesWritten)) return { mark, isWritten: false };
  const hint = await readHint(store, signal);
  if (hint && hint.version > mark.version) {
    const { version, sizeInBytes = mark.sizeInBytes, numOfAddFiles: numFiles = mark.numFiles } = hint;
    const theirs = { version, sizeInBytes, numFiles, bytesWritten };
    if (!isCheckpointDue(snapshot, theirs, bytesWritten)) return { mark: theirs, isWritten: false };
  }
  const ours = await writeCheckpoint(store, snapshot, options, signal);
  return { mark: { ...ours, bytesWritten }, isWritten: true };
}

/** Writes a classic checkpoint of `snapshot` and points `_last_checkpoint` at it. INTERNAL where it would not read back the same. */
export async function writeCheckpoint(
  store: Store,
  snapshot: Snapshot,
  options: CheckpointOptions,
  signal: AbortSignal,
): Promise<Omit<CheckpointMark, "bytesWritten">> {
  const { version, numFiles } = snapshot;
  const path = checkpointPath(version);
  const { bytes, rows } = await encodeCheckpoint(checkpointActions(snapshot, options.now()));
  await verify(bytes, path, snapshot);
  await store.put(path, bytes, signal);
  options.onStep?.("in-checkpoint");
  await writeHint(store, { version, size: rows, sizeInBytes: bytes.length, numOfAddFiles: numFiles }, signal);
  return { version, sizeInBytes: bytes.length, numFiles };
}

/** What a checkpoint holds: tombstones only while older versions may still need their files. */
function* checkpointActions(snapshot: Snapshot, nowMs: number): Generator<Action> {
  const { protocol, metadata } = snapshot;
  yield { protocol };
  yield { metaData: metadata };
  for (const txn of snapshot.txns().values()) yield { txn };
  for (const domainMetadata of snapshot.domains().values()) yield { domainMetadata };
  const expired = nowMs - deletedFileRetentionMs(metadata.configuration);
  for (const remove of snapshot.tombstones()) if ((remove.deletionTimestamp ?? 0) > expired) yield { remove };
  for (const add of snapshot.files()) yield { add };
}

/** A checkpoint outlives the commits it stands for, so it is read back before anybody can rely on it. */
async function verify(bytes: Uint8Array, path: string, snapshot: Snapshot): Promise<void> {
  const found = {
    numFiles: 0,
    sizeBytes: 0,
    txns: new Map(),
    domains: new Map(),
    protocol: {},
    metadata: {},
  };
  for await (const rows of readCheckpoint(bytes, path)) {
    for (const row of rows) {
      if ("add" in row) {
        found.numFiles++;
        found.sizeBytes += row.add.size;
      } else if ("txn" in row) found.txns.set(row.txn.appId, row.txn);
      else if ("domainMetadata" in row) found.domains.set(row.domainMetadata.domain, row.domainMetadata);
      else if ("protocol" in row) found.protocol = row.protocol;
      else if ("metaData" in row) found.metadata = row.metaData;
    }
  }
  const { numFiles, sizeBytes, protocol, metadata } = snapshot;
  const wanted = {
    numFiles,
    sizeBytes,
    txns: snapshot.txns(),
    domains: snapshot.domains(),
    protocol,
    metadata,
  };
  for (const key of Object.keys(wanted) as (keyof typeof wanted)[]) {
    if (!isDeepStrictEqual(found[key], wanted[key]))
      throw new LabError(
        "INTERNAL",
        `checkpoint ${path} does not hold the ${key} of version ${snapshot.version}`,
        {
          details: { path, key },
        },
      );
  }
}
