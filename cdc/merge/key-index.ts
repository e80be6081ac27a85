/**
 * Where each key of a table stands, and which change made its row: in a DuckDB that stays open, so that a batch reads no data file. Files never
 * change under one name, so each is read once, and only its key columns and `_cdc`; what does not fit in memory spills.
 */

import type { Add } from "../../delta/actions.ts";
import { readDeletionVector } from "../../delta/deletion-vector.ts";
import { fileKey } from "../../delta/file-key.ts";
import type { Snapshot, Table } from "../../delta/table.ts";
import { locateFiles } from "../../engine/data-files.ts";
import type { FileCache } from "../../engine/file-cache.ts";
import { type Engine, type Instance, quoteName, quoteText, type Row } from "../../engine/instance.ts";
import { createRelation, FILE_PLACE, literalPath, ROW_PLACE } from "../../engine/scan.ts";
import { sqlType } from "../../engine/sql-types.ts";
import { groupsOf } from "../../upkeep/matches.ts";
import { CDC_FIELD, hasCdcField, type Stored } from "./cdc-field.ts";

/** A live data file, and which of its rows are gone. */
export type IndexedFile = { add: Add; deleted: Float64Array | undefined };

/** A stored row. */
export type Located = Stored & {
  /** Of its entry in the index. */
  id: bigint;
  file: IndexedFile;
  /** Its position in the file. */
  row: number;
};

/** A stored row that a staged one shares its key with; `at` is the staged one's position. */
export type Match = Located & { at: number };

/** What a commit of ours took out of the table. */
export type Retired = {
  /** Entries of rows that are gone. */
  ids: readonly bigint[];
  /** Files that live on, as they are now. */
  kept: readonly { file: IndexedFile; add: Add; deleted: Float64Array }[];
};

export type KeyIndex = {
  /** Brings it to a version: reads files that are new to it, forgets those that are gone. */
  follow(snapshot: Snapshot, signal: AbortSignal): Promise<void>;
  /** Stored rows with the keys of the rows of a local Parquet file; and positions of staged rows that share a key, or have none. */
  find(
    staged: string,
    signal: AbortSignal,
  ): Promise<{ matches: Match[]; twins: number[]; keyless: number[] }>;
  /** All stored rows, in parts. */
  all(signal: AbortSignal): AsyncIterable<readonly Located[]>;
  /** After a commit of our own and before `follow`: files that only lost rows need not be read again. */
  retire(retired: Retired, signal: AbortSignal): Promise<void>;
  /** It is read anew at the next `follow`. */
  forget(): void;
};

const KEYS = "lab_keys";
const ORDER = `src, hi, lo, sub, ts, snapshot, "partition", "offset", generation`;
const PART = 50_000;
/** Entries of rows that are gone stay until they are so many, and as many as the others. */
const LEAST_DEAD = 100_000;

export function createKeyIndex(options: {
  instance: Instance;
  table: Table;
  keyColumns: readonly string[];
  cache: () => Promise<FileCache>;
}): KeyIndex & { close(): Promise<void> } {
  const { instance, table, keyColumns, cache } = options;
  const { store } = table;
  const keys = keyColumns.map((_, i) => `k${i}`);
  /** By the number that entries have. */
  const files = new Map<number, IndexedFile>();
  const numbers = new Map<string, number>();
  let engine: Engine | undefined;
  let version = -1;
  let types = "";
  let made = 0;
  let live = 0;
  let dead = 0;

  const keyOf = (add: Add) => fileKey(store.root, add.path, add.deletionVector);

  async function clear(keyTypes: readonly string[], signal: AbortSignal): Promise<Engine> {
    engine ??= await instance.session();
    const columns = keys.map((key, i) => `${key} ${keyTypes[i]}`).join(", ");
    await engine.run(
      `CREATE OR REPLACE TABLE ${KEYS} (file INTEGER, "row" BIGINT, ${columns}, src VARCHAR, hi BIGINT, lo BIGINT, sub BIGINT,
        ts BIGINT, snapshot BOOLEAN, "partition" INTEGER, "offset" BIGINT, generation INTEGER, deleted BOOLEAN, missing VARCHAR[])`,
      { signal },
    );
    files.clear();
    numbers.clear();
    [live, dead] = [0, 0];
    types = keyTypes.join();
    return engine;
  }

  async function load(snapshot: Snapshot, adds: readonly Add[], signal: AbortSignal): Promise<void> {
    const cdc = hasCdcField(snapshot.schema) ? CDC_FIELD.name : undefined;
    const member = (name: string) => (cdc === undefined ? "NULL" : `${cdc}.${quoteName(name)}`);
    const columns = [
      ...keyColumns.map((name) => quoteName(name)),
      ...["src", "hi", "lo", "sub"].map(member),
      cdc === undefined ? "NULL" : `epoch_us(${member("ts")})`,
      ...["snapshot", "partition", "offset", "generation"].map(member),
      cdc === undefined ? "false" : `coalesce(${member("deleted")}, false)`,
      member("missing"),
    ];
    for (const group of groupsOf(adds, (add) => add)) {
      const base = made;
      const data = await locateFiles(
        store,
        group,
        store.localPath === undefined ? await cache() : undefined,
        signal,
      );
      const session = await instance.session();
      try {
        await createRelation(session, { name: "loaded", table: snapshot, data, withPlaces: true, signal });
        const [done] = await session.rows(
          `INSERT INTO ${KEYS} SELECT ${base} + ${FILE_PLACE}, ${ROW_PLACE}, ${columns.join(", ")} FROM loaded`,
          { signal },
        );
        live += Number(done!.Count);
      } catch (error) {
        throw await data.explain(error);
      } finally {
        session.close();
        await data.close();
      }
      for (const [place, add] of group.entries()) {
        const deleted = add.deletionVector && (await readDeletionVector(store, add.deletionVector, signal));
        files.set(base + place, { add, deleted });
        numbers.set(keyOf(add), base + place);
      }
      made += group.length;
    }
  }

  async function remove(condition: string, signal: AbortSignal): Promise<void> {
    const [done] = await engine!.rows(`DELETE FROM ${KEYS} WHERE ${condition}`, { signal });
    live -= Number(done!.Count);
    dead += Number(done!.Count);
    if (dead < Math.max(LEAST_DEAD, live)) return;
    await engine!.run(
      `CREATE TABLE lab_keys_left AS FROM ${KEYS}; DROP TABLE ${KEYS}; ALTER TABLE lab_keys_left RENAME TO ${KEYS}`,
      { signal },
    );
    dead = 0;
  }

  async function follow(snapshot: Snapshot, signal: AbortSignal): Promise<void> {
    const keyTypes = keyColumns.map((name) =>
      sqlType(snapshot.schema.fields.find((field) => field.name === name)!.type),
    );
    if (engine === undefined || keyTypes.join() !== types) await clear(keyTypes, signal);
    else if (snapshot.version === version) return;
    version = -1;
    const left = new Map(numbers);
    const fresh: Add[] = [];
    for (const add of snapshot.files()) if (!left.delete(keyOf(add))) fresh.push(add);
    if (left.size > 0) {
      await remove(`file IN (${[...left.values()].join(", ")})`, signal);
      for (const [key, number] of left) {
        numbers.delete(key);
        files.delete(number);
      }
    }
    if (fresh.length > 0) await load(snapshot, fresh, signal);
    version = snapshot.version;
  }

  function located(row: Row): Located {
    const place = {
      partition: Number(row.partition),
      offset: row.offset as bigint,
      generation: Number(row.generation ?? 0),
    };
    const position =
      row.src === null
        ? null
        : {
            source: row.src as string,
            hi: row.hi as bigint,
            lo: row.lo as bigint,
            sub: row.sub as bigint,
            timeMicros: row.ts as bigint | null,
            isSnapshot: row.snapshot === true,
          };
    return {
      id: row.id as bigint,
      file: files.get(Number(row.file))!,
      row: Number(row.row),
      order: row.offset === null ? null : { position, place },
      isDeleted: row.deleted === true,
      missing: (row.missing as string[] | null) ?? [],
    };
  }

  return {
    follow,
    async find(staged, signal) {
      const mine = keyColumns.map((name, i) => `${quoteName(name)} AS ${keys[i]}`).join(", ");
      const same = keys.map((key) => `s.${key} = k.${key}`).join(" AND ");
      await engine!.run(
        `CREATE OR REPLACE TEMP TABLE staged AS SELECT file_row_number AS "at", ${mine}
         FROM read_parquet(${quoteText(literalPath(staged))}, file_row_number = true, hive_partitioning = false)`,
        { signal },
      );
      const keyless = await engine!.rows(
        `SELECT "at" FROM staged WHERE ${keys.map((key) => `${key} IS NULL`).join(" OR ")}`,
        { signal },
      );
      const twins = await engine!.rows(
        `SELECT "at" FROM staged QUALIFY count(*) OVER (PARTITION BY ${keys.join(", ")}) > 1`,
        { signal },
      );
      const rows = await engine!.rows(
        `SELECT s."at", k.rowid AS id, k.file, k."row", ${ORDER}, k.deleted, k.missing
         FROM staged AS s JOIN ${KEYS} AS k ON ${same}`,
        { signal },
      );
      return {
        matches: rows.map((row) => ({ ...located(row), at: Number(row.at) })),
        twins: twins.map(({ at }) => Number(at)),
        keyless: keyless.map(({ at }) => Number(at)),
      };
    },
    async *all(signal) {
      const [last] = await engine!.rows(`SELECT max(rowid) AS id FROM ${KEYS}`, { signal });
      for (let from = 0n; last!.id !== null && from <= (last!.id as bigint); from += BigInt(PART)) {
        const rows = await engine!.rows(
          `SELECT rowid AS id, file, "row", ${ORDER}, deleted, missing FROM ${KEYS}
           WHERE rowid >= ${from} AND rowid < ${from + BigInt(PART)}`,
          { signal },
        );
        yield rows.map(located);
      }
    },
    async retire({ ids, kept }, signal) {
      version = -1;
      if (ids.length > 0) await remove(`rowid IN (SELECT unnest([${ids.join(", ")}]))`, signal);
      for (const { file, add, deleted } of kept) {
        const number = numbers.get(keyOf(file.add))!;
        numbers.delete(keyOf(file.add));
        Object.assign(file, { add, deleted });
        numbers.set(keyOf(add), number);
      }
    },
    forget() {
      types = "";
    },
    async close() {
      engine?.close();
    },
  };
}
