/** Columns of whole numbers as they lie in memory: for results of millions of rows, which would take long to become values one by one. */

import { columnsOf } from "./column-chunks.ts";
import type { Engine } from "./instance.ts";
import { interruptible } from "./interruptible.ts";

/** A column each, of so many rows. Valid until the next chunk. */
export type NumberChunk = { rows: number; columns: readonly BigInt64Array[] };

/** The rows of one statement whose columns are all BIGINT. A NULL is any number: coalesce it. Read to its end before the next statement. */
export async function* numberChunks(
  engine: Engine,
  sql: string,
  signal: AbortSignal,
): AsyncGenerator<NumberChunk> {
  const duckdb = await import("./duckdb.ts");
  const { connection } = engine;
  // Materialized: a stream that fails in the middle ends without a word.
  const result = await interruptible(connection, signal, () => connection.run(sql));
  for (;;) {
    signal.throwIfAborted();
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return;
    const { rows, longs } = columnsOf(chunk, duckdb);
    yield { rows, columns: Array.from({ length: chunk.columnCount }, (_, index) => longs(index)) };
  }
}
