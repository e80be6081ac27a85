/** Data files of a remote table as local files: fetched once, kept up to a limit, never seen half-written. */

import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, open, readdir, rename, rm, stat, unlink, utimes } from "node:fs/promises";
import { join } from "node:path";
import { isLabError, LabError } from "../core/errors.ts";
import { inParallel } from "../core/in-parallel.ts";
import type { Store } from "../delta/store/store.ts";

/** `path` inside the store; size (bytes) and time (ms) are the log's and tell a file from an older one of the same name. */
export type RemoteFile = { path: string; size: number; modificationTime: number };

/** Local files that stay until `close`, whatever is evicted meanwhile by this process or another. */
export type FileLease = { paths: readonly string[]; close(): Promise<void> };

export type FileCache = {
  /** Fetches what is not there yet. DATA_FILE_MISSING names the object that is gone. */
  lease(store: Store, files: readonly RemoteFile[], signal: AbortSignal): Promise<FileLease>;
  /** Ends the leases that are still open. */
  close(): Promise<void>;
};

const PIECE_BYTES = 16 * 1024 * 1024;
const PARALLEL = 8;
/** What a process that is gone left behind is swept once it is this old. */
const ABANDONED_MS = 10 * 60_000;

/**
 * A cache in `folder`, which several processes may share. After each lease the least recently used files beyond `maxBytes` go; a
 * lease larger than that is served all the same. Leases are hard links, so an evicted file lives on for its readers.
 */
export async function openFileCache(options: { folder: string; maxBytes: number }): Promise<FileCache> {
  const files = join(options.folder, "files");
  const leases = join(options.folder, "leases");
  await mkdir(files, { recursive: true });
  await mkdir(leases, { recursive: true });
  await sweepAbandoned(files, leases);
  const downloads = sharedDownloads();
  const held = new Set<string>();

  async function leaseOne(
    store: Store,
    file: RemoteFile,
    folder: string,
    signal: AbortSignal,
  ): Promise<string> {
    const name = cacheName(store, file);
    const [target, leased] = [join(files, name), join(folder, name)];
    for (;;) {
      signal.throwIfAborted();
      try {
        await link(target, leased);
        const now = new Date();
        await utimes(leased, now, now);
        return leased;
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === "EEXIST") return leased;
        if (code !== "ENOENT") throw error;
      }
      await downloads.run(target, signal, (shared) => download(store, file, target, shared));
    }
  }

  return {
    async lease(store, wanted, signal) {
      const folder = join(leases, `${process.pid}.${randomUUID()}`);
      await mkdir(folder);
      held.add(folder);
      const close = async () => {
        held.delete(folder);
        await rm(folder, { recursive: true, force: true });
      };
      try {
        const paths = await inParallel(wanted, PARALLEL, (file) => leaseOne(store, file, folder, signal));
        await evict(files, options.maxBytes);
        return { paths, close };
      } catch (error) {
        await close();
        throw error;
      }
    },
    async close() {
      for (const folder of held) await rm(folder, { recursive: true, force: true });
      held.clear();
    },
  };
}

function cacheName(store: Store, file: RemoteFile): string {
  const identity = [store.root, file.path, file.size, file.modificationTime].join("\n");
  return `${createHash("sha256").update(identity).digest("hex")}.parquet`;
}

/** Writes beside the final name and renames: what has the final name is whole. */
async function download(store: Store, file: RemoteFile, target: string, signal: AbortSignal): Promise<void> {
  const partial = `${target}.${randomUUID()}.partial`;
  const handle = await open(partial, "wx");
  try {
    for (let start = 0; ; ) {
      const piece = await store.getRange(file.path, start, PIECE_BYTES, signal);
      await handle.write(piece);
      start += piece.length;
      if (piece.length < PIECE_BYTES || start === file.size) break;
    }
    await handle.close();
    await rename(partial, target);
  } catch (error) {
    await handle.close();
    await unlink(partial).catch(() => {});
    if (isLabError(error, "OBJECT_MISSING")) throw missing(store, file.path, error);
    if ((error as NodeJS.ErrnoException).code === "ENOSPC") {
      throw new LabError("STORE_FULL", `no room for ${file.path} in the cache of data files`, {
        hint: "free space, or point XDG_CACHE_HOME at a larger disk",
        cause: error,
      });
    }
    throw error;
  }
}

/** The error of a data file that the log names and the store does not hold. */
export function missing(store: Store, path: string, cause?: unknown): LabError {
  return new LabError("DATA_FILE_MISSING", `the data file ${path} of ${store.root} does not exist`, {
    hint: "a vacuum may have removed it: read a newer version",
    details: { path, table: store.root },
    cause,
  });
}

/** One running fetch a name: it ends early only when everybody who waits for it has given up. */
function sharedDownloads() {
  const running = new Map<string, { done: Promise<void>; waiting: number; stop: AbortController }>();
  return {
    async run(
      name: string,
      signal: AbortSignal,
      start: (signal: AbortSignal) => Promise<void>,
    ): Promise<void> {
      let fetch = running.get(name);
      if (fetch === undefined) {
        const stop = new AbortController();
        const done = start(stop.signal).finally(() => running.delete(name));
        fetch = { done, waiting: 0, stop };
        running.set(name, fetch);
      }
      fetch.waiting++;
      let onAbort = () => {};
      const aborted = new Promise<never>((_, reject) => {
        onAbort = () => reject(signal.reason);
      });
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        await Promise.race([fetch.done, aborted]);
      } finally {
        signal.removeEventListener("abort", onAbort);
        fetch.waiting--;
        if (fetch.waiting === 0) fetch.stop.abort(signal.reason);
      }
    },
  };
}

async function evict(folder: string, maxBytes: number): Promise<void> {
  const entries: { path: string; size: number; usedMs: number }[] = [];
  for (const name of await readdir(folder)) {
    if (!name.endsWith(".parquet")) continue;
    const path = join(folder, name);
    const info = await stat(path).catch(() => undefined);
    if (info !== undefined) entries.push({ path, size: info.size, usedMs: info.mtimeMs });
  }
  let bytes = entries.reduce((sum, entry) => sum + entry.size, 0);
  if (bytes <= maxBytes) return;
  entries.sort((a, b) => a.usedMs - b.usedMs);
  for (const entry of entries) {
    if (bytes <= maxBytes) return;
    await rm(entry.path, { force: true });
    bytes -= entry.size;
  }
}

async function sweepAbandoned(files: string, leases: string): Promise<void> {
  const isOld = async (path: string) => {
    const info = await stat(path).catch(() => undefined);
    return info !== undefined && Date.now() - info.mtimeMs > ABANDONED_MS;
  };
  for (const name of await readdir(leases)) {
    const path = join(leases, name);
    if (!isAlive(Number(name.split(".")[0])) && (await isOld(path)))
      await rm(path, { recursive: true, force: true });
  }
  for (const name of await readdir(files)) {
    const path = join(files, name);
    if (name.endsWith(".partial") && (await isOld(path))) await rm(path, { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
