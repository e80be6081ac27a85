/** `_last_checkpoint`: where to start reading, as a hint that may be wrong (PROTOCOL.md, "Last Checkpoint File"). */

import { isLabError } from "../core/errors.ts";
import { jsonChecksum } from "./checksum.ts";
import { LAST_CHECKPOINT } from "./log-names.ts";
import type { Store } from "./store/store.ts";

export type CheckpointHint = {
  version: number;
  /** Actions in the checkpoint. */
  size: number;
  /** Bytes. */
  sizeInBytes?: number;
  numOfAddFiles?: number;
};

/** The hint, or undefined where it is missing, makes no sense or is not what its checksum says: then the log is listed from its start. */
export async function readHint(store: Store, signal: AbortSignal): Promise<CheckpointHint | undefined> {
  try {
    const bytes = await store.get(LAST_CHECKPOINT, signal);
    const text = Buffer.from(bytes).toString("utf8");
    const hint = JSON.parse(text) as (Partial<CheckpointHint> & { checksum?: unknown }) | null;
    const isSane = Number.isSafeInteger(hint?.version) && hint!.version! >= 0;
    const isWhole = typeof hint?.checksum !== "string" || hint.checksum === jsonChecksum(text);
    return isSane && isWhole ? (hint as CheckpointHint) : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (isLabError(error) && error.code !== "OBJECT_MISSING") throw error;
    return undefined;
  }
}

/** Points the hint at a checkpoint, unless it points at a newer one already. */
export async function writeHint(store: Store, hint: CheckpointHint, signal: AbortSignal): Promise<void> {
  const current = await readHint(store, signal);
  if (current && current.version > hint.version) return;
  const { version, size, sizeInBytes, numOfAddFiles } = hint;
  const fields = { version, size, sizeInBytes, numOfAddFiles };
  const checksum = jsonChecksum(JSON.stringify(fields));
  await store.put(LAST_CHECKPOINT, Buffer.from(JSON.stringify({ ...fields, checksum })), signal);
}
