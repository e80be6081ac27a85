/** Which live files of a version can hold rows that a predicate takes, by partition values first and then by statistics. */

import type { Add, PartitionValues } from "../delta/actions.ts";
import type { Snapshot } from "../delta/table.ts";
import { boundsFilters } from "./prune-bounds.ts";
import {
  columnsOf,
  type Facts,
  NOTHING_KNOWN,
  outcomesOf,
  type Predicate,
  type PruneColumn,
  TRUE,
} from "./prune-predicate.ts";
import { quickStatsReader, statsFacts } from "./prune-stats.ts";
import { type Comparable, comparableOf } from "./prune-values.ts";

/** Rows of a file that a predicate takes. `all` rests on partition values only, never on statistics. */
export type Match = "none" | "some" | "all";

/** Floats of one predicate that are looked at both as numbers and as NaN. */
const MAX_FLOATS = 4;
const ONLY_NAN = only(Number.NaN);
const ONLY_NULL: Facts = { ...NOTHING_KNOWN, mayBeValue: false };

/**
 * The files that may hold such rows, one at a time, in the snapshot's order. Partition values are looked at once a partition, and statistics
 * are read only of files that they leave. What is unknown keeps its file.
 */
export function matchingFiles(snapshot: Pick<Snapshot, "filesWhere">, predicate: Predicate): Iterable<Add> {
  const ofPartition = (values: PartitionValues) => mayMatchPartition(predicate, values);
  const isOfPartitions = columnsOf(predicate).some(({ isPartition }) => isPartition);
  // Of a condition that asks nothing of partitions all are left, or none.
  const mayBeAll = !isOfPartitions && mayMatchPartition(predicate, {});
  return snapshot.filesWhere(
    mayBeAll ? undefined : ofPartition,
    statsMatcher(predicate),
    boundsFilters(predicate),
  );
}

/** What of one file a predicate takes. */
export function matchOfFile(predicate: Predicate, add: Add): Match {
  const ofPartition = matchOfPartition(predicate, add.partitionValues);
  if (ofPartition !== "some") return ofPartition;
  return (statsMatcher(predicate)?.(add.stats, add.partitionValues) ?? true) ? "some" : "none";
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
function statsMatcher(
  predicate: Predicate,
): ((stats: string | undefined, values: PartitionValues) => boolean) | undefined {
  const mentions = columnsOf(predicate).filter((column) => !column.isPartition);
  if (mentions.length === 0) return undefined;
  const places = placesOf(mentions);
  const columns = distinctOf(mentions, places);
  const read = quickStatsReader(columns);
  const cases = casesOf(columns);
  return (stats, values) => {
    const found = read(stats);
    if (found === undefined) return true;
    const facts = columns.map((column, place) => statsFacts(found[place]!, column));
    return cases.some((assumed) => {
      const factsOf = (column: PruneColumn) => {
        if (column.isPartition) return partitionFacts(column, values);
        const place = places.get(column)!;
        return assumed[place] ?? facts[place]!;
      };
      return (outcomesOf(predicate, factsOf) & TRUE) !== 0;
    });
  };
}

/**
 * What is assumed of each column beside its statistics. The rows of a file may have NaN where statistics tell of numbers, so floats are
 * looked at both ways: row by row a column is one or the other. With many of them that would be too many ways, and nothing is known of them.
 */
function casesOf(columns: readonly PruneColumn[]): (Facts | undefined)[][] {
  const isFloat = columns.map(({ type }) => type === "float" || type === "double");
  const count = isFloat.filter(Boolean).length;
  if (count > MAX_FLOATS) return [isFloat.map((is) => (is ? NOTHING_KNOWN : undefined))];
  return Array.from({ length: 2 ** count }, (_, chosen) => {
    let bit = 1;
    return isFloat.map((is) => {
      if (!is) return undefined;
      const isChosen = (chosen & bit) !== 0;
      bit *= 2;
      return isChosen ? ONLY_NAN : undefined;
    });
  });
}

/** Numbers from 0, one for each column, whatever number of times it is mentioned. */
function placesOf(mentions: readonly PruneColumn[]): Map<PruneColumn, number> {
  const names = mentions.map(({ path }) => JSON.stringify(path));
  const distinct = [...new Set(names)];
  return new Map(mentions.map((column, index) => [column, distinct.indexOf(names[index]!)]));
}

function distinctOf(
  mentions: readonly PruneColumn[],
  places: ReadonlyMap<PruneColumn, number>,
): PruneColumn[] {
  const columns: PruneColumn[] = [];
  for (const column of mentions) columns[places.get(column)!] = column;
  return columns;
}

/** By type and name. A table holds the values of a partition once for all of its files, which are asked for by one query after the other. */
const knownFacts = new WeakMap<PartitionValues, Map<string, Facts>>();

function partitionFacts({ path: [name = ""], type }: PruneColumn, values: PartitionValues): Facts {
  const key = `${type} ${name}`;
  let known = knownFacts.get(values);
  if (known === undefined) {
    known = new Map();
    knownFacts.set(values, known);
  }
  const facts = known.get(key) ?? factsOfText(type, values[name] ?? "");
  known.set(key, facts);
  return facts;
}

/** One value, the same for all rows. A text that is no value of the type is for the scan to complain about. */
function factsOfText(type: PruneColumn["type"], text: string): Facts {
  if (text === "") return ONLY_NULL;
  const value = comparableOf(type, text);
  return value === undefined ? NOTHING_KNOWN : only(value);
}

function only(value: Comparable): Facts {
  return { mayBeNull: false, mayBeValue: true, min: value, max: value };
}
