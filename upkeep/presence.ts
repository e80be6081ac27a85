/** Whether objects that a table needs are there, without reading them. */

import { access } from "node:fs/promises";
import { inParallel } from "../core/in-parallel.ts";
import { isAbsolutePath } from "../delta/path.ts";
import type { Store } from "../delta/store/store.ts";
import { objectsBesideLog } from "./table-objects.ts";

/** Up to so many are asked for one by one; with more, one listing of the whole table is cheaper. */
const MOST_ASKED = 1000;
const PARALLEL = 16;

/**
 * Which of `names` (as `objectNames` gives them) are not there. Files outside of the table's folder are looked for on a local disk; elsewhere
 * they count as there.
 */
export async function missingObjects(
  store: Store,
  names: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string[]> {
  if (names.size <= MOST_ASKED) {
    const there = await inParallel([...names], PARALLEL, (name) => isThere(store, name, signal));
    return [...names].filter((_, index) => !there[index]);
  }
  const missing = new Set(names);
  for await (const { path } of objectsBesideLog(store, signal)) missing.delete(path);
  for (const name of missing)
    if (isAbsolutePath(name) && (await isThere(store, name, signal))) missing.delete(name);
  return [...missing];
}

async function isThere(store: Store, name: string, signal: AbortSignal): Promise<boolean> {
  if (!isAbsolutePath(name)) {
    for await (const { path } of store.list(name, { signal })) return path === name;
    return false;
  }
  if (!name.startsWith("file://")) return true;
  return access(name.slice("file://".length)).then(
    () => true,
    () => false,
  );
}
