/** What stands in the rows of a checkpoint, whatever form its file has. */

import type { Action, Remove } from "./actions.ts";
import { toAction } from "./commit-file.ts";
import type { LiveFile } from "./file-rows.ts";

/** A row of a checkpoint. A sidecar is a file of `_sidecars/` that holds the file actions. */
export type CheckpointRow =
  | { add: LiveFile }
  | { remove: Remove }
  | { sidecar: string }
  | { checkpointMetadata: { version: number } }
  | Exclude<Action, { add: unknown } | { remove: unknown }>;

/** Takes what a reader finds. */
export type RowSink = {
  /** Adds may be one object, and their texts stand in bytes, that are used again for the next row: who keeps one, copies it. */
  row(row: CheckpointRow): void;
  /** About so many rows will come. */
  expect?(rows: number): void;
};

export const CHECKPOINT_ACTIONS = [
  "txn",
  "add",
  "remove",
  "metaData",
  "protocol",
  "domainMetadata",
  "sidecar",
  "checkpointMetadata",
];

/** A row of any kind; undefined for what is to be ignored, which includes what no checkpoint may hold. */
export function toRow(json: Record<string, unknown>): CheckpointRow | undefined {
  const { sidecar, checkpointMetadata } = json as Record<string, Record<string, unknown> | null | undefined>;
  if (sidecar) return { sidecar: String(sidecar.path) };
  if (checkpointMetadata) return { checkpointMetadata: { version: Number(checkpointMetadata.version) } };
  const action = toAction(json);
  return action && ("commitInfo" in action || "cdc" in action) ? undefined : (action as CheckpointRow);
}
