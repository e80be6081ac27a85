/**
 * Where the keys of a batch stand, read from the table's files for each batch: of those that can hold one of the keys, the key columns and `_cdc`. For
 * tables whose keys are too many to be held in memory; only those of the batch are.
 */

import type { Add } from "../../delta/actions.ts";
import { fileKey } from "../../delta/file-key.ts";
import type { Snapshot } from "../../delta/table.ts";
import { locateFiles } from "../../engine/data-files.ts";
import { type Engine, quoteName, quoteText } from "../../engine/instance.ts";
import { matchingFiles } from "../../engine/prune.ts";
import { predicateOf } from "../../engine/prune-sql.ts";
import { createRelation, FILE_PLACE, ROW_PLACE } from "../../engine/scan.ts";
import { groupsOf } from "../../upkeep/matches.ts";
import { CDC_FIELD, hasCdcField } from "./cdc-field.ts";
import type { IndexedFile, KeyIndex, KeyIndexOptions, Located } from "./key-index.ts";
import { meet, stagedRows } from "./key-meet.ts";
import { hasPlainPartitions, partitionsOf } from "./key-partitions.ts";
import { hashesOf, type KeyShape, keyShapeOf, putRows } from "./key-rows.ts";
import { createKeyTable, type Entry, type KeyTable } from "./key-table.ts";

/** A file has fewer rows. */
const MOST_ROWS = 2 ** 32;

/** Types whose order in statistics is that of their values. */
const ORDERED: ReadonlySet<string> = new Set(["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "VARCHAR"]);

export function createKeyLookup({ instance, table, keyColumns, cache }: KeyIndexOptions): KeyIndex {
  const { store } = table;
  let at: { snapshot: Snapshot; key: KeyShape; hasCdc: boolean } | null = null;
  /** Files of the version that were read, each once. */
  const known = new Map<string, { number: number; file: IndexedFile }>();
  /** The same as entries have them, in the order in which they were read, and read again. */
  const read: { number: number; file: IndexedFile }[] = [];

  function remember(add: Add, deleted: Float64Array | undefined): void {
    const name = fileKey(store.root, add.path, add.deletionVector);
    const found = known.get(name) ?? { number: known.size, file: { add, deleted } };
    known.set(name, found);
    read.push(found);
  }

  /**
   * Makes view `loaded` over groups of files one after the other, and gives what `take` puts of each into a table of keys, whose files it has; it is
   * told the number that entries of the first file have.
   */
  async function* views(
    session: Engine,
    adds: readonly Add[],
    keysFor: () => KeyTable,
    take: (keys: KeyTable, firstFile: number) => Promise<void>,
    signal: AbortSignal,
  ): AsyncGenerator<KeyTable> {
    const isRemote = store.localPath === undefined;
    for (const group of groupsOf(adds, (add) => add)) {
      const data = await locateFiles(store, group, isRemote ? await cache() : undefined, signal);
      const first = read.length;
      for (const { add, deleted } of data.files) remember(add, deleted);
      const { snapshot } = at!;
      const keys = keysFor();
      for (let file = first; file < read.length; file++) keys.addFile(file);
      try {
        await createRelation(session, { name: "loaded", table: snapshot, data, withPlaces: true, signal });
        await take(keys, first);
      } catch (error) {
        throw await data.explain(error);
      } finally {
        await data.close();
      }
      yield keys;
    }
  }

  function located({ file: entry, row, order, isDeleted, missing }: Entry): Located {
    const { number, file } = read[entry]!;
    return { id: number * MOST_ROWS + row, row, order, isDeleted, missing, file };
  }

  /** Files that can hold a key of the staged file. */
  async function candidates(session: Engine, staged: string, signal: AbortSignal): Promise<Add[]> {
    const found = await inBounds(session, staged, signal);
    const { snapshot } = at!;
    if (!hasPlainPartitions(snapshot, keyColumns)) return found;
    return found.filter(await partitionsOf(session, snapshot, staged, signal));
  }

  /** By what statistics and partitions say of its columns one by one. */
  async function inBounds(session: Engine, staged: string, signal: AbortSignal): Promise<Add[]> {
    const { snapshot, key } = at!;
    const bounded = key.columns.flatMap((name, i) =>
      ORDERED.has(key.types[i]!) ? [{ name: quoteName(name), type: key.types[i]! }] : [],
    );
    if (bounded.length === 0) return [...snapshot.files()];
    // What does not fit the table's type is in none of its files.
    const bounds = bounded.flatMap(({ name, type }) =>
      ["min", "max"].map((of) => `${of}(TRY_CAST(${name} AS ${type}))::VARCHAR`),
    );
    const [row] = await session.rows(`SELECT [${bounds.join(", ")}] AS bounds FROM ${stagedRows(staged)}`, {
      signal,
    });
    const texts = row!.bounds as (string | null)[];
    if (texts.includes(null)) return [];
    const ranges = bounded.map(({ name, type }, i) => {
      const [low, high] = [texts[2 * i]!, texts[2 * i + 1]!];
      const [from, to] = type === "VARCHAR" ? [textFrom(low), textTo(high)] : [low, high];
      return `${name} >= ${from} AND ${name} <= ${to}`;
    });
    const predicate = await predicateOf(session, { sql: ranges.join(" AND "), table: snapshot }, signal);
    return [...matchingFiles(snapshot, predicate)];
  }

  const index: KeyIndex = {
    async follow(snapshot) {
      at = { snapshot, key: keyShapeOf(snapshot, keyColumns), hasCdc: hasCdcField(snapshot.schema) };
      known.clear();
      read.length = 0;
    },
    async find(staged, signal) {
      const { key, hasCdc } = at!;
      const session = await instance.session();
      try {
        const [one, other] = hashesOf(key, { isStaged: true });
        await session.run(
          `CREATE TEMP TABLE wanted AS SELECT ${one} AS "lab one", ${other} AS "lab other" FROM ${stagedRows(staged)}`,
          { signal },
        );
        const stored = hashesOf(key, { isStaged: false });
        const columns = [...key.columns.map(quoteName), ...(hasCdc ? [CDC_FIELD.name] : [])];
        const keys = createKeyTable();
        const take = async (_: KeyTable, firstFile: number) => {
          await session.run(
            `CREATE OR REPLACE TEMP TABLE matched AS SELECT ${columns.join(", ")}, ${FILE_PLACE}, ${ROW_PLACE} FROM loaded
             SEMI JOIN wanted ON "lab one" = ${stored[0]} AND "lab other" = ${stored[1]}`,
            { signal },
          );
          await putRows(session, keys, { from: "matched", firstFile, key, hasCdc }, signal);
        };
        const files = await candidates(session, staged, signal);
        for await (const _ of views(session, files, () => keys, take, signal));
        return await meet(session, { staged, key, keys, located }, signal);
      } finally {
        session.close();
      }
    },
    async *all(signal) {
      const { snapshot, key, hasCdc } = at!;
      const session = await instance.session();
      try {
        const take = (keys: KeyTable, firstFile: number) =>
          putRows(session, keys, { from: "loaded", firstFile, key, hasCdc }, signal);
        for await (const keys of views(session, [...snapshot.files()], createKeyTable, take, signal))
          for (const entry of keys.entries()) yield located(entry);
      } finally {
        session.close();
      }
    },
    known: (signal) => index.all(signal),
    bytes: 0,
    // The next version is read anew.
    adopt() {},
    retire() {},
    rejoin() {},
  };
  return index;
}

/** Texts that a statement can hold, which has no character 0: one that is not above, and one that is not below. */
const textFrom = (text: string) => quoteText(text.split("\0", 1)[0]!);
const textTo = (text: string) => quoteText(text.includes("\0") ? `${text.split("\0", 1)[0]}\u0001` : text);
