/**
 * Where each key of a table stands, and which change made its row: held in memory, so that a batch reads no data file. Files never change under
 * one name, so each is read once, and only its key columns and `_cdc`. Where partitions tell which keys they can hold, those that no batch has a key
 * of are not read: they are another worker's.
 */

import type { Add } from "../../delta/actions.ts";
import { readDeletionVector } from "../../delta/deletion-vector.ts";
import { fileKey } from "../../delta/file-key.ts";
import type { Snapshot, Table } from "../../delta/table.ts";
import { locateFiles } from "../../engine/data-files.ts";
import type { FileCache } from "../../engine/file-cache.ts";
import type { Instance } from "../../engine/instance.ts";
import { createRelation } from "../../engine/scan.ts";
import { groupsOf } from "../../upkeep/matches.ts";
import { hasCdcField, type Stored } from "./cdc-field.ts";
import { meet } from "./key-meet.ts";
import { hasPlainPartitions, partitionsOf } from "./key-partitions.ts";
import { type KeyShape, keyShapeOf, putRows } from "./key-rows.ts";
import { createKeyTable, type Entry, type KeyHash, type KeyTable } from "./key-table.ts";
import type { Moves } from "./row-moves.ts";

/** A live data file, and which of its rows are gone. */
export type IndexedFile = { add: Add; deleted: Float64Array | undefined };

/** A stored row. */
export type Located = Stored & {
  /** Of its entry in the index. */
  id: number;
  file: IndexedFile;
  /** Its position in the file. */
  row: number;
};

/** What the rows of a staged file are met by, by their positions. */
export type Found = {
  /** The stored row with the same key. */
  stored: ReadonlyMap<number, Located>;
  /** Of its key. */
  hashes: ReadonlyMap<number, KeyHash>;
  /** The table has several such rows. */
  doubled: readonly number[];
  /** Another row of the staged file has the same key. */
  twins: readonly number[];
  /** A key column is NULL, or is read as NULL where it is stored. */
  keyless: readonly number[];
};

/** What a commit of ours took out of the table. */
export type Retired = {
  ids: readonly number[];
  /** Files that live on, as they are now. */
  kept: readonly { file: IndexedFile; add: Add; deleted: Float64Array }[];
};

/** What a commit of ours joined: `old` files as they were at its version, in their order, and the one that has their rows. */
export type Rejoined = { old: readonly Add[]; moves: Moves; add: Add; deleted: Float64Array };

export type KeyIndex = {
  /** Brings it to a version: files that are new to it are read by the time they are needed, those that are gone are forgotten. */
  follow(snapshot: Snapshot, signal: AbortSignal): Promise<void>;
  /** What meets the rows of a local Parquet file. */
  find(staged: string, signal: AbortSignal): Promise<Found>;
  /** All stored rows. */
  all(signal: AbortSignal): AsyncIterable<Located>;
  /** Those of partitions that batches had keys of, at least. */
  known(signal: AbortSignal): AsyncIterable<Located>;
  /** Of what is held of keys. */
  readonly bytes: number;
  /** After a commit of our own and before `follow`: files that only lost rows need not be read again. */
  retire(retired: Retired): void;
  /** The same for files that were joined: no row need be read again. */
  rejoin(joined: readonly Rejoined[]): void;
  /** The same for a file of ours of which it is known what is in it. */
  adopt(add: Add, rows: readonly { hash: KeyHash; row: Omit<Entry, "id" | "file"> }[]): void;
};

export type KeyIndexOptions = {
  instance: Instance;
  table: Table;
  keyColumns: readonly string[];
  cache: () => Promise<FileCache>;
};

export function createKeyIndex(options: KeyIndexOptions): KeyIndex {
  const { instance, table, keyColumns, cache } = options;
  const { store } = table;
  let keys: KeyTable = createKeyTable();
  /** By the number that entries have. */
  const files = new Map<number, IndexedFile>();
  const numbers = new Map<string, number>();
  let version = -1;
  /** As the entries are hashed; null where they are to be read anew. */
  let key: KeyShape | null = null;
  let made = 0;
  let at: Snapshot;
  /** Files of the version that are yet to be read. */
  let waiting: readonly Add[] = [];

  const keyOf = (add: Add) => fileKey(store.root, add.path, add.deletionVector);

  async function load(snapshot: Snapshot, adds: readonly Add[], signal: AbortSignal): Promise<void> {
    for (const group of groupsOf(adds, (add) => add)) {
      const base = made;
      made += group.length;
      for (const [place, add] of group.entries()) {
        const deleted = add.deletionVector && (await readDeletionVector(store, add.deletionVector, signal));
        files.set(base + place, { add, deleted });
        numbers.set(keyOf(add), base + place);
        keys.addFile(base + place);
      }
      const isRemote = store.localPath === undefined;
      const data = await locateFiles(store, group, isRemote ? await cache() : undefined, signal);
      const session = await instance.session();
      try {
        await createRelation(session, { name: "loaded", table: snapshot, data, withPlaces: true, signal });
        const rows = { from: "loaded", firstFile: base, key: key!, hasCdc: hasCdcField(snapshot.schema) };
        await putRows(session, keys, rows, signal);
      } catch (error) {
        throw await data.explain(error);
      } finally {
        session.close();
        await data.close();
      }
    }
  }

  /**
   * Files that lost rows to another writer's deletion vectors are the same for the rest: they need not be read again. Gives the others, and takes what
   * is done with out of `left`.
   */
  async function wear(
    adds: readonly Add[],
    left: Map<string, number>,
    signal: AbortSignal,
  ): Promise<readonly Add[]> {
    const byPath = new Map<string, [string, number]>();
    for (const [name, number] of left) byPath.set(files.get(number)!.add.path, [name, number]);
    const fresh: Add[] = [];
    const gone = new Map<number, ReadonlySet<number>>();
    for (const add of adds) {
      const found = byPath.get(add.path);
      const { deletionVector } = add;
      const deleted = found && deletionVector && (await readDeletionVector(store, deletionVector, signal));
      const more = deleted && added(files.get(found[1])!.deleted, deleted);
      if (!more) {
        fresh.push(add);
        continue;
      }
      const [name, number] = found;
      left.delete(name);
      numbers.delete(name);
      numbers.set(keyOf(add), number);
      files.set(number, { add, deleted });
      gone.set(number, more);
    }
    if (gone.size > 0) keys.dropRows(gone);
    return fresh;
  }

  /** Those of the waiting files that are asked for. */
  async function read(isWanted: (add: Add) => boolean, signal: AbortSignal): Promise<void> {
    const wanted = waiting.filter(isWanted);
    if (wanted.length === 0) return;
    try {
      await load(at, wanted, signal);
    } catch (error) {
      // Half of a file is in it.
      key = null;
      throw error;
    }
    waiting = waiting.filter((add) => !isWanted(add));
  }

  function located(entry: Entry): Located {
    const { id, row, order, isDeleted, missing } = entry;
    return { id, row, order, isDeleted, missing, file: files.get(entry.file)! };
  }

  return {
    async follow(snapshot, signal) {
      const shape = keyShapeOf(snapshot, keyColumns);
      const isSame = key !== null && shape.types.join() === key.types.join();
      key = shape;
      at = snapshot;
      if (!isSame) {
        keys = createKeyTable();
        files.clear();
        numbers.clear();
      } else if (snapshot.version === version) return;
      version = -1;
      const left = new Map(numbers);
      const unknown: Add[] = [];
      for (const add of snapshot.files()) if (!left.delete(keyOf(add))) unknown.push(add);
      const fresh = await wear(unknown, left, signal);
      for (const [name, number] of left) {
        keys.dropFile(number);
        numbers.delete(name);
        files.delete(number);
      }
      waiting = fresh;
      if (!hasPlainPartitions(snapshot, keyColumns)) await read(() => true, signal);
      version = snapshot.version;
    },
    async find(staged, signal) {
      const session = await instance.session();
      try {
        if (waiting.length > 0) await read(await partitionsOf(session, at, staged, signal), signal);
        return await meet(session, { staged, key: key!, keys, located }, signal);
      } finally {
        session.close();
      }
    },
    async *all(signal) {
      await read(() => true, signal);
      for (const entry of keys.entries()) yield located(entry);
    },
    async *known() {
      for (const entry of keys.entries()) yield located(entry);
    },
    get bytes() {
      return keys.bytes;
    },
    adopt(add, rows) {
      version = -1;
      const number = made++;
      files.set(number, { add, deleted: undefined });
      numbers.set(keyOf(add), number);
      keys.addFile(number);
      for (const { hash, row } of rows) keys.put(hash, { ...row, file: number });
    },
    rejoin(joined) {
      version = -1;
      for (const { old, moves, add, deleted } of joined) {
        const places = old.map((one) => numbers.get(keyOf(one)));
        // Of what has yet to be read nothing can be moved.
        if (places.includes(undefined)) continue;
        const file = made++;
        files.set(file, { add, deleted: deleted.length > 0 ? deleted : undefined });
        numbers.set(keyOf(add), file);
        keys.addFile(file);
        const rows = places.map((number, place) => {
          const rowOf = (row: number) => moves.rowOf(place, row);
          return [number!, { file, rowOf }] as const;
        });
        keys.move(new Map(rows));
      }
    },
    retire({ ids, kept }) {
      version = -1;
      for (const id of ids) keys.drop(id);
      for (const { file, add, deleted } of kept) {
        const number = numbers.get(keyOf(file.add))!;
        numbers.delete(keyOf(file.add));
        Object.assign(file, { add, deleted });
        numbers.set(keyOf(add), number);
      }
    },
  };
}

/** Positions that are new; null where one of those before is not among them: rows came back. */
function added(before: Float64Array | undefined, now: Float64Array): Set<number> | null {
  const more = new Set(now);
  for (const row of before ?? []) if (!more.delete(row)) return null;
  return more;
}
