/** Where the bytes of a version's files are for DuckDB: in place on a local store, through the cache from any other. */

import { access } from "node:fs/promises";
import { LabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { readDeletionVector } from "../delta/deletion-vector.ts";
import { localPathOutside, storePath } from "../delta/path.ts";
import type { Store } from "../delta/store/store.ts";
import { type FileCache, missing } from "./file-cache.ts";
import type { DataFiles, ScanFile } from "./scan.ts";

/** Finds the files of `adds`. DATA_FILE_MISSING on a remote store; on a local one a missing file shows at the scan. */
export async function locateFiles(
  store: Store,
  adds: Iterable<Add>,
  cache: FileCache | undefined,
  signal: AbortSignal,
): Promise<DataFiles> {
  const all = [...adds];
  if (store.localPath !== undefined) {
    const paths = all.map((add) => localPath(store, add));
    const files = await scanFiles(store, all, paths, signal);
    return { files, explain: (error) => explainFailure(store, all, paths, error), close: async () => {} };
  }
  if (cache === undefined) {
    throw new LabError("INTERNAL", `data files of ${store.root} need a cache`, {
      details: { table: store.root },
    });
  }
  const remote = all.map(({ path, size, modificationTime }) => ({
    path: storePath(store.root, path) ?? refuseOutside(store, path),
    size,
    modificationTime,
  }));
  const lease = await cache.lease(store, remote, signal);
  try {
    const files = await scanFiles(store, all, lease.paths, signal);
    const { paths, close } = lease;
    return { files, explain: (error) => explainFailure(store, all, paths, error), close };
  } catch (error) {
    await lease.close();
    throw error;
  }
}

async function scanFiles(
  store: Store,
  adds: readonly Add[],
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ScanFile[]> {
  const files: ScanFile[] = [];
  for (const [index, add] of adds.entries()) {
    const { deletionVector } = add;
    const deleted = deletionVector && (await readDeletionVector(store, deletionVector, signal));
    files.push({ add, file: paths[index]!, ...(deleted ? { deleted } : {}) });
  }
  return files;
}

function localPath(store: Store, add: Add): string {
  const inside = storePath(store.root, add.path);
  if (inside !== undefined) return store.localPath!(inside);
  return localPathOutside(store.root, add.path) ?? refuseOutside(store, add.path);
}

function refuseOutside(store: Store, path: string): never {
  throw new LabError("UNSUPPORTED_FEATURE", `the data file ${path} is outside of the table ${store.root}`, {
    hint: "such a table is a shallow clone: copy it whole, or read it with Spark",
    details: { feature: "absolutePaths", path },
  });
}

/**
 * DATA_FILE_MISSING where one of the files is gone; where the engine complains of one by name, UNSUPPORTED_FEATURE if it is packed in a way that is
 * not read here, else CORRUPT_LOG; else the error.
 */
async function explainFailure(
  store: Store,
  adds: readonly Add[],
  paths: readonly string[],
  error: unknown,
): Promise<unknown> {
  for (const [index, path] of paths.entries()) {
    const isThere = await access(path).then(
      () => true,
      (cause: NodeJS.ErrnoException) => cause.code !== "ENOENT" && cause.code !== "ENOTDIR",
    );
    if (!isThere) return missing(store, adds[index]!.path, error);
  }
  const text = error instanceof Error && !(error instanceof LabError) ? error.message : "";
  const encoding = UNREAD_ENCODING.exec(text)?.[1];
  // Of these the engine does not say the file.
  if (encoding !== undefined) return unread(store, `Parquet encoding ${encoding}`, "a data file", error);
  // The engine may speak JSON, with paths as text in it.
  const named = paths.findIndex(
    (path) => text.includes(path) || text.includes(JSON.stringify(path).slice(1, -1)),
  );
  return named < 0 ? error : damaged(store, adds[named]!.path, error as Error);
}

/** What a whole file may be that the engine does not read: packed by a codec that it lacks, or encrypted. */
const UNREAD = /Unsupported compression codec \\*"(?<codec>[^"\\]+)|\bis (?<encrypted>encrypted)\b/i;

/** Byte stream split is more than it was: at first it was for floats alone. */
const UNREAD_ENCODING = /\b([A-Z_]+) encoding is only supported\b/;

function unread(store: Store, feature: string, file: string, cause: unknown): LabError {
  return new LabError("UNSUPPORTED_FEATURE", `${feature} of ${file} of ${store.root} is not read here`, {
    hint: "read the table with another engine, or write the file again there in another way",
    details: { feature, table: store.root },
    cause,
  });
}

function damaged(store: Store, path: string, cause: Error): LabError {
  const why = /"exception_message":"((?:[^"\\]|\\.)*)"/.exec(cause.message)?.[1] ?? cause.message;
  const { codec, encrypted } = UNREAD.exec(why)?.groups ?? {};
  if (codec !== undefined || encrypted !== undefined) {
    const feature = codec === undefined ? "Parquet encryption" : `Parquet codec ${codec}`;
    return unread(store, feature, `data file ${path}`, cause);
  }
  return new LabError("CORRUPT_LOG", `the data file ${path} of ${store.root} is damaged: ${why}`, {
    hint: "restore the file from a copy, or read a version without it; lab verify finds all that are damaged",
    details: { path, table: store.root },
    cause,
  });
}
