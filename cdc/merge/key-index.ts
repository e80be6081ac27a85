/**
 * Where each key of a table stands, and which change made its row: held in memory, so that a batch reads no data file. Files never change under
 * one name, so each is read once, and only its key columns and `_cdc`.
 */

import { LabError } from "../../core/errors.ts";
import type { Add } from "../../delta/actions.ts";
import { readDeletionVector } from "../../delta/deletion-vector.ts";
import { fileKey } from "../../delta/file-key.ts";
import type { Snapshot, Table } from "../../delta/table.ts";
import { locateFiles } from "../../engine/data-files.ts";
import type { FileCache } from "../../engine/file-cache.ts";
import { type Engine, type Instance, quoteName, quoteText } from "../../engine/instance.ts";
import { numberChunks } from "../../engine/number-chunks.ts";
import { createRelation, FILE_PLACE, literalPath, ROW_PLACE } from "../../engine/scan.ts";
import { sqlType } from "../../engine/sql-types.ts";
import { groupsOf } from "../../upkeep/matches.ts";
import { CDC_FIELD, hasCdcField, type Stored } from "./cdc-field.ts";
import {
  createKeyTable,
  type Entry,
  FLAGS,
  type KeyHash,
  type KeyTable,
  ROW_COLUMNS,
  words,
} from "./key-table.ts";

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

export type KeyIndex = {
  /** Brings it to a version: reads files that are new to it, forgets those that are gone. */
  follow(snapshot: Snapshot, signal: AbortSignal): Promise<void>;
  /** What meets the rows of a local Parquet file. */
  find(staged: string, signal: AbortSignal): Promise<Found>;
  /** All stored rows. */
  all(): IterableIterator<Located>;
  /** After a commit of our own and before `follow`: files that only lost rows need not be read again. */
  retire(retired: Retired): void;
  /** The same for a file of ours of which it is known what is in it. */
  adopt(add: Add, rows: readonly { hash: KeyHash; row: Omit<Entry, "id" | "file"> }[]): void;
};

export function createKeyIndex(options: {
  instance: Instance;
  table: Table;
  keyColumns: readonly string[];
  cache: () => Promise<FileCache>;
}): KeyIndex {
  const { instance, table, keyColumns, cache } = options;
  const { store } = table;
  let keys: KeyTable = createKeyTable();
  /** By the number that entries have. */
  const files = new Map<number, IndexedFile>();
  const numbers = new Map<string, number>();
  let version = -1;
  /** Of the key columns, as the entries are hashed. */
  let types: readonly string[] = [];
  /** Of them those that are texts in the names of partitions, where an empty one is NULL (PROTOCOL.md, "Partition Value Serialization"). */
  let partitioned: readonly string[] = [];
  let made = 0;

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
        await put(session, base, hasCdcField(snapshot.schema), signal);
      } catch (error) {
        throw await data.explain(error);
      } finally {
        session.close();
        await data.close();
      }
    }
  }

  /** The rows of view `loaded`. */
  async function put(
    session: Engine,
    firstFile: number,
    hasCdc: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const src = `${CDC_FIELD.name}.src`;
    await session.run(
      `CREATE TEMP TABLE sources AS SELECT src, row_number() OVER () - 1 AS n
       FROM (SELECT DISTINCT ${hasCdc ? src : "NULL::VARCHAR"} AS src FROM loaded) WHERE src IS NOT NULL`,
      { signal },
    );
    const sources = await session.rows("SELECT src FROM sources ORDER BY n", { signal });
    const names = sources.map((row) => row.src as string);
    const columns = ROW_COLUMNS.map(
      (name) => `coalesce(${rowColumns(keyColumns, types, hasCdc)[name]}, 0)::BIGINT`,
    );
    const from = hasCdc ? `loaded LEFT JOIN sources ON sources.src = ${src}` : "loaded";
    for await (const { rows, columns: chunk } of numberChunks(
      session,
      `SELECT ${columns.join(", ")} FROM ${from}`,
      signal,
    ))
      keys.putAll({ rows, columns: chunk, firstFile, sources: names });
    if (!hasCdc) return;
    const [one, other] = hashesOf(keyColumns, types, { isStaged: false });
    const unknown = await session.rows(
      `SELECT ${one} AS a, ${other} AS b, ${FILE_PLACE} AS file, ${ROW_PLACE} AS "row", ${CDC_FIELD.name}.missing AS missing
       FROM loaded WHERE len(${CDC_FIELD.name}.missing) > 0`,
      { signal },
    );
    for (const { a, b, file, row, missing } of unknown) {
      const at = { file: firstFile + Number(file), row: Number(row) };
      keys.setMissing(hashOf(a as bigint, b as bigint), at, missing as string[]);
    }
  }

  function located(entry: Entry): Located {
    const { id, row, order, isDeleted, missing } = entry;
    return { id, row, order, isDeleted, missing, file: files.get(entry.file)! };
  }

  return {
    async follow(snapshot, signal) {
      const keyTypes = keyColumns.map((name) => keyType(snapshot, name));
      // The text of a key, which is what is hashed, is one of its type.
      partitioned = keyColumns.filter(
        (name, i) => keyTypes[i] === "VARCHAR" && snapshot.partitionColumns.includes(name),
      );
      if (keyTypes.join() !== types.join()) {
        keys = createKeyTable();
        files.clear();
        numbers.clear();
        types = keyTypes;
      } else if (snapshot.version === version) return;
      version = -1;
      const left = new Map(numbers);
      const fresh: Add[] = [];
      for (const add of snapshot.files()) if (!left.delete(keyOf(add))) fresh.push(add);
      for (const [key, number] of left) {
        keys.dropFile(number);
        numbers.delete(key);
        files.delete(number);
      }
      if (fresh.length > 0) {
        try {
          await load(snapshot, fresh, signal);
        } catch (error) {
          // Half of a file is in it.
          types = [];
          throw error;
        }
      }
      version = snapshot.version;
    },
    async find(staged, signal) {
      const session = await instance.session();
      try {
        const isKeyless = [
          ...keyColumns.map((name) => `${quoteName(name)} IS NULL`),
          ...partitioned.map((name) => `${quoteName(name)} = ''`),
        ].join(" OR ");
        const columns = [
          "file_row_number",
          `(${isKeyless})`,
          ...hashesOf(keyColumns, types, { isStaged: true }),
        ];
        const stored = new Map<number, Located>();
        const hashes = new Map<number, KeyHash>();
        const [doubled, keyless, twins]: [number[], number[], number[]] = [[], [], []];
        const seen = createKeyTable();
        seen.addFile(0);
        for await (const { rows, columns: chunk } of numberChunks(
          session,
          `SELECT ${columns.map((column) => `coalesce(${column}::BIGINT, 0)`).join(", ")}
           FROM read_parquet(${quoteText(literalPath(staged))}, file_row_number = true, hive_partitioning = false)`,
          signal,
        )) {
          const [places, isNull, one, other] = chunk.map(words);
          for (let i = 0; i < 2 * rows; i += 2) {
            const at = places![i]!;
            if (isNull![i] === 1) {
              keyless.push(at);
              continue;
            }
            const hash: KeyHash = [one![i]!, one![i + 1]!, other![i]!, other![i + 1]!];
            hashes.set(at, hash);
            const twin = seen.find(hash);
            if (twin) twins.push(twin.row, at);
            else seen.put(hash, { file: 0, row: at, order: null, isDeleted: false, missing: [] });
            const entry = keys.find(hash);
            if (entry === undefined) continue;
            stored.set(at, located(entry));
            if (entry.isDoubled) doubled.push(at);
          }
        }
        return { stored, hashes, doubled, twins: [...new Set(twins)], keyless };
      } finally {
        session.close();
      }
    },
    *all() {
      for (const entry of keys.entries()) yield located(entry);
    },
    adopt(add, rows) {
      version = -1;
      const number = made++;
      files.set(number, { add, deleted: undefined });
      numbers.set(keyOf(add), number);
      keys.addFile(number);
      for (const { hash, row } of rows) keys.put(hash, { ...row, file: number });
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

/** SCHEMA_MISMATCH where the table has no such column: its rows would have no key. */
function keyType({ schema }: Snapshot, name: string): string {
  const field = schema.fields.find((one) => one.name === name);
  if (field !== undefined) return sqlType(field.type);
  throw new LabError("SCHEMA_MISMATCH", `the table has no column ${name}, which is of the key`, {
    hint: `its columns are ${schema.fields.map((one) => one.name).join(", ")}: say with key which of them tell rows apart`,
    details: { column: name },
  });
}

/**
 * Two hashes of a key as SQL: of the texts of its values, and of these in one piece, each told apart from its neighbour by its length. Texts in
 * the types of the table, where values fit them: a batch may bring a wider type (`isStaged`). Both zeros of a double are one.
 */
function hashesOf(
  keyColumns: readonly string[],
  types: readonly string[],
  { isStaged }: { isStaged: boolean },
): [string, string] {
  const texts = keyColumns.map((column, i) => {
    const name = quoteName(column);
    const type = types[i]!;
    const narrow = `TRY_CAST(${name} AS ${type})`;
    const cases = [
      ...(REALS.has(type) ? [`WHEN ${name} = 0 THEN '0.0'`] : []),
      ...(isStaged ? [`WHEN ${narrow} = ${name} THEN ${narrow}::VARCHAR`] : []),
    ];
    return cases.length === 0 ? `${name}::VARCHAR` : `CASE ${cases.join(" ")} ELSE ${name}::VARCHAR END`;
  });
  const piece = texts.map((text) => `len(${text}) || ':' || ${text}`).join(" || ");
  return [`(hash(${texts.join(", ")}) >> 1)::BIGINT`, `(hash(${piece}) >> 1)::BIGINT`];
}

const REALS: ReadonlySet<string> = new Set(["FLOAT", "DOUBLE"]);

function hashOf(one: bigint, other: bigint): KeyHash {
  return [Number(one & 0xffff_ffffn), Number(one >> 32n), Number(other & 0xffff_ffffn), Number(other >> 32n)];
}

/** Columns of view `loaded` as `KeyRows` has them. */
function rowColumns(
  keyColumns: readonly string[],
  types: readonly string[],
  hasCdc: boolean,
): Record<(typeof ROW_COLUMNS)[number], string> {
  const [hash1, hash2] = hashesOf(keyColumns, types, { isStaged: false });
  const cdc = (name: string) => (hasCdc ? `${CDC_FIELD.name}.${quoteName(name)}` : "NULL");
  const flag = (condition: string, value: number) =>
    hasCdc ? `CASE WHEN ${condition} THEN ${value} ELSE 0 END` : "0";
  return {
    file: FILE_PLACE,
    row: ROW_PLACE,
    hash1,
    hash2,
    hi: cdc("hi"),
    lo: cdc("lo"),
    sub: cdc("sub"),
    time: hasCdc ? `epoch_us(${cdc("ts")})` : "0",
    offset: cdc("offset"),
    place: `coalesce(${cdc("partition")}, 0)::BIGINT + coalesce(${cdc("generation")}, 0)::BIGINT * 4294967296`,
    flags: [
      flag(`${cdc("offset")} IS NOT NULL`, FLAGS.hasOrder),
      flag(`${cdc("src")} IS NOT NULL`, FLAGS.hasPosition),
      flag(`${cdc("ts")} IS NOT NULL`, FLAGS.hasTime),
      flag(cdc("snapshot"), FLAGS.isSnapshot),
      flag(cdc("deleted"), FLAGS.isDeleted),
    ].join(" + "),
    source: hasCdc ? "sources.n" : "0",
  };
}
