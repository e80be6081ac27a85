/** An engine in which chosen files of tables stand as views: what every reader of rows builds on. */

import type { Add } from "../delta/actions.ts";
import type { Store } from "../delta/store/store.ts";
import { locateFiles } from "../engine/data-files.ts";
import type { FileCache } from "../engine/file-cache.ts";
import { visibleRows } from "../engine/hidden-rows.ts";
import { type Engine, quoteName, textList } from "../engine/instance.ts";
import {
  allowedPathsOf,
  createRelation,
  type DataFiles,
  type RelationOptions,
  type ScanFile,
} from "../engine/scan.ts";
import { relationText } from "../engine/scan-text.ts";
import type { Engines, EngineUse } from "./engines.ts";

export type Reading = {
  engines: Engines;
  /** For tables that are not in local folders. Opened when first needed. */
  cache: () => Promise<FileCache>;
};

export type Source = {
  view: string;
  table: RelationOptions["table"];
  store: Store;
  adds: Iterable<Add>;
  /** For each of the files the positions of the only rows that count. */
  only?: readonly Float64Array[];
  /** Rows also tell their file, by its place in `adds`, and their position in it: see `createRelation`. */
  withPlaces?: boolean;
  /** The only columns that matter, see `relationText`; default: all. */
  names?: ReadonlySet<string> | undefined;
};

export type Relations = {
  engine: Engine;
  /**
   * What a statement begins with that reads the sources without views; undefined where it takes views, and they are made.
   */
  text: StatementStart | undefined;
  /** Makes the views that `text` stands for. */
  makeViews(): Promise<void>;
  /** Turns an error of reading into DATA_FILE_MISSING where a file of the views is gone. */
  explain(error: unknown): Promise<unknown>;
  /** `isDone`: all that was asked was answered, and read or dropped. Default false. */
  close(how?: { isDone?: boolean }): Promise<void>;
};

/** `lists` by the names of the parameters that it takes them as. */
export type StatementStart = { sql: string; lists: Readonly<Record<string, readonly string[]>> };

export type Trust = "readers" | "any" | "strangers";

/**
 * `trust` is what is known of the statements that will run: "readers" change nothing beyond their own engine, "any" may, and
 * "strangers" can read the files of the views and nothing else. Rows that the table hides (`visibleRows`) are not in them. Default "readers", which may run in `engine`: it is closed with the relations.
 * With `asText` no view is made where none is needed, for a statement that is prepared first, or runs at once. DATA_FILE_MISSING, UNSUPPORTED_FEATURE.
 */
export async function openRelations(
  reading: Reading,
  sources: readonly Source[],
  options: {
    trust?: Trust;
    engine?: Engine | undefined;
    asText?: "prepared" | "at once" | undefined;
    signal: AbortSignal;
  },
): Promise<Relations> {
  const { trust = "readers", signal } = options;
  const held: DataFiles[] = [];
  let { engine } = options;
  let isUntouched = true;
  const close = async ({ isDone = false } = {}) => {
    if (isDone && isUntouched) engine?.release();
    else engine?.close();
    for (const data of held) await data.close();
  };
  try {
    for (const { store, adds, only } of sources) {
      const cache = store.localPath === undefined ? await reading.cache() : undefined;
      const data = await locateFiles(store, adds, cache, signal);
      held.push(
        only ? { ...data, files: data.files.map((file, at) => ({ ...file, only: only[at]! })) } : data,
      );
    }
    let use = engineUse(trust, held);
    if (use.kind === "read" && !reading.engines.mayRead(held.flatMap(({ files }) => files.map(fileOf)))) {
      use = { kind: "read once" };
      engine?.release();
      engine = undefined;
    }
    engine ??= await reading.engines.open(use);
    const open = engine;
    const makeViews = async () => {
      isUntouched = false;
      for (const [index, { view, table, withPlaces = false }] of sources.entries()) {
        const visible = visibleRows(table);
        const name = visible ? `${view} with deleted` : view;
        await createRelation(open, { name, table, data: held[index]!, withPlaces, signal });
        if (visible === undefined) continue;
        const seen = `SELECT * FROM ${quoteName(name)} WHERE ${visible.condition}`;
        await open.run(`CREATE OR REPLACE TEMP VIEW ${quoteName(view)} AS ${seen}`, { signal });
      }
    };
    const constantOf = (sql: string) => open.constant(sql, { signal });
    const text = options.asText ? await withText(sources, held, options.asText, constantOf) : undefined;
    if (text === undefined) await makeViews();
    return {
      engine,
      text,
      makeViews,
      async explain(error) {
        reading.engines.doubt();
        for (const data of held) {
          const found = await data.explain(error);
          if (found !== error) return found;
        }
        return error;
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Each source under its name; undefined where one of them is no mere text. DuckDB looks at the files of a statement when it is prepared and again
 * when it runs, but not at those of a parameter, which has no value before.
 */
async function withText(
  sources: readonly Source[],
  held: readonly DataFiles[],
  how: "prepared" | "at once",
  constantOf: (sql: string) => Promise<string>,
): Promise<StatementStart | undefined> {
  const texts: string[] = [];
  const lists: Record<string, readonly string[]> = {};
  for (const [index, { view, table, names }] of sources.entries()) {
    const visible = visibleRows(table);
    const needed = visible && names ? new Set([...names, visible.column]) : names;
    const asParameter = (paths: readonly string[]) => {
      lists[`lab_files_${index}`] = paths;
      return `$lab_files_${index}`;
    };
    const listOf = how === "prepared" ? asParameter : textList;
    const { files } = held[index]!;
    const text = await relationText({ table, files, names: needed, listOf, constantOf });
    if (text === undefined) return undefined;
    const seen = visible ? `SELECT * FROM (${text}) WHERE ${visible.condition}` : text;
    texts.push(`${quoteName(view)} AS NOT MATERIALIZED (${seen})`);
  }
  return { sql: texts.length === 0 ? "" : `WITH ${texts.join(", ")} `, lists };
}

const fileOf = ({ file }: ScanFile) => file;

function engineUse(trust: Trust, held: readonly DataFiles[]): EngineUse {
  switch (trust) {
    case "readers":
      return { kind: "read" };
    case "any":
      return { kind: "apart" };
    case "strangers":
      return { kind: "apart", paths: held.flatMap(allowedPathsOf) };
  }
}
