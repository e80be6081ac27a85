/** One question at a time: a newer one ends the older, and what comes too late is dropped. */

import { problemOf } from "./api.js";

/** @typedef {{ code: string, message: string, hint?: string, position?: number }} Problem */

/** `told` hears when asking begins, and how it ended. @param {(state: { isAsking: boolean, problem: Problem | null }) => void} told */
export function asking(told) {
  let controller = new AbortController();
  return {
    /** @template T @param {(signal: AbortSignal) => Promise<T>} ask @param {(answer: T) => void} took */
    async ask(ask, took) {
      controller.abort();
      controller = new AbortController();
      const { signal } = controller;
      told({ isAsking: true, problem: null });
      try {
        const answer = await ask(signal);
        if (signal.aborted) return;
        took(answer);
        told({ isAsking: false, problem: null });
      } catch (error) {
        if (!signal.aborted) told({ isAsking: false, problem: problemOf(error) });
      }
    },
    cancel() {
      controller.abort();
      told({ isAsking: false, problem: null });
    },
  };
}
