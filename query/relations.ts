/** An engine in which chosen files of tables stand as views: what every reader of rows builds on. */

import type { Add } from "../delta/actions.ts";
import type { Store } from "../delta/store/store.ts";
import { locateFiles } from "../engine/data-files.ts";
import type { FileCache } from "../engine/file-cache.ts";
import type { Engine } from "../engine/instance.ts";
import { allowedPathsOf, createRelation, type DataFiles, type RelationOptions } from "../engine/scan.ts";
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
};

export type Relations = {
  engine: Engine;
  /** Turns an error of reading into DATA_FILE_MISSING where a file of the views is gone. */
  explain(error: unknown): Promise<unknown>;
  close(): Promise<void>;
};

export type Trust = "readers" | "any" | "strangers";

/**
 * `trust` is what is known of the statements that will run: "readers" change nothing beyond their own engine, "any" may, and
 * "strangers" can read the files of the views and nothing else. Default "readers". DATA_FILE_MISSING, UNSUPPORTED_FEATURE.
 */
export async function openRelations(
  reading: Reading,
  sources: readonly Source[],
  options: { trust?: Trust; signal: AbortSignal },
): Promise<Relations> {
  const { signal } = options;
  const held: DataFiles[] = [];
  let engine: Engine | undefined;
  const close = async () => {
    engine?.close();
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
    engine = await reading.engines.open(engineUse(options.trust ?? "readers", held));
    for (const [index, { view, table, withPlaces = false }] of sources.entries()) {
      await createRelation(engine, { name: view, table, data: held[index]!, withPlaces, signal });
    }
    return {
      engine,
      async explain(error) {
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
