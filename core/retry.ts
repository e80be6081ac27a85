/** Waiting that can be given up: sleep, and retry of outages with growing pauses. */

import { setTimeout as delay } from "node:timers/promises";
import { isLabError } from "./errors.ts";

/** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

export type RetryOptions = {
  signal: AbortSignal;
  /** Pause before the second attempt, in ms; doubles up to `maxMs`. */
  firstMs?: number;
  maxMs?: number;
  /** Give up and rethrow once this many ms have passed since the first attempt; absent: never. */
  deadlineMs?: number;
  /** Which failures are worth another attempt; default: LabErrors marked retryable. */
  isRetryable?: (error: unknown) => boolean;
  /** Told of each failed attempt before the pause. */
  onFailure?: (error: unknown, attempt: number, pauseMs: number) => void;
  /** Number in [0, 1) that spreads the pauses of many workers. */
  random?: () => number;
  now?: () => number;
};

/** Runs `attempt` until it succeeds, fails for good, the deadline passes, or the signal aborts. */
export async function retry<T>(attempt: (n: number) => Promise<T>, options: RetryOptions): Promise<T> {
  const { signal, firstMs = 100, maxMs = 10_000, deadlineMs, onFailure } = options;
  const isRetryable = options.isRetryable ?? ((error) => isLabError(error) && error.retryable);
  const random = options.random ?? Math.random;
  const now = options.now ?? Date.now;
  const startedAt = now();
  for (let n = 1; ; n++) {
    signal.throwIfAborted();
    try {
      return await attempt(n);
    } catch (error) {
      signal.throwIfAborted();
      const pauseMs = Math.min(maxMs, firstMs * 2 ** Math.min(n - 1, 20)) * (0.5 + random() / 2);
      const isLate = deadlineMs !== undefined && now() - startedAt + pauseMs > deadlineMs;
      if (isLate || !isRetryable(error)) throw error;
      onFailure?.(error, n, pauseMs);
      await sleep(pauseMs, signal);
    }
  }
}
