/** The versions of the chosen table, kept up to date by asking only for newer ones. */

import { getJson, problemOf } from "./api.js";

const MOST_VERSIONS = 10_000;
/** So many are there at once; all of a long history take a moment. */
const FIRST_VERSIONS = 400;
const RETRY_MS = 3_000;

/** @param {(history: import("./state.js").History) => void} onChange */
export function historyKeeper(onChange) {
  /** @type {import("./state.js").History | null} */
  let history = null;
  /** The newest version somebody told us of. */
  let target = -1;
  let isBusy = false;
  let controller = new AbortController();

  /** @param {Partial<import("./state.js").History>} patch */
  const change = (patch) => {
    if (history === null) return;
    history = { ...history, ...patch };
    onChange(history);
  };
  const catchUp = async () => {
    const { signal } = controller;
    while (history !== null && !signal.aborted) {
      const { isLoaded, entries } = history;
      const newest = entries.at(-1)?.version ?? -1;
      if (isLoaded && newest >= target) break;
      const isFirst = entries.length === 0;
      const range = `limit=${isFirst ? FIRST_VERSIONS : MOST_VERSIONS}${isLoaded ? `&after=${newest}` : ""}`;
      try {
        const found = await getJson(
          `/api/tables/${encodeURIComponent(history.table)}/history?${range}`,
          signal,
        );
        const known = isLoaded ? entries : [];
        const isWhole = !isFirst || found.length < FIRST_VERSIONS;
        change({ entries: [...known, ...found.reverse()], isLoaded: isLoaded || isWhole, problem: null });
        if (found.length === 0) break;
      } catch (error) {
        if (signal.aborted) return;
        change({ problem: problemOf(error) });
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
    if (!signal.aborted) isBusy = false;
  };

  return {
    /**
     * Follows this table up to `latest`. Another table, or the same name with another id, starts anew.
     * @param {string} table @param {string | null} id @param {number} latest
     */
    follow(table, id, latest) {
      if (history?.table !== table || history.id !== id) {
        controller.abort();
        controller = new AbortController();
        isBusy = false;
        history = { table, id, entries: [], isLoaded: false, problem: null };
        onChange(history);
        target = latest;
      }
      target = Math.max(target, latest);
      if (isBusy) return;
      isBusy = true;
      void catchUp();
    },
  };
}
