/** Waits for a condition, with a deadline and a word on what was last seen. */

import { setTimeout as delay } from "node:timers/promises";

/** Polls `look` until it gives something other than undefined, null or false. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  options: { deadlineMs?: number; everyMs?: number } = {},
): Promise<T> {
  const { deadlineMs = 30_000, everyMs = 100 } = options;
  const end = Date.now() + deadlineMs;
  let last: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen !== undefined && seen !== null && seen !== false) return seen;
      last = seen;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`waited ${deadlineMs} ms for ${what}; last seen: ${String(last)}`);
    await delay(everyMs);
  }
}
