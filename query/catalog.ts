/** Tables by name: the folders of a store that hold a Delta log, and those that were named by hand. */

import { isLabError, LabError } from "../core/errors.ts";
import { openTable } from "../delta/open.ts";
import { describeFile } from "../delta/store/local-list.ts";
import { openStore } from "../delta/store/open.ts";
import type { Store, StoredObject } from "../delta/store/store.ts";
import type { Table } from "../delta/table.ts";
import { nearNames } from "./near-names.ts";

export type NamedTable = { name: string; table: Table };

export type Catalog = {
  /** The URI under which tables are looked up by name. */
  readonly root: string;
  /** A table by its name, ignoring case where no name fits exactly. TABLE_NOT_FOUND suggests near names. Opened once. */
  open(name: string, signal: AbortSignal): Promise<NamedTable>;
  /** The table of exactly this name; undefined where there is none, without looking what there is. For who asks again and again. */
  find(name: string, signal: AbortSignal): Promise<NamedTable | undefined>;
  /** As `open`, but a path or URI (anything with a `/` in it, or `.`) is a table too: what commands take as T. NOT_A_TABLE. */
  openAny(nameOrUri: string, signal: AbortSignal): Promise<NamedTable>;
  /** All names, sorted. */
  names(signal: AbortSignal): Promise<string[]>;
  /** Where a table of this name is, or would be. */
  uriOf(name: string): string;
  close(): Promise<void>;
};

export type CatalogOptions = {
  /** A folder or `s3://bucket/prefix`. It need not exist yet. */
  root: string;
  /** Further tables: name to URI. They win over those of the store. */
  tables?: ReadonlyMap<string, string>;
};

/** Asks for nothing yet. The stores it opens are closed with it. */
export function openCatalog(options: CatalogOptions): Catalog {
  const root = options.root.replace(/(?<=[^/:])\/+$/, "");
  const named = options.tables ?? new Map<string, string>();
  const opened = new Map<string, Promise<OpenTable>>();
  /** Of tables that were made anew since: somebody may still read the old one. */
  const replaced: Store[] = [];

  async function openAt(uri: string, signal: AbortSignal): Promise<Table> {
    let entry = opened.get(uri);
    if (entry !== undefined && !(await isStill(await entry, signal))) {
      if (opened.get(uri) === entry) opened.delete(uri);
      replaced.push((await entry).store);
      entry = opened.get(uri);
    }
    if (entry === undefined) {
      entry = openOnce(uri, signal);
      opened.set(uri, entry);
      // What failed may be there the next time.
      entry.catch(() => opened.delete(uri));
    }
    return (await entry).table;
  }

  async function names(signal: AbortSignal): Promise<string[]> {
    const store = await openStore(root, { signal });
    try {
      const found = [...named.keys()];
      const hasLog = async (folder: string) =>
        (await firstOf(store, `${folder}/_delta_log/`, signal)) !== undefined;
      for await (const name of store.folders(signal))
        if (isFolderName(name) && ((await isOpen(name, signal)) || (await hasLog(name)))) found.push(name);
      return [...new Set(found)].sort();
    } finally {
      await store.close();
    }
  }

  async function isOpen(folder: string, signal: AbortSignal): Promise<boolean> {
    const open = await opened.get(`${root}/${folder}`)?.catch(() => undefined);
    return open !== undefined && (await isStill(open, signal));
  }

  const uriOf = (name: string) => named.get(name) ?? `${root}/${name}`;

  async function find(name: string, signal: AbortSignal): Promise<NamedTable | undefined> {
    if (!named.has(name) && !isFolderName(name)) return undefined;
    try {
      return { name, table: await openAt(uriOf(name), signal) };
    } catch (error) {
      if (isLabError(error, "NOT_A_TABLE") && !named.has(name)) return undefined;
      throw error;
    }
  }

  async function open(name: string, signal: AbortSignal): Promise<NamedTable> {
    const found = await find(name, signal);
    if (found !== undefined) return found;
    const all = await names(signal);
    const [same, another] = all.filter((candidate) => candidate.toLowerCase() === name.toLowerCase());
    const matched = same !== undefined && another === undefined ? await find(same, signal) : undefined;
    if (matched !== undefined) return matched;
    throw notFound(name, root, all);
  }

  return {
    root,
    open,
    find,
    names,
    uriOf,
    async openAny(nameOrUri, signal) {
      if (named.has(nameOrUri) || isFolderName(nameOrUri)) return open(nameOrUri, signal);
      return { name: nameOfUri(nameOrUri), table: await openAt(nameOrUri, signal) };
    },
    async close() {
      const ends = await Promise.allSettled(opened.values());
      opened.clear();
      for (const end of ends) if (end.status === "fulfilled") await end.value.store.close();
      for (const store of replaced.splice(0)) await store.close();
    },
  };
}

/** An open table remembers its versions: `birth` tells whether it is still the one that was opened. */
type OpenTable = { store: Store; table: Table; birth: StoredObject | undefined; checkedAt: number };

/** A table that was deleted and made anew is noticed within this time. */
const CHECK_EVERY_MS = 2_000;

async function isStill(open: OpenTable, signal: AbortSignal): Promise<boolean> {
  if (performance.now() - open.checkedAt < CHECK_EVERY_MS) return true;
  const { store, birth } = open;
  const isThere = isOnDisk(store, birth) || isSame(await birthOf(store, signal), birth);
  open.checkedAt = performance.now();
  return isThere;
}

/** The oldest file of the log. After a cleanup that is another one, and the table is opened again for nothing. */
function birthOf(store: Store, signal: AbortSignal): Promise<StoredObject | undefined> {
  return firstOf(store, "_delta_log/0", signal);
}

async function firstOf(store: Store, prefix: string, signal: AbortSignal): Promise<StoredObject | undefined> {
  for await (const object of store.list(prefix, { signal })) return object;
  return undefined;
}

function isSame(one: StoredObject | undefined, other: StoredObject | undefined): boolean {
  return one?.path === other?.path && one?.modifiedMs === other?.modifiedMs;
}

/** Whether the file is there as it was, where a look at it does without a listing of its folder. */
function isOnDisk(store: Store, birth: StoredObject | undefined): boolean {
  if (birth === undefined || store.localPath === undefined) return false;
  return isSame(describeFile(store.localPath(birth.path), birth.path), birth);
}

async function openOnce(uri: string, signal: AbortSignal): Promise<OpenTable> {
  const store = await openStore(uri, { signal });
  try {
    const table = await openTable(store, signal);
    return { store, table, birth: await birthOf(store, signal), checkedAt: performance.now() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function isFolderName(name: string): boolean {
  return name !== "" && name !== "." && name !== ".." && !name.includes("/");
}

/** The last part of a path or URI: what a table that has no name is called. */
function nameOfUri(uri: string): string {
  return uri.replace(/\/+$/, "").split("/").at(-1) || uri;
}

function notFound(name: string, root: string, all: readonly string[]): LabError {
  const near = nearNames(name, all);
  const hint =
    near.length > 0
      ? `did you mean ${near.join(" or ")}?`
      : all.length > 0
        ? `there is ${all.slice(0, 10).join(", ")}${all.length > 10 ? ` and ${all.length - 10} more` : ""}: lab tables`
        : `${root} holds no table yet: lab ingest makes one, --store and --table name others`;
  return new LabError("TABLE_NOT_FOUND", `there is no table ${name} in ${root}`, {
    hint,
    details: { name, root },
  });
}
