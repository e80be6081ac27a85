/** When a checkpoint is due, and writing one: the file first, verified, then the hint that points at it. */

import type { Action } from "./actions.ts";
import { type CheckpointContent, contentOf } from "./checkpoint-content.ts";
import { type WrittenCheckpoint, writeWithSidecars } from "./checkpoint-sidecars.ts";
import { checkpointCheck } from "./checkpoint-verify.ts";

import { readHint, writeHint } from "./last-checkpoint.ts";
import { checkpointPath } from "./log-names.ts";
import { writerFeaturesOf } from "./protocol.ts";
import type { Store } from "./store/store.ts";
import type { Snapshot } from "./table.ts";
import { checkpointInterval } from "./table-properties.ts";

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

/**
 * Writes a checkpoint of `snapshot` and points `_last_checkpoint` at it. INTERNAL where it would not read back the same: then no reader finds it.
 */
export async function writeCheckpoint(
  store: Store,
  snapshot: Snapshot,
  options: CheckpointOptions,
  signal: AbortSignal,
): Promise<Omit<CheckpointMark, "bytesWritten">> {
  const { version, numFiles } = snapshot;
  const content = contentOf(snapshot, options.now());
  const write = isV2(snapshot) ? writeWithSidecars : writeClassic;
  const { sizeInBytes, size } = await write(store, snapshot, content, signal);
  options.onStep?.("in-checkpoint");
  await writeHint(store, { version, size, sizeInBytes, numOfAddFiles: numFiles }, signal);
  return { version, sizeInBytes, numFiles };
}

function isV2({ protocol, metadata }: Snapshot): boolean {
  const isAsked = metadata.configuration["delta.checkpointPolicy"] === "v2";
  return isAsked && writerFeaturesOf(protocol).has("v2Checkpoint");
}

async function writeClassic(
  store: Store,
  snapshot: Snapshot,
  content: CheckpointContent,
  signal: AbortSignal,
): Promise<WrittenCheckpoint> {
  const path = checkpointPath(snapshot.version);
  // Loaded here, since who only reads does without it and what it encodes with.
  const { encodeCheckpoint } = await import("./checkpoint-write.ts");
  const { bytes, rows } = await encodeCheckpoint(classicActions(content), content.stats);
  const check = checkpointCheck();
  await check.read(bytes, path);
  check.finish(snapshot, content.txns);
  await store.put(path, bytes, signal);
  return { sizeInBytes: bytes.length, size: rows };
}

function* classicActions(content: CheckpointContent): Generator<Action> {
  yield* content.actions();
  yield* content.files();
}
