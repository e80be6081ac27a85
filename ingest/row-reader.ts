/** The two questions the ingester asks of rows that are already in a table. The answer comes from the engine. */

import type { Opened } from "./destination.ts";

type Where = { topic: string; partition: number; signal: AbortSignal };

export type RowReader = {
  /** Are there rows of this partition, whoever wrote them? False on a table without `_kafka`. */
  hasRowsOf(rows: Opened, where: Where): Promise<boolean>;
  /** Dead letters of this partition from offset `from` (inclusive) on, as `recordKey` names their records. */
  letteredRecords(letters: Opened, where: Where & { from: bigint }): Promise<Set<string>>;
};
