/** A table of changes for its readers: merged batch by batch, small files joined in between, and what each version's rows come to. */

import type { TestContext } from "node:test";
import type { Change } from "../../cdc/change.ts";
import type { NewTable } from "../../delta/create.ts";
import { type MergeTable, mergeTable, remove, upsert } from "./merge-table.ts";
import { seeded } from "./seeded.ts";
import { signal } from "./upkeep-table.ts";

/** Rows, and the sums of `id`, `v`, `id * v`. */
export type Totals = readonly [rows: number, ids: number, values: number, products: number];

/** Those of the rows that readers are meant to see, once `{deleted}` is replaced by how a reader names the mark. */
export const TOTALS = `SELECT count(*) AS n, sum(id) AS ids, sum(v) AS vs, sum(id * v) AS products FROM t
  WHERE NOT coalesce({deleted}, false)`;

export type MergedVersions = {
  one: MergeTable;
  /** The row of each key by now, deleted ones left out. */
  rows: ReadonlyMap<number, number>;
  /** By version, the newest last. */
  totals: ReadonlyMap<number, Totals>;
  /** One more batch. */
  batch(): Promise<void>;
};

const BATCHES = 13;
const KEYS = 400;

/** Columns `id`, `p` and `v`. Enough commits for a checkpoint; every fourth one joins small files. */
export async function mergedVersions(
  t: TestContext,
  options: Omit<NewTable, "schema">,
): Promise<MergedVersions> {
  const columns = { id: "long", p: "string", v: "long" } as const;
  const one = await mergeTable(t, columns, { ...options, merger: { compactEvery: 4 } });
  const rows = new Map<number, number>();
  const totals = new Map<number, Totals>();
  const random = seeded(7);
  const below = (n: number) => Math.floor(random() * n);
  let at = 0;

  async function batch(): Promise<void> {
    const changes = new Map<number, Change>();
    while (changes.size < 120) {
      const id = below(KEYS);
      if (changes.has(id)) continue;
      at++;
      if (below(4) === 0) {
        changes.set(id, remove({ id }, { at }));
        rows.delete(id);
      } else {
        changes.set(id, upsert({ id, p: "abc"[below(3)], v: at }, { at }));
        rows.set(id, at);
      }
    }
    await one.merge([...changes.values()]);
    const snapshot = await one.snapshot();
    await one.table.maintain(snapshot, signal);
    totals.set(snapshot.version, totalsOf(rows));
  }

  for (let n = 0; n < BATCHES; n++) await batch();
  return { one, rows, totals, batch };
}

export function totalsOf(rows: ReadonlyMap<number, number>): Totals {
  let [ids, values, products] = [0, 0, 0];
  for (const [id, v] of rows) {
    ids += id;
    values += v;
    products += id * v;
  }
  return [rows.size, ids, values, products];
}
