/** Deletes rows: files that lose all of them are removed, the others are written again without them. */

import { sumKnownRows } from "../delta/file-totals.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { tombstoneOf } from "../delta/tombstone.ts";
import { UNCHANGED_ROWS } from "../delta/writer-duties.ts";
import { type Change, type ChangeResult, commitChange, NO_ROWS } from "./change.ts";
import { checkCondition } from "./condition.ts";
import { hitsOf, matchesOf } from "./matches.ts";
import { rewrite } from "./rewrite.ts";
import type { Workbench, WorkbenchOptions } from "./workbench.ts";

/**
 * Deletes the rows that `where`, SQL over the table's columns, takes: those for which it is true, not those for which it is unknown.
 * Without it all rows go, and no file is read. Decided anew where another writer changed the same files. APPEND_ONLY, SQL_ERROR, SQL_REFUSED,
 * DATA_FILE_MISSING, COMMIT_CONFLICT, UNSUPPORTED_FEATURE.
 */
export function deleteRows(
  table: Table,
  options: WorkbenchOptions & { where?: string; signal: AbortSignal },
): Promise<ChangeResult> {
  const { where, signal } = options;
  return commitChange(
    table,
    options,
    (bench, snapshot) =>
      where === undefined ? deleteAll(bench, snapshot) : deleteWhere(bench, snapshot, where, signal),
    signal,
  );
}

async function deleteAll(bench: Workbench, snapshot: Snapshot): Promise<Change | null> {
  const files = [...snapshot.files()];
  if (files.length === 0) return null;
  const removes = files.map((add) => tombstoneOf(add, { nowMs: bench.now(), dataChange: true }));
  // Statistics may not say it of a file that another engine wrote.
  const deleted = sumKnownRows(files);
  return {
    request: { operation: "DELETE", operationParameters: { predicate: "[]" }, removes, reads: "table" },
    counts: { ...NO_ROWS, deleted },
  };
}

async function deleteWhere(
  bench: Workbench,
  snapshot: Snapshot,
  where: string,
  signal: AbortSignal,
): Promise<Change | null> {
  const condition = await checkCondition(bench, snapshot, where, signal);
  const matches = await matchesOf(bench, snapshot, condition, signal);
  if (matches.length === 0) return null;
  const replacement = { condition: condition.sql, columns: null };
  const { copied, ...files } = await rewrite(bench, snapshot, matches, replacement, signal);
  return {
    request: {
      operation: "DELETE",
      operationParameters: { predicate: JSON.stringify([where]) },
      ...files,
      enforced: UNCHANGED_ROWS,
      reads: condition.reads,
    },
    counts: { ...NO_ROWS, deleted: hitsOf(matches), copied },
  };
}
