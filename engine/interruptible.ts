/** Statements that an abort ends. */

import type { DuckDBConnection } from "@duckdb/node-api";

const INTERRUPT_EVERY_MS = 20;

/**
 * Resolves or rejects as `work` does, which runs one statement or reads of its result; rejects with the signal's reason where that aborts before.
 * DuckDB forgets an interrupt that comes before the statement runs, as while it waits for a thread: so it is interrupted until it has ended.
 */
export async function interruptible<T>(
  connection: DuckDBConnection,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  let again: NodeJS.Timeout | undefined;
  const interrupt = () => {
    connection.interrupt();
    again = setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS);
  };
  signal?.addEventListener("abort", interrupt, { once: true });
  try {
    return await work();
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", interrupt);
    clearInterval(again);
  }
}
