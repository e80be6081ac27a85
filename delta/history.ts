/** What each commit did, newest first, from the commit files that are still there. */

import type { Action, Add, CommitInfo, Remove } from "./actions.ts";
import { sumBytes, sumRows } from "./file-totals.ts";
import { readCommits } from "./load.ts";
import { listLog } from "./log-list.ts";
import type { Store } from "./store/store.ts";
import type { HistoryEntry, HistoryRange } from "./table.ts";
import { fileTimes } from "./time-travel.ts";

/** Commits read at once: newest first means in chunks from the end. */
const CHUNK = 32;

/** See `Table.history`. */
export async function* readHistory(
  store: Store,
  options: HistoryRange & { signal: AbortSignal },
): AsyncGenerator<HistoryEntry> {
  const { after = -1, before = Number.POSITIVE_INFINITY, limit = Number.POSITIVE_INFINITY, signal } = options;
  const { commits } = await listLog(store, 0, signal);
  const times = new Map(fileTimes(commits).map(({ version, timestampMs }) => [version, timestampMs]));
  const between = commits.filter(({ version }) => after < version && version < before);
  const wanted = between.slice(Math.max(0, between.length - limit));
  for (let end = wanted.length; end > 0; end -= CHUNK) {
    const entries: HistoryEntry[] = [];
    for await (const { version, actions } of readCommits(
      store,
      wanted.slice(Math.max(0, end - CHUNK), end),
      signal,
    )) {
      entries.push(historyEntry(version, actions, times.get(version)!));
    }
    yield* entries.reverse();
  }
}

/** One commit's line of history; `fileTimeMs` counts where the commit has no time of its own that is binding. */
export function historyEntry(version: number, actions: readonly Action[], fileTimeMs: number): HistoryEntry {
  const info = actions.find((action) => "commitInfo" in action)?.commitInfo;
  const adds = actions.flatMap((action) => ("add" in action ? [action.add] : []));
  const removes = actions.flatMap((action) => ("remove" in action ? [action.remove] : []));
  // A file that only lost rows to a deletion vector is removed and added again under its path.
  const [left, stayed] = [adds, removes].map((files) => new Set(files.map(({ path }) => path)));
  const fresh = adds.filter(({ path }) => !stayed!.has(path));
  const gone = removes.filter(({ path }) => !left!.has(path));
  const dataAdds = fresh.filter((add) => add.dataChange);
  const hasDataRemoves = removes.some((remove) => remove.dataChange);
  return {
    version,
    timestampMs: info?.inCommitTimestamp === undefined ? fileTimeMs : Number(info.inCommitTimestamp),
    operation: info?.operation ?? "UNKNOWN",
    rowsAdded: hasDataRemoves ? less(sumRows(dataAdds), copiedRows(info)) : sumRows(dataAdds),
    rowsRemoved: !hasDataRemoves
      ? 0n
      : gone.some((remove) => remove.dataChange)
        ? removedRows(info)
        : newlyMarked(adds, removes),
    filesAdded: adds.length,
    filesRemoved: removes.length,
    bytesAdded: sumBytes(fresh),
    bytesRemoved: gone.some(({ size }) => size === undefined)
      ? undefined
      : gone.reduce((sum, { size = 0 }) => sum + size, 0),
    hasMetadata: actions.some((action) => "metaData" in action),
    durationMs: number(metric(info, ["executionTimeMs", "execution_time_ms"])),
    commitInfo: info,
  };
}

/** Rows that deletion vectors took out of files that stayed: exact, also where a count of engines means something else by a row. */
function newlyMarked(adds: readonly Add[], removes: readonly Remove[]): bigint {
  const before = new Map(
    removes.map(({ path, deletionVector }) => [path, deletionVector?.cardinality ?? 0n]),
  );
  return adds.reduce((rows, { path, deletionVector }) => {
    const marked = before.get(path);
    return marked === undefined ? rows : rows + (deletionVector?.cardinality ?? 0n) - marked;
  }, 0n);
}

/** Rows that went or were replaced, by what engines tell of it; undefined where they do not. */
function removedRows(info: CommitInfo | undefined): bigint | undefined {
  const deleted = metric(info, [
    "numDeletedRows",
    "num_deleted_rows",
    "numRemovedRows",
    "numTargetRowsDeleted",
  ]);
  const updated = metric(info, ["numUpdatedRows", "num_updated_rows", "numTargetRowsUpdated"]);
  return deleted === undefined && updated === undefined ? undefined : (deleted ?? 0n) + (updated ?? 0n);
}

/** Rows that were written again as they were. */
function copiedRows(info: CommitInfo | undefined): bigint {
  return metric(info, ["numCopiedRows", "num_copied_rows", "numTargetRowsCopied"]) ?? 0n;
}

const number = (n: bigint | undefined): number | undefined => (n === undefined ? undefined : Number(n));

function less(rows: bigint | undefined, copied: bigint): bigint | undefined {
  return rows === undefined || rows < copied ? rows : rows - copied;
}

function metric(info: CommitInfo | undefined, names: readonly string[]): bigint | undefined {
  for (const name of names) {
    const value = info?.operationMetrics?.[name];
    if (/^\d+$/.test(String(value))) return BigInt(String(value));
  }
  return undefined;
}
