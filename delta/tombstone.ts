/** The remove of a live file (PROTOCOL.md, "Add File and Remove File"). */

import type { Add, Remove } from "./actions.ts";

/**
 * What takes `add` out of the table: it carries the deletion vector and row ids of the add, without which it would name another file.
 * `dataChange` false says that the rows live on elsewhere.
 */
export function tombstoneOf(add: Add, options: { nowMs: number; dataChange: boolean }): Remove {
  const { path, partitionValues, size, deletionVector, baseRowId, defaultRowCommitVersion } = add;
  return {
    path,
    dataChange: options.dataChange,
    deletionTimestamp: options.nowMs,
    extendedFileMetadata: true,
    partitionValues,
    size,
    ...(deletionVector ? { deletionVector } : {}),
    ...(baseRowId === undefined ? {} : { baseRowId }),
    ...(defaultRowCommitVersion === undefined ? {} : { defaultRowCommitVersion }),
  };
}
