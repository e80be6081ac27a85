/** What the commands that read tables have in common. */

import { integer, list, named, pair } from "../core/setting-kinds.ts";
import { SETTINGS, setting } from "../core/settings.ts";
import { openQuery, type Query } from "../query/query.ts";

export const ASK = {
  store: SETTINGS.store,
} as const;

export const VERSION = setting<number | undefined>({
  flag: "--version",
  env: "LAB_TABLE_VERSION",
  kind: { ...integer(0), placeholder: "n" },
  default: undefined,
  description: "the table as it was at this version",
});

export const NAMED_TABLES = setting<[name: string, uri: string][]>({
  flag: "--table",
  env: "LAB_QUERY_TABLES",
  kind: { ...list(pair), placeholder: "name=uri" },
  default: [],
  description: "a table that is not in the store, under a name; may be repeated",
});

export const AT = setting<string | undefined>({
  flag: "--at",
  kind: named("time"),
  default: undefined,
  description: "the table as it was at this time: 2026-11-29T20:15:03Z, UTC without a zone",
});

/** Opens what a command asks tables through, and closes it whatever happens. */
export async function withQuery<T>(
  values: { store: string; tables?: readonly [string, string][] },
  work: (query: Query) => Promise<T>,
): Promise<T> {
  const query = openQuery({ store: values.store, tables: new Map(values.tables ?? []) });
  try {
    return await work(query);
  } finally {
    await query.close();
  }
}
