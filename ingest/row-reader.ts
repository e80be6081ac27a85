/** The questions the ingester asks of rows that are already in a table. The answer comes from the engine. */

import type { WrittenRow } from "../engine/written.ts";
import type { Opened } from "./destination.ts";

type Where = { topic: string; partition: number; signal: AbortSignal };

export type RowReader = {
  /** Are there rows of this partition, whoever wrote them? False on a table without `_kafka`. */
  hasRowsOf(rows: Opened, where: Where): Promise<boolean>;
  /** A topic other than this that rows say they are of, whatever wrote them; null where none does, or no column tells. */
  otherTopic(rows: Opened, where: Omit<Where, "partition">): Promise<string | null>;
  /** Rows of this partition from offset `from` (inclusive) on, of a generation of the topic. */
  rowsFrom(rows: Opened, where: Where & { from: bigint; generation: number }): Promise<WrittenRow[]>;
  /** Dead letters of this partition from offset `from` (inclusive) on, as `verdictKey` names their records. */
  letteredRecords(letters: Opened, where: Where & { from: bigint }): Promise<Set<string>>;
};
