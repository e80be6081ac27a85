/** Letters that need not become rows: said, not deleted. */

import { choose, readChosen } from "./choice.ts";
import { type DeskOptions, openDesk } from "./desk.ts";
import type { LetterFilter } from "./filter.ts";
import { recordOutcomes } from "./outcomes.ts";
import { openRowTables } from "./promise.ts";
import type { LetterTables } from "./tables.ts";

export type DropOptions = DeskOptions & {
  /** Prefix of the txn ids. */
  app: string;
  filter: LetterFilter;
  isDryRun?: boolean;
  now?: () => number;
};

export type DropResult = {
  dropped: number;
  /** Whose rows are in the table, from a replay that was killed: they are replayed, and not dropped. */
  present: number;
};

export const DROP_OPERATION = "DLQ DROP";

export async function dropLetters(
  tables: LetterTables,
  options: DropOptions,
  signal: AbortSignal,
): Promise<DropResult> {
  const desk = await openDesk(tables, options);
  try {
    const { rows, letters } = await desk.look(signal);
    const { app, isDryRun = false } = options;
    const rowTables = rows ? await openRowTables(tables, rows, { app, isDryRun }, signal) : [];
    await choose(desk, options.filter, signal);
    const chosen = await readChosen(desk, rowTables, signal);
    const present = chosen.filter((one) => one.isInTable && one.state !== "replayed").map((one) => one.place);
    const dropped = chosen.filter((one) => one.isWanted && !one.isInTable).map((one) => one.place);
    if (!isDryRun) {
      const replayed = rows ? [{ version: rows.snapshot.version, places: present }] : [];
      const written = { nowMs: (options.now ?? Date.now)(), operation: DROP_OPERATION, signal };
      await recordOutcomes(desk, tables, letters, { replayed, dropped, bad: [] }, written);
    }
    return { dropped: dropped.length, present: present.length };
  } finally {
    await desk.close();
  }
}
