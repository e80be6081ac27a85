/** What makes two references of the log mean the same logical file: its path and its deletion vector. */

import type { DeletionVector } from "./actions.ts";
import { canonicalPath, isAbsolutePath } from "./path.ts";
import type { Slice } from "./slice.ts";

/** The key of a file within a table (PROTOCOL.md, "Action Reconciliation"). */
export function fileKey(root: string, path: string, vector: DeletionVector | undefined): string {
  const name = path.includes("%") || isAbsolutePath(path) ? canonicalPath(root, path) : path;
  return vector ? `${name}\u0000${vectorId(vector)}` : name;
}

/** Whether the path is its own key where there is no deletion vector; only ever too few. */
export function isOwnKey({ bytes, start, length }: Slice): boolean {
  if (bytes[start] === SLASH) return false;
  for (let at = start; at < start + length; at++) {
    const byte = bytes[at]!;
    if (byte === PERCENT || byte === COLON || byte > 0x7f) return false;
  }
  return true;
}

const [SLASH, PERCENT, COLON] = [0x2f, 0x25, 0x3a];

/** The unique id of a deletion vector: storage type, path or inline data, offset. */
export function vectorId(vector: DeletionVector): string {
  const offset = vector.offset === undefined ? "" : `@${vector.offset}`;
  return `${vector.storageType}${vector.pathOrInlineDv}${offset}`;
}
