/** Writes a checkpoint whose files stand in sidecars (PROTOCOL.md, "V2 Spec"): however many there are, few are in memory. */

import { randomUUID } from "node:crypto";
import type { Action } from "./actions.ts";
import type { CheckpointContent } from "./checkpoint-content.ts";
import { checkpointCheck } from "./checkpoint-verify.ts";

import { stringifyJson } from "./json.ts";
import { SIDECAR_FOLDER, uuidCheckpointPath } from "./log-names.ts";
import type { Store } from "./store/store.ts";
import type { Snapshot } from "./table.ts";

/** `size` counts actions, those of sidecars included. */
export type WrittenCheckpoint = { sizeInBytes: number; size: number };

/** File actions in one sidecar. */
const ROWS = 100_000;

/** Sidecars first, then the file that names them: a crash in between leaves sidecars that nothing names. */
export async function writeWithSidecars(
  store: Store,
  snapshot: Snapshot,
  content: CheckpointContent,
  signal: AbortSignal,
  rowsPerSidecar = ROWS,
): Promise<WrittenCheckpoint> {
  const { version } = snapshot;
  const check = checkpointCheck();
  const lines: object[] = [{ checkpointMetadata: { version } }, ...content.actions()];
  let size = lines.length;
  let sizeInBytes = 0;
  const files = content.files()[Symbol.iterator]();
  const { encodeCheckpoint } = await import("./checkpoint-write.ts");
  for (let next = files.next(); !next.done; next = files.next()) {
    const { bytes, rows } = await encodeCheckpoint(some(next.value, files, rowsPerSidecar), content.stats);
    const path = `${randomUUID()}.parquet`;
    await check.read(bytes, `${SIDECAR_FOLDER}${path}`);
    await store.put(`${SIDECAR_FOLDER}${path}`, bytes, signal);
    lines.push({ sidecar: { path, sizeInBytes: bytes.length, modificationTime: content.nowMs } });
    size += rows + 1;
    sizeInBytes += bytes.length;
  }
  const path = uuidCheckpointPath(version, randomUUID());
  const body = Buffer.from(lines.map((line) => `${stringifyJson(line)}\n`).join(""));
  await check.read(body, path);
  check.finish(snapshot, content.txns);
  await store.put(path, body, signal);
  return { sizeInBytes: sizeInBytes + body.length, size };
}

/** `first` and what follows it, `count` in all; the iterator goes on to be used. */
function* some(first: Action, rest: Iterator<Action>, count: number): Generator<Action> {
  yield first;
  for (let taken = 1; taken < count; taken++) {
    const next = rest.next();
    if (next.done) return;
    yield next.value;
  }
}
