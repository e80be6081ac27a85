/** A store in memory, for tests: honours put-if-absent, so that races between writers are fast unit tests. */

import { readFile } from "node:fs/promises";
import { LabError } from "../../core/errors.ts";
import { checkPath, checkPrefix, compareUtf8 } from "./path.ts";
import type { Store } from "./store.ts";

/** An empty store. What is put in and what is handed out are copies. `now` gives the objects' times in ms. */
export function memoryStore(options: { name?: string; now?: () => number } = {}): Store {
  const now = options.now ?? Date.now;
  const objects = new Map<string, { bytes: Uint8Array; modifiedMs: number }>();
  /** The paths in order: a listing of few among many must not look at all. */
  const order: string[] = [];

  const read = (path: string, signal: AbortSignal): Uint8Array => {
    signal.throwIfAborted();
    const found = objects.get(checkPath(path));
    if (!found) throw new LabError("OBJECT_MISSING", `no object ${path} in the store`, { details: { path } });
    return found.bytes;
  };
  const write = (path: string, bytes: Uint8Array) => {
    if (!objects.has(path)) order.splice(placeOf(order, path), 0, path);
    objects.set(path, { bytes: new Uint8Array(bytes), modifiedMs: now() });
  };

  return {
    root: `memory://${options.name ?? "store"}`,
    async get(path, signal) {
      return read(path, signal).slice();
    },
    async getRange(path, start, length, signal) {
      const bytes = read(path, signal);
      const from = start < 0 ? Math.max(0, bytes.length + start) : start;
      return bytes.slice(from, from + length);
    },
    async *list(prefix, { startAfter, signal }) {
      checkPrefix(prefix);
      const isLater = startAfter !== undefined && compareUtf8(startAfter, prefix) > 0;
      const from = placeOf(order, isLater ? startAfter : prefix);
      const paths: string[] = [];
      for (let at = from; order[at]?.startsWith(prefix); at++) paths.push(order[at]!);
      for (const path of paths) {
        signal.throwIfAborted();
        const found = objects.get(path);
        if (!found || (startAfter !== undefined && compareUtf8(path, startAfter) <= 0)) continue;
        yield { path, size: found.bytes.length, modifiedMs: found.modifiedMs };
      }
    },
    async *folders(signal) {
      signal.throwIfAborted();
      const names = order
        .filter((path) => path.includes("/"))
        .map((path) => path.slice(0, path.indexOf("/")));
      // `a.b` comes before `a/b`, and `a` before both.
      yield* [...new Set(names)].sort(compareUtf8);
    },
    async put(path, body, signal) {
      signal.throwIfAborted();
      checkPath(path);
      write(path, body instanceof Uint8Array ? body : await readFile(body.file, { signal }));
    },
    async putIfAbsent(path, body, signal) {
      signal.throwIfAborted();
      if (objects.has(checkPath(path))) return "exists";
      write(path, body);
      return "created";
    },
    async delete(path, signal) {
      signal.throwIfAborted();
      if (objects.delete(checkPath(path))) order.splice(placeOf(order, path), 1);
    },
    async close() {},
  };
}

/** Where `path` stands in an ordered list, or would stand. */
function placeOf(order: readonly string[], path: string): number {
  let [low, high] = [0, order.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compareUtf8(order[middle]!, path) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
