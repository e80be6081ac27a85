/** The way in for everybody who asks tables in SQL: opened once, asked often. */

import { join } from "node:path";
import { cacheFolder } from "../core/cache-folder.ts";
import { type FileCache, openFileCache } from "../engine/file-cache.ts";
import { type Catalog, openCatalog } from "./catalog.ts";
import { openEngines, type QueryLimits, usualLimits } from "./engines.ts";
import { knownForms } from "./known-forms.ts";
import type { AskedPoint } from "./resolve.ts";
import { answer, type QueryAnswer, type QueryContext, type RunningQuery, startQuery } from "./run.ts";

export type QueryOptions = {
  /** Where tables are looked up by name: a folder or `s3://bucket/prefix`. */
  store: string;
  /** Further tables: name to path or URI. */
  tables?: ReadonlyMap<string, string>;
  /** Default: `usualLimits`. */
  limits?: Partial<QueryLimits>;
  /** Files of remote tables; default below the user's cache folder, up to 5 GiB. */
  cache?: { folder: string; maxBytes: number };
};

export type Query = {
  readonly catalog: Catalog;
  /** Starts a query whose rows are read as they come; the caller closes it. Errors: see `startQuery`. */
  start(sql: string, options: { point?: AskedPoint | undefined; signal: AbortSignal }): Promise<RunningQuery>;
  /** Runs a query to its end and gathers its rows as JSON cells; `maxRows` default: all. */
  query(
    sql: string,
    options: { point?: AskedPoint | undefined; maxRows?: number; signal: AbortSignal },
  ): Promise<QueryAnswer>;
  readonly context: QueryContext;
  close(): Promise<void>;
};

const GIB = 1024 ** 3;

/** Asks for nothing yet: a store that does not exist shows at the first query. */
export function openQuery(options: QueryOptions): Query {
  const catalog = openCatalog({ root: options.store, ...(options.tables ? { tables: options.tables } : {}) });
  const where = options.cache ?? { folder: join(cacheFolder(), "data-files"), maxBytes: 5 * GIB };
  let cache: Promise<FileCache> | undefined;
  const limits = { ...usualLimits(), ...options.limits };
  const context: QueryContext = {
    catalog,
    engines: openEngines(limits),
    forms: knownForms(),
    cache: () => {
      cache ??= openFileCache(where);
      return cache;
    },
  };
  return {
    catalog,
    context,
    start: (sql, asked) => startQuery(context, sql, asked),
    query: (sql, { maxRows = Number.POSITIVE_INFINITY, ...asked }) =>
      answer(context, sql, { ...asked, maxRows, maxBytes: Number.POSITIVE_INFINITY }),
    async close() {
      context.engines.close();
      await catalog.close();
      await (await cache)?.close();
    },
  };
}
