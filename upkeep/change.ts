/** A change of rows from decision to version: decided on the newest snapshot, anew whenever another writer was first with what it read. */

import { LabError } from "../core/errors.ts";
import { checkRequest } from "../delta/commit-actions.ts";
import { checkWritable, isActive } from "../delta/protocol.ts";
import type { CommitRequest, Snapshot, Table } from "../delta/table.ts";
import { explainExpression } from "./engine-failure.ts";
import { openWorkbench, type Workbench, type WorkbenchOptions } from "./workbench.ts";

/** Rows and files that a change touched. `copied` rows stand in a rewritten file as they were. */
export type ChangeCounts = {
  deleted: bigint;
  updated: bigint;
  inserted: bigint;
  copied: bigint;
};

/** What a change did. `version` is null where there was nothing to do. */
export type ChangeResult = ChangeCounts & {
  version: number | null;
  filesAdded: number;
  filesRemoved: number;
  /** Decisions it took: more than one where other writers changed what was read. */
  decisions: number;
};

export type Change = {
  request: Omit<CommitRequest, "readSnapshot" | "operationMetrics">;
  counts: ChangeCounts;
};

export const NO_ROWS: ChangeCounts = { deleted: 0n, updated: 0n, inserted: 0n, copied: 0n };

/** Decisions before a change gives up: each loses to a writer that changed the same rows. */
const MOST_DECISIONS = 20;

/**
 * Commits what `decide` makes of the newest snapshot; null says that nothing is to be done. COMMIT_CONFLICT after many lost decisions.
 * Files of a lost decision are removed; nothing is removed where it is not known whether the commit stands.
 */
export async function commitChange(
  table: Table,
  options: WorkbenchOptions,
  decide: (bench: Workbench, snapshot: Snapshot) => Promise<Change | null>,
  signal: AbortSignal,
): Promise<ChangeResult> {
  const bench = await openWorkbench(table, options);
  try {
    let reason = "";
    for (let decisions = 1; decisions <= MOST_DECISIONS; decisions++) {
      const startedMs = bench.now();
      const readSnapshot = await table.latest(signal);
      checkChangeable(readSnapshot);
      const decided = await bench.attempt(async () => {
        const change = await decide(bench, readSnapshot).catch((error) => {
          throw explainExpression(error);
        });
        if (change === null) return null;
        const operationMetrics = metricsOf(change, bench.now() - startedMs);
        const request = { ...change.request, readSnapshot, operationMetrics };
        // The commit asks the same, but after a failed commit nobody knows whether its files may go.
        checkRequest(request, readSnapshot, table.store.root);
        return { request, counts: change.counts };
      }, signal);
      if (decided === null) return { ...NO_ROWS, version: null, filesAdded: 0, filesRemoved: 0, decisions };
      const { request, counts } = decided;
      const result = await table.commit(request, signal);
      if (result.kind === "committed") {
        bench.settle();
        return {
          ...counts,
          version: result.version,
          filesAdded: request.adds?.length ?? 0,
          filesRemoved: request.removes?.length ?? 0,
          decisions,
        };
      }
      reason = `version ${result.version}: ${result.message}`;
      await bench.discard(signal);
    }
    throw new LabError(
      "COMMIT_CONFLICT",
      `other writers changed the same rows ${MOST_DECISIONS} times, last in ${reason}`,
      { hint: "try again when the other writer has finished", details: { root: table.store.root } },
    );
  } finally {
    await bench.close();
  }
}

/** Said before any file is written: UNSUPPORTED_FEATURE, APPEND_ONLY. */
function checkChangeable({ protocol, metadata }: Snapshot): void {
  checkWritable(protocol, metadata);
  if (isActive(protocol, metadata, "delta.appendOnly", "appendOnly"))
    throw new LabError("APPEND_ONLY", "the table has delta.appendOnly = true: rows cannot be changed", {
      hint: "set delta.appendOnly to false first, if that is meant",
    });
}

/** The counts as engines write them into `operationMetrics`, for `history`. */
function metricsOf({ request, counts }: Change, elapsedMs: number): Record<string, string> {
  const bytes = (request.adds ?? []).reduce((sum, add) => sum + add.size, 0);
  return {
    numDeletedRows: String(counts.deleted),
    numUpdatedRows: String(counts.updated),
    numInsertedRows: String(counts.inserted),
    numCopiedRows: String(counts.copied),
    numAddedFiles: String(request.adds?.length ?? 0),
    numRemovedFiles: String(request.removes?.length ?? 0),
    numAddedChangeFiles: String(request.cdcs?.length ?? 0),
    numOutputBytes: String(bytes),
    executionTimeMs: String(Math.round(elapsedMs)),
  };
}
