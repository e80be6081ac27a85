/** Applies folded changes to a keyed table, one commit a batch: the way from changes to a version. */

import { isDeepStrictEqual } from "node:util";
import { LabError } from "../../core/errors.ts";
import type { Snapshot } from "../../delta/table.ts";
import type { ApplyChanges, MergeRequest, MergeResult } from "../apply.ts";
import { type ApplyOptions, applyOnce } from "./apply-once.ts";
import { type CompactionOptions, createCompaction } from "./compaction.ts";
import { type MergeEngine, openMergeEngine } from "./merge-engine.ts";
import { createPurging } from "./purge.ts";

export type MergerOptions = ApplyOptions &
  CompactionOptions & {
    /** What the index of a table's keys may take of memory; without room for all of them they are read for each batch. */
    indexBytes: number;
    /** Told when that begins, with what the index would take. */
    onIndexOver: (bytes: number) => void;
  };

export type Merger = { apply: ApplyChanges; close(): Promise<void> };

/** Decisions before it gives up: each lost to a writer that changed the same rows. */
const MOST_DECISIONS = 20;

/** For one table at a time, whose keys it holds; another table begins anew. One batch at a time. Whoever opens it closes it. */
export function openMerger(options: MergerOptions): Merger {
  let engine: MergeEngine | undefined;
  const compaction = createCompaction(options);
  const old = createPurging(options.now);

  async function engineFor({ table, keyColumns }: MergeRequest): Promise<MergeEngine> {
    if (engine?.table === table && isDeepStrictEqual(engine.keyColumns, keyColumns)) return engine;
    await engine?.close();
    engine = undefined;
    engine = await openMergeEngine({ ...options, table, keyColumns });
    return engine;
  }

  return {
    async apply(request) {
      const { table, signal, snapshot } = request;
      const { index } = await engineFor(request);
      let base = snapshot;
      for (let decisions = 1; decisions <= MOST_DECISIONS; decisions++) {
        const result = await applyOnce({ ...request, snapshot: base }, { options, index, old });
        if (result.kind !== "lost") {
          if (result.kind === "committed") {
            const tidied = await compaction(table, result.snapshot, signal);
            return { ...result, snapshot: tidied };
          }
          return result;
        }
        base = await table.latest(signal);
        const moved = voids(request, base);
        if (moved) return moved;
      }
      throw new LabError(
        "COMMIT_CONFLICT",
        `other writers changed the same rows ${MOST_DECISIONS} times, up to version ${base.version}`,
        { hint: "try again when the other writer has finished", details: { root: table.store.root } },
      );
    },
    async close() {
      await engine?.close();
    },
  };
}

/** What others did since `request` was made that no new decision mends. */
function voids(request: MergeRequest, now: Snapshot): Extract<MergeResult, { kind: "conflict" }> | undefined {
  const { snapshot, txns, readTxns } = request;
  for (const appId of [...txns.map((txn) => txn.appId), ...readTxns])
    if (now.txn(appId) !== snapshot.txn(appId))
      return { kind: "conflict", reason: "txn", message: `transaction ${appId} was moved by another writer` };
  if (isDeepStrictEqual(now.metadata, snapshot.metadata)) return undefined;
  return { kind: "conflict", reason: "metadata", message: "the table's schema or properties changed" };
}
