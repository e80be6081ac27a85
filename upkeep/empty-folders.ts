/** Folders of a local table that hold nothing any more. */

import { rmdir } from "node:fs/promises";
import type { Store } from "../delta/store/store.ts";

const IN_USE = new Set(["ENOTEMPTY", "EEXIST", "ENOENT", "EBUSY", "EPERM", "EACCES"]);

/**
 * Removes the folders that held `paths`, and those above them, as far as they are empty now; never the table's own. How many went. A folder
 * into which somebody writes meanwhile stays: only the system's own "remove if empty" is used. Nothing on stores without folders.
 */
export async function removeEmptyFolders(store: Store, paths: Iterable<string>): Promise<number> {
  if (store.localPath === undefined) return 0;
  const folders = new Set<string>();
  for (const path of paths) {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      if (folders.has(path.slice(0, at))) break;
      folders.add(path.slice(0, at));
    }
  }
  let removed = 0;
  // Deepest first: a folder above is empty only after those in it went.
  for (const folder of [...folders].sort((a, b) => b.length - a.length)) {
    try {
      await rmdir(store.localPath(folder));
      removed++;
    } catch (error) {
      if (!IN_USE.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    }
  }
  return removed;
}
