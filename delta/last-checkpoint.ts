/** `_last_checkpoint`: where to start reading, as a hint that may be wrong (PROTOCOL.md, "Last Checkpoint File"). */

import { isLabError } from "../core/errors.ts";
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

/** The hint, or undefined where it is missing or makes no sense: then the log is listed from its start. */
export async function readHint(store: Store, signal: AbortSignal): Promise<CheckpointHint | undefined> {
  try {
    const bytes = await store.get(LAST_CHECKPOINT, signal);
    const hint = JSON.parse(Buffer.from(bytes).toString("utf8")) as Partial<CheckpointHint> | null;
    const isSane = Number.isSafeInteger(hint?.version) && hint!.version! >= 0;
    return isSane ? (hint as CheckpointHint) : undefined;
  } catch (error) {
    if (isLabError(error, "OBJECT_MISSING") || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Points the hint at a checkpoint, unless it points at a newer one already. */
export async function writeHint(store: Store, hint: CheckpointHint, signal: AbortSignal): Promise<void> {
  const current = await readHint(store, signal);
  if (current && current.version > hint.version) return;
  await store.put(LAST_CHECKPOINT, Buffer.from(JSON.stringify(hint)), signal);
}
