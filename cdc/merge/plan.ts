/** What a batch comes to, row by row, before anything is written. Pure. */

import type { Change } from "../change.ts";
import type { Effect } from "./decide.ts";
import type { Located } from "./key-index.ts";

/** A row that is written: of the staged row `at`, or the stored one where `isFill`, with `columns` of the other one. */
export type NewRow = {
  at: number;
  change: Change;
  stored: Located | undefined;
  isFill: boolean;
  columns: readonly string[];
  missing: readonly string[];
  /** The position is the stored row's: the change has none. */
  keepsPosition: boolean;
  effect: Effect;
};

export type Plan = {
  rows: readonly NewRow[];
  /** Stored rows that are no more, those that a new one takes the place of included. */
  retired: readonly Located[];
  /** Those that a truncate or a delete took, without a new row in their place. */
  truncated: readonly Located[];
  /** Deletes that are kept beside the table, and how many rows that readers saw they took. */
  aside: { changes: readonly Change[]; removed: number };
  /** How many of these a snapshot took, of those that readers saw. */
  swept: number;
  /** Rows that were put in an order with a change, or with the end of a snapshot, that nothing proves. */
  uncertain: number;
};

/** Whether each staged row is written as it stands. */
export function isAsStaged(plan: Plan, staged: number): boolean {
  return plan.rows.length === staged && plan.rows.every((row) => !isMixed(row));
}

/** Whether a new row takes something of the stored one. */
export function isMixed({ isFill, columns, keepsPosition }: NewRow): boolean {
  return isFill || keepsPosition || columns.length > 0;
}

/** Stored rows that new ones take something of. */
export function sourcesOf(plan: Plan): Located[] {
  return plan.rows.flatMap((row) => (row.stored !== undefined && isMixed(row) ? [row.stored] : []));
}
