/** Which files hold rows that a condition takes, and how many of them: what delete, update and overwrite decide on. */

import type { Add } from "../delta/actions.ts";
import { rowsOf } from "../delta/file-totals.ts";
import type { Snapshot } from "../delta/table.ts";
import { CURRENT } from "../engine/row-expression.ts";
import { FILE_PLACE } from "../engine/scan.ts";
import { partitionKey } from "./bins.ts";
import type { Condition } from "./condition.ts";
import type { Workbench } from "./workbench.ts";

/** A live file with `hits` rows that the condition takes, of `rows` live ones. */
export type Match = { add: Add; hits: bigint; rows: bigint };

/** Bytes of data files that are looked at or rewritten at once: what an engine of half a gigabyte reads with ease. */
const GROUP_BYTES = 128 * 1024 * 1024;
const GROUP_FILES = 1000;

/** Files in groups of bounded size, those of one partition side by side. */
export function groupsOf<T>(items: readonly T[], addOf: (item: T) => Add): T[][] {
  const sorted = items
    .map((item) => ({ item, key: partitionKey(addOf(item)) }))
    .sort((a, b) => compare(a.key, b.key));
  const groups: T[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const { item } of sorted) {
    const { size } = addOf(item);
    if (bytes + size > GROUP_BYTES || groups.at(-1)!.length >= GROUP_FILES) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)!.push(item);
    bytes += size;
  }
  return groups;
}

/**
 * The live files with at least one row that `condition` takes. Those of which partition values and statistics say it all are not read; the
 * rows of each group of others stand in view `current` meanwhile.
 */
export async function matchesOf(
  bench: Workbench,
  snapshot: Snapshot,
  condition: Pick<Condition, "sql" | "files" | "takesAll">,
  signal: AbortSignal,
): Promise<Match[]> {
  const matches: Match[] = [];
  const open: Add[] = [];
  for (const add of condition.files) {
    const rows = condition.takesAll(add) ? rowsOf(add) : undefined;
    if (rows === undefined) open.push(add);
    else matches.push({ add, hits: rows, rows });
  }
  for (const group of groupsOf(open, (add) => add)) {
    await bench.view(CURRENT, snapshot, group, signal);
    const found = await bench.engine.rows(
      `SELECT ${FILE_PLACE} AS place, count(*) FILTER (WHERE ${condition.sql}) AS hits, count(*) AS rows
       FROM ${CURRENT} GROUP BY ${FILE_PLACE} HAVING hits > 0`,
      { signal },
    );
    for (const { place, hits, rows } of found)
      matches.push({ add: group[Number(place)]!, hits: hits as bigint, rows: rows as bigint });
  }
  return matches;
}

/** Rows that the condition takes in all. */
export function hitsOf(matches: readonly Match[]): bigint {
  return matches.reduce((sum, { hits }) => sum + hits, 0n);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
