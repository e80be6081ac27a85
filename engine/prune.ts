/** Which live files of a version can hold rows that a predicate takes, by partition values first and then by statistics. */

import type { Add, PartitionValues } from "../delta/actions.ts";
import type { Snapshot } from "../delta/table.ts";
import {
  columnsOf,
  type Facts,
  NOTHING_KNOWN,
  needsStats,
  outcomesOf,
  type Predicate,
  type PruneColumn,
  TRUE,
} from "./prune-predicate.ts";
import { statsFacts, statsReader } from "./prune-stats.ts";
import { comparableOf } from "./prune-values.ts";

/** Rows of a file that a predicate takes. `all` rests on partition values only, never on statistics. */
export type Match = "none" | "some" | "all";

/**
 * The files that may hold such rows, one at a time, in the snapshot's order. Partition values are looked at once a partition, and statistics
 * are read only of files that they leave. What is unknown keeps its file.
 */
export function* matchingFiles(
  snapshot: Pick<Snapshot, "filesWhere">,
  predicate: Predicate,
): Generator<Add, void, undefined> {
  const mayMatch = statsMatcher(predicate);
  for (const add of snapshot.filesWhere((values) => mayMatchPartition(predicate, values))) {
    if (mayMatch(add)) yield add;
  }
}

/** What of one file a predicate takes. */
export function matchOfFile(predicate: Predicate, add: Add): Match {
  const ofPartition = matchOfPartition(predicate, add.partitionValues);
  return ofPartition === "some" && !statsMatcher(predicate)(add) ? "none" : ofPartition;
}

/** What of any file with these partition values a predicate takes. */
export function matchOfPartition(predicate: Predicate, values: PartitionValues): Match {
  const outcomes = outcomesOf(predicate, (column) =>
    column.isPartition ? partitionFacts(column, values) : NOTHING_KNOWN,
  );
  return outcomes === TRUE ? "all" : (outcomes & TRUE) === 0 ? "none" : "some";
}

export function mayMatchPartition(predicate: Predicate, values: PartitionValues): boolean {
  return matchOfPartition(predicate, values) !== "none";
}

/** Whether statistics leave it open that a file has such rows; what holds for its partition counts with it. */
function statsMatcher(predicate: Predicate): (add: Add) => boolean {
  if (!needsStats(predicate)) return () => true;
  const read = statsReader(columnsOf(predicate).filter((column) => !column.isPartition));
  return (add) => {
    const stats = read(add.stats);
    if (stats === undefined) return true;
    const outcomes = outcomesOf(predicate, (column) =>
      column.isPartition ? partitionFacts(column, add.partitionValues) : statsFacts(stats, column),
    );
    return (outcomes & TRUE) !== 0;
  };
}

/** One value, the same for all rows. A text that is no value of the type is for the scan to complain about. */
function partitionFacts(column: PruneColumn, values: PartitionValues): Facts {
  const text = values[column.path[0]!] ?? "";
  if (text === "") return { ...NOTHING_KNOWN, mayBeValue: false };
  const value = comparableOf(column.type, text);
  if (value === undefined) return NOTHING_KNOWN;
  return { mayBeNull: false, mayBeValue: true, mayBeNaN: false, min: value, max: value };
}
