/** Which files tell what a commit changed (PROTOCOL.md, "Change Data Files" and "Reading Change Data"). */

import type { Action, Add, Cdc, PartitionValues, Remove } from "./actions.ts";
import { fileKey, vectorId } from "./file-key.ts";

/** Files whose rows a commit brought or took; of `turned` files only the deletion vector is another. */
export type ChangedFiles = {
  /** Where there are some, they alone say what changed. */
  cdcs: Cdc[];
  inserted: Add[];
  deleted: Add[];
  turned: { before: Add; after: Add }[];
};

/**
 * Rewrites that change no data are left out. `partitionOf` is asked for the partition of removed files whose removal does not
 * say it: those of old writers.
 */
export function changedFiles(
  root: string,
  actions: readonly Action[],
  partitionOf: (remove: Remove) => PartitionValues,
): ChangedFiles {
  const cdcs = actions.flatMap((action) => ("cdc" in action ? [action.cdc] : []));
  const gone = new Map<string, Add>();
  for (const action of actions) {
    if (!("remove" in action) || !action.remove.dataChange) continue;
    const { remove } = action;
    gone.set(fileKey(root, remove.path, undefined), {
      path: remove.path,
      partitionValues: remove.partitionValues ?? partitionOf(remove),
      size: remove.size ?? 0,
      modificationTime: 0,
      dataChange: true,
      ...(remove.deletionVector ? { deletionVector: remove.deletionVector } : {}),
    });
  }
  const inserted: Add[] = [];
  const turned: ChangedFiles["turned"] = [];
  for (const action of actions) {
    if (!("add" in action) || !action.add.dataChange) continue;
    const key = fileKey(root, action.add.path, undefined);
    const before = gone.get(key);
    if (before === undefined) inserted.push(action.add);
    else if (idOf(before) !== idOf(action.add)) turned.push({ before, after: action.add });
    gone.delete(key);
  }
  return { cdcs, inserted, deleted: [...gone.values()], turned };
}

function idOf({ deletionVector }: Add): string | undefined {
  return deletionVector && vectorId(deletionVector);
}

/** Rows of `all` that are not in `known`; both ascending. */
export function without(all: Float64Array, known: Float64Array): Float64Array {
  let at = 0;
  return all.filter((row) => {
    while (at < known.length && known[at]! < row) at++;
    return known[at] !== row;
  });
}
