/** What makes two references of the log mean the same logical file: its path and its deletion vector. */

import type { DeletionVector } from "./actions.ts";
import { canonicalPath, isAbsolutePath } from "./path.ts";

/** The key of a file within a table (PROTOCOL.md, "Action Reconciliation"). */
export function fileKey(root: string, path: string, vector: DeletionVector | undefined): string {
  const name = path.includes("%") || isAbsolutePath(path) ? canonicalPath(root, path) : path;
  return vector ? `${name}\u0000${vectorId(vector)}` : name;
}

/** The unique id of a deletion vector: storage type, path or inline data, offset. */
export function vectorId(vector: DeletionVector): string {
  const offset = vector.offset === undefined ? "" : `@${vector.offset}`;
  return `${vector.storageType}${vector.pathOrInlineDv}${offset}`;
}
