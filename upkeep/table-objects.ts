/** What lies in a table's folder beside its log, and under which names the log knows it. */

import type { Add, DeletionVector, Remove } from "../delta/actions.ts";
import { vectorPath } from "../delta/deletion-vector.ts";
import { LOG_FOLDER } from "../delta/log-names.ts";
import { partitionDirectory } from "../delta/partition-path.ts";
import { canonicalPath, isAbsolutePath } from "../delta/path.ts";
import type { Store, StoredObject } from "../delta/store/store.ts";
import type { Snapshot } from "../delta/table.ts";
import { mappingMode, physicalName } from "../engine/column-mapping.ts";

/** Folders that hold data although their names look hidden. */
const DATA_FOLDERS = ["_change_data", "_delta_index"];
const LAST_CHARACTER = "\u{10FFFF}";

/** The objects of the table that are data: see `dataFilter`. */
export async function* dataObjects(
  store: Store,
  table: Pick<Snapshot, "schema" | "partitionColumns" | "metadata" | "protocol">,
  signal: AbortSignal,
): AsyncGenerator<StoredObject> {
  const isData = dataFilter(table);
  for await (const object of objectsBesideLog(store, signal)) if (isData(object.path)) yield object;
}

/** All objects but those of the log, which may be more than the table has: it is jumped over, not listed. */
export async function* objectsBesideLog(store: Store, signal: AbortSignal): AsyncGenerator<StoredObject> {
  for await (const object of store.list("", { signal })) {
    if (object.path.startsWith(LOG_FOLDER)) break;
    yield object;
  }
  yield* store.list("", { startAfter: `${LOG_FOLDER}${LAST_CHARACTER}`, signal });
}

/**
 * Whether an object is data: all but those in or below a name that begins with `_` or `.`, which are somebody's own, except the folders
 * of partition columns named like that and of the change data feed.
 */
export function dataFilter(
  table: Pick<Snapshot, "schema" | "partitionColumns" | "metadata" | "protocol">,
): (path: string) => boolean {
  const mode = mappingMode(table);
  const columns = table.schema.fields
    .filter((field) => table.partitionColumns.includes(field.name))
    .flatMap((field) => [field.name, physicalName(field, mode)]);
  const folders = columns.flatMap((column) => [
    `${column}=`,
    partitionDirectory([column], { [column]: "x" }).slice(0, -1),
  ]);
  const isHidden = (name: string) =>
    /^[_.]/.test(name) &&
    !DATA_FOLDERS.some((folder) => name.startsWith(folder)) &&
    !folders.some((folder) => name.startsWith(folder));
  return (path) => !path.split("/").some(isHidden);
}

/** Names in the store of what a file of the log consists of: itself, and where its deletion vector is kept. */
export function objectNames(store: Store, file: Pick<Add | Remove, "path" | "deletionVector">): string[] {
  const vector = file.deletionVector && vectorName(store, file.deletionVector);
  const name = canonicalPath(store.root, file.path);
  return vector === undefined ? [name] : [name, vector];
}

/**
 * Every name under which an object may be the one that is meant. Some writers do not encode a `%`; an absolute path may name the table's own
 * folder in another way (a link, an alias of the bucket). Whoever deletes must take all of them for named.
 */
export function possibleNames(store: Store, file: Pick<Add | Remove, "path" | "deletionVector">): string[] {
  const names = objectNames(store, file);
  if (file.path.includes("%") && !isAbsolutePath(file.path)) names.push(file.path);
  for (const name of names.filter(isAbsolutePath)) {
    const parts = name.split("/");
    for (let at = 1; at < parts.length; at++) names.push(parts.slice(at).join("/"));
  }
  return names;
}

function vectorName(store: Store, vector: DeletionVector): string | undefined {
  if (vector.storageType === "i") return undefined;
  if (vector.storageType === "p") return canonicalPath(store.root, vector.pathOrInlineDv);
  return vectorPath(store, vector);
}
