/** Rows taken out of files, or put in their place: copy-on-write over the files that hold some of them. */

import type { Add, Cdc, Remove } from "../delta/actions.ts";
import { isActive } from "../delta/protocol.ts";
import { checkRowsMayMove } from "../delta/row-tracking.ts";
import type { Snapshot } from "../delta/table.ts";
import { tombstoneOf } from "../delta/tombstone.ts";
import { quoteName } from "../engine/instance.ts";
import { CURRENT } from "../engine/row-expression.ts";
import { FILE_PLACE } from "../engine/scan.ts";
import { groupsOf, type Match } from "./matches.ts";
import type { Workbench } from "./workbench.ts";

export type Rewritten = { removes: Remove[]; adds: Add[]; cdcs: Cdc[]; copied: bigint };

/** What becomes of the rows that the condition takes; the others are copied as they are. */
export type Replacement = {
  /** True for the rows that are meant; never null. */
  condition: string;
  /** Instead of each such row: its columns as SQL, in schema order; null: nothing. */
  columns: readonly string[] | null;
};

/** Whether changed rows must be told in the change data feed. */
function hasChangeFeed({ protocol, metadata }: Snapshot): boolean {
  return isActive(protocol, metadata, "delta.enableChangeDataFeed", "changeDataFeed");
}

/**
 * Removes the files of `matches` and writes what is left of them, or has come of them. Where all rows go from each file nothing is read,
 * and the removes alone tell the change data feed; else the feed's files tell of every row (PROTOCOL.md, "Change Data Files"). Rows that
 * are put in place fulfil the table's constraints, or CONSTRAINT_VIOLATED.
 */
export async function rewrite(
  bench: Workbench,
  snapshot: Snapshot,
  matches: readonly Match[],
  { condition, columns }: Replacement,
  signal: AbortSignal,
): Promise<Rewritten> {
  const done: Rewritten = {
    removes: matches.map(({ add }) => tombstoneOf(add, { nowMs: bench.now(), dataChange: true })),
    adds: [],
    cdcs: [],
    copied: matches.reduce((sum, { hits, rows }) => sum + rows - hits, 0n),
  };
  const isWhole = (match: Match) => columns === null && match.hits === match.rows;
  if (matches.every(isWhole)) return done;
  checkRowsMayMove(snapshot);
  const withFeed = hasChangeFeed(snapshot);
  const names = snapshot.schema.fields.map((field) => quoteName(field.name));
  const kept = names.join(", ");
  const changed = columns?.map((sql, index) => `${sql} AS ${names[index]}`).join(", ");
  for (const group of groupsOf(
    matches.filter((match) => withFeed || !isWhole(match)),
    (match) => match.add,
  )) {
    await bench.view(
      CURRENT,
      snapshot,
      group.map((match) => match.add),
      signal,
    );
    const partial = group.flatMap((match, place) => (isWhole(match) ? [] : [place]));
    if (partial.length > 0) {
      const all =
        changed === undefined
          ? `SELECT ${kept} FROM ${CURRENT} WHERE NOT (${condition}) AND ${FILE_PLACE} IN (${partial.join(", ")})`
          : `SELECT ${names.map((name, i) => `CASE WHEN ${condition} THEN ${columns![i]} ELSE ${name} END AS ${name}`).join(", ")} FROM ${CURRENT}`;
      const fresh =
        changed === undefined ? {} : { fresh: `(SELECT ${changed} FROM ${CURRENT} WHERE ${condition})` };
      done.adds.push(...(await bench.write(snapshot, `(${all})`, { dataChange: true, ...fresh, signal })));
    }
    if (!withFeed) continue;
    const taken = (selected: string, type: string) =>
      `SELECT ${selected}, '${type}' AS _change_type FROM ${CURRENT} WHERE ${condition}`;
    const changes =
      changed === undefined
        ? taken(kept, "delete")
        : `${taken(kept, "update_preimage")} UNION ALL ${taken(changed, "update_postimage")}`;
    done.cdcs.push(...(await bench.writeChanges(snapshot, `(${changes})`, signal)));
  }
  return done;
}
