/** Walks a folder in the order of an S3 listing. */

import { opendirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { diskError } from "./disk-errors.ts";
import { compareUtf8 } from "./path.ts";
import type { StoredObject } from "./store.ts";

type Walk = {
  /** Absolute path of the store's folder. */
  root: string;
  prefix: string;
  startAfter: string | undefined;
  signal: AbortSignal;
};

/** Names read at once, and in one turn. */
const NAMES_AT_ONCE = 128;
const NAMES_A_TURN = 1024;

/** Files asked for size and time in one turn. */
const STATS_A_TURN = 64;

/**
 * The files below `root` whose relative path begins with `prefix`, in ascending order of UTF-8 bytes. Files that vanish
 * meanwhile are left out; links to folders are not followed. Only names after `startAfter` are asked for size and time.
 */
export async function* listFolder(walk: Walk): AsyncGenerator<StoredObject> {
  yield* visit(walk, walk.prefix.slice(0, walk.prefix.lastIndexOf("/") + 1));
}

async function* visit(walk: Walk, folder: string): AsyncGenerator<StoredObject> {
  walk.signal.throwIfAborted();
  const names = (await wantedNames(walk, folder)).sort(compareUtf8);
  for (let i = 0; i < names.length; ) {
    walk.signal.throwIfAborted();
    if (names[i]!.endsWith("/")) {
      yield* visit(walk, names[i++]!);
      continue;
    }
    const files: string[] = [];
    while (i < names.length && files.length < STATS_A_TURN && !names[i]!.endsWith("/"))
      files.push(names[i++]!);
    for (const file of files) {
      const object = describeFile(join(walk.root, file), file);
      if (object) yield object;
    }
    // Others have their turn.
    if (i < names.length) await setImmediate();
  }
}

/**
 * Relative paths of what is wanted of a folder. Folders end in `/`: that is how their content sorts among files. Read some at a time: of a
 * log of thousands of commits mostly the last few are wanted.
 */
async function wantedNames(walk: Walk, folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    const entries = opendirSync(join(walk.root, folder), { bufferSize: NAMES_AT_ONCE });
    try {
      let left = NAMES_A_TURN;
      // On the way of a promise opening would cost more than it takes, and so would each name.
      for (let entry = entries.readSync(); entry; entry = entries.readSync()) {
        const name = folder + entry.name + (entry.isDirectory() ? "/" : "");
        if (isWanted(walk, name)) names.push(name);
        if (--left > 0) continue;
        left = NAMES_A_TURN;
        await setImmediate();
        walk.signal.throwIfAborted();
      }
    } finally {
      entries.closeSync();
    }
    return names;
  } catch (error) {
    walk.signal.throwIfAborted();
    // A file in the store's own place is a mistake, and no empty store.
    const isFile = folder === "" && (error as NodeJS.ErrnoException).code === "ENOTDIR";
    if (isGone(error) && !isFile) return [];
    throw diskError(error, folder);
  }
}

/** The folders in `root`, by their names in ascending order of UTF-8 bytes; links to folders are not followed. */
export async function* foldersIn(root: string, signal: AbortSignal): AsyncGenerator<string> {
  const walk = { root, prefix: "", startAfter: undefined, signal };
  signal.throwIfAborted();
  const names = (await wantedNames(walk, "")).filter((name) => name.endsWith("/"));
  yield* names.map((name) => name.slice(0, -1)).sort(compareUtf8);
}

function isWanted({ prefix, startAfter }: Walk, name: string): boolean {
  const isFolder = name.endsWith("/");
  if (!name.startsWith(prefix) && !(isFolder && prefix.startsWith(name))) return false;
  if (startAfter === undefined || compareUtf8(name, startAfter) > 0) return true;
  return isFolder && startAfter.startsWith(name);
}

/** The file as a listing has it under `path`; undefined where there is none. At once: a way to another thread and back would cost ten times as much. */
export function describeFile(absolute: string, path: string): StoredObject | undefined {
  try {
    const stats = statSync(absolute, { bigint: true });
    if (!stats.isFile()) return undefined;
    return { path, size: Number(stats.size), modifiedMs: Number(stats.mtimeNs / 1_000_000n) };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw diskError(error, path);
  }
}

function isGone(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "");
}
