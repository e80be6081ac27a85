/** A store in a local folder. What it has stored survives a crash of the machine; creation is atomic by `link`. */

import { randomUUID } from "node:crypto";
import fsPromises from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { diskError } from "./disk-errors.ts";
import { foldersIn, listFolder } from "./local-list.ts";
import { readAtOnce, spanOf } from "./local-read.ts";
import { checkPath, checkPrefix } from "./path.ts";
import type { Body, Store } from "./store.ts";

/** The part of `node:fs/promises` that is used, so that tests can record it and let it fail. */
export type Disk = Pick<typeof fsPromises, "copyFile" | "link" | "mkdir" | "open" | "rename" | "unlink">;

/** What a directory cannot be synced with on file systems that have no such notion. */
const UNSYNCABLE = new Set(["EINVAL", "ENOTSUP", "EOPNOTSUPP"]);

const PUT_ATTEMPTS = 5;

/** Bytes read at once: a signal is heeded in between. */
const MOST_AT_ONCE = 2 ** 22;

/**
 * The objects in and below `folder`, which is made at the first write. Bytes are written to a `.<uuid>.tmp` beside
 * their place, which engines take for no file of a table; a crash may leave one behind.
 */
export function localStore(folder: string, options: { disk?: Disk } = {}): Store {
  const disk = options.disk ?? fsPromises;
  const root = resolve(folder);
  const settledFolders = new Set<string>();

  /** Runs `work` on the absolute path; what fails leaves as an error of the store's contract. */
  async function at<T>(
    path: string,
    signal: AbortSignal,
    work: (absolute: string) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const absolute = join(root, checkPath(path));
    try {
      return await work(absolute);
    } catch (error) {
      signal.throwIfAborted();
      throw diskError(error, path);
    }
  }

  async function syncFolder(path: string): Promise<void> {
    const handle = await disk.open(path, "r");
    try {
      await handle.sync();
    } catch (error) {
      if (!UNSYNCABLE.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    } finally {
      await handle.close();
    }
  }

  /**
   * Makes a folder and syncs the folders that name it, up to the root and above as far as they are new. Also when it was
   * there at first sight: whoever made it may not have synced it yet.
   */
  async function settleFolder(path: string): Promise<void> {
    const firstMade = await disk.mkdir(path, { recursive: true });
    if (settledFolders.has(path) && firstMade === undefined) return;
    const top = firstMade !== undefined && root.startsWith(firstMade) ? dirname(firstMade) : root;
    for (let named = path; named !== top; named = dirname(named)) await syncFolder(dirname(named));
    settledFolders.add(path);
  }

  async function syncFile(path: string): Promise<void> {
    const handle = await disk.open(path, "r+");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** Runs `work` in a folder that is there. A vacuum may remove an empty one just before something comes into it. */
  async function inFolder(path: string, work: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await settleFolder(path);
        return await work();
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT" || attempt === PUT_ATTEMPTS) throw error;
      }
    }
  }

  /** Lets `place` put a synced file with these bytes where it belongs, then syncs the folder. Leaves no temporary file. */
  async function stage(
    target: string,
    fill: (temporary: string) => Promise<void>,
    place: (temporary: string) => Promise<void>,
  ): Promise<void> {
    await inFolder(dirname(target), async () => {
      const temporary = join(dirname(target), `.${randomUUID()}.tmp`);
      try {
        await fill(temporary);
        await place(temporary);
      } finally {
        await disk.unlink(temporary).catch(ignoreMissing);
      }
    });
    await syncFolder(dirname(target));
  }

  const writeBytes = (bytes: Uint8Array) => async (temporary: string) => {
    const handle = await disk.open(temporary, "wx");
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
  };

  async function putFile(target: string, file: string): Promise<void> {
    const moveIn = async () => {
      await syncFile(file).catch((error) => Promise.reject(diskError(error, file)));
      await disk.rename(file, target);
    };
    try {
      await inFolder(dirname(target), moveIn);
      await syncFolder(dirname(target));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
      const copy = async (temporary: string) => {
        await disk.copyFile(file, temporary);
        await syncFile(temporary);
      };
      await stage(target, copy, (temporary) => disk.rename(temporary, target));
    }
  }

  /** Into one piece of memory that is large enough: `readFile` puts the file together from pieces, and for a while it is there twice. */
  const getRange: Store["getRange"] = (path, start, length, signal) =>
    at(path, signal, async (from) => {
      const small = readAtOnce(from, start, length);
      if (small) return small;
      const handle = await disk.open(from, "r");
      try {
        const span = spanOf((await handle.stat()).size, start, length);
        const bytes = new Uint8Array(span.length);
        let filled = 0;
        for (let read = 1; read > 0 && filled < bytes.length; filled += read) {
          signal.throwIfAborted();
          const most = Math.min(bytes.length - filled, MOST_AT_ONCE);
          read = (await handle.read(bytes, filled, most, span.first + filled)).bytesRead;
        }
        return bytes.subarray(0, filled);
      } finally {
        await handle.close();
      }
    });

  return {
    root: pathToFileURL(root).href.replace(/\/$/, ""),
    localPath: (path) => join(root, checkPath(path)),
    get: (path, signal) => getRange(path, 0, Number.POSITIVE_INFINITY, signal),
    getRange,
    list: (prefix, { startAfter, signal }) =>
      listFolder({ root, prefix: checkPrefix(prefix), startAfter, signal }),
    folders: (signal) => foldersIn(root, signal),
    put: (path: string, body: Body, signal) =>
      at(path, signal, (target) =>
        body instanceof Uint8Array
          ? stage(target, writeBytes(body), (temporary) => disk.rename(temporary, target))
          : putFile(target, body.file),
      ),
    putIfAbsent: (path, body, signal) =>
      at(path, signal, async (target) => {
        let result: "created" | "exists" | undefined;
        try {
          await stage(target, writeBytes(body), async (temporary) => {
            signal.throwIfAborted();
            result = await disk.link(temporary, target).then(() => "created" as const, existsOrThrow);
          });
        } catch (error) {
          // The name is there, but it is not known whether it would survive a crash.
          if (result === "created") return "unclear";
          throw error;
        }
        return result ?? "unclear";
      }),
    delete: (path, signal) => at(path, signal, (target) => disk.unlink(target).catch(ignoreMissing)),
    async close() {},
  };
}

function existsOrThrow(error: NodeJS.ErrnoException): "exists" {
  if (error.code === "EEXIST") return "exists";
  throw error;
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (!["ENOENT", "ENOTDIR", "EISDIR"].includes(error.code ?? "")) throw error;
}
