/** A result that is not waited for longer than so long. */

import { setTimeout as delay } from "node:timers/promises";

/** The result, or "late" once `limitMs` have passed; what comes after that is nobody's, a failure included. */
export async function within<T>(limitMs: number, result: Promise<T>): Promise<T | "late"> {
  const timer = new AbortController();
  const late = delay(limitMs, "late" as const, { signal: timer.signal });
  late.catch(() => {});
  result.catch(() => {});
  try {
    return await Promise.race([result, late]);
  } finally {
    timer.abort();
  }
}
