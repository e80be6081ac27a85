/** Applies folded changes to a keyed table, one commit a batch: the way from changes to a version. */

import { isDeepStrictEqual } from "node:util";
import type { Store } from "../../delta/store/store.ts";
import type { Table } from "../../delta/table.ts";
import type { ApplyChanges, MergeRequest } from "../apply.ts";
import { type ApplyOptions, applyUntilWon } from "./apply-once.ts";
import { type Aside, isAside, openAside } from "./aside.ts";
import { type CompactionOptions, createCompaction } from "./compaction.ts";
import { type MergeEngine, openMergeEngine } from "./merge-engine.ts";
import { createPurging } from "./purge.ts";

export type MergerOptions = ApplyOptions &
  CompactionOptions & {
    /** What the index of a table's keys may take of memory; without room for all of them they are read for each batch. */
    indexBytes: number;
    /** Told when that begins, with what the index would take. */
    onIndexOver: (bytes: number) => void;
    /** The store of the table of deleted keys beside this one; the merger closes it. */
    openAside: (table: Table) => Promise<Store>;
  };

export type Merger = { apply: ApplyChanges; close(): Promise<void> };

/** For one table at a time, whose keys it holds; another table begins anew. One batch at a time. Whoever opens it closes it. */
export function openMerger(options: MergerOptions): Merger {
  let engine: MergeEngine | undefined;
  let aside: Aside | undefined;
  const compaction = createCompaction(options);
  const old = createPurging(options.now);

  async function engineFor({ table, keyColumns }: MergeRequest): Promise<MergeEngine> {
    if (engine?.table === table && isDeepStrictEqual(engine.keyColumns, keyColumns)) return engine;
    await aside?.close();
    aside = undefined;
    await engine?.close();
    engine = undefined;
    engine = await openMergeEngine({ ...options, table, keyColumns });
    return engine;
  }

  function asideOf({ table, keyColumns }: MergeRequest): Aside {
    aside ??= openAside({ ...options, keyColumns, open: () => options.openAside(table) });
    return aside;
  }

  return {
    async apply(request) {
      const { table, signal, snapshot } = request;
      const { index, bench } = await engineFor(request);
      const aside = isAside(snapshot) ? asideOf(request) : null;
      const result = await applyUntilWon(request, { options, index, bench, old, aside });
      if (result.kind !== "committed") return result;
      return { ...result, snapshot: await compaction.after(table, result.snapshot, index, signal) };
    },
    async close() {
      await compaction.close();
      await aside?.close();
      await engine?.close();
    },
  };
}
