/** The versions of the chosen table, kept up to date by asking only for newer ones. */

import { getJson, problemOf } from "./api.js";

/** The most that one answer has. */
const MOST_VERSIONS = 10_000;
/** So many are there at once; all of a long history take a moment. */
const FIRST_VERSIONS = 400;
const RETRY_MS = 3_000;

/** @typedef {import("../tables.ts").VersionEntry} VersionEntry */

/** @param {string} table @param {Readonly<Record<string, number>>} range @param {AbortSignal} signal @returns {Promise<VersionEntry[]>} newest first */
const ask = (table, range, signal) => {
  const asked = new URLSearchParams(Object.entries(range).map(([name, value]) => [name, String(value)]));
  return getJson(`/api/tables/${encodeURIComponent(table)}/history?${asked}`, signal);
};

/** @param {(history: import("./state.js").History) => void} onChange @param {typeof ask} load */
export function historyKeeper(onChange, load = ask) {
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
      const [oldest, newest] = [entries[0]?.version, entries.at(-1)?.version ?? -1];
      const isBehind = newest < target;
      if (isLoaded && !isBehind) break;
      // What is new goes before what is old.
      const asked =
        oldest === undefined
          ? { limit: FIRST_VERSIONS }
          : { limit: MOST_VERSIONS, ...(isBehind ? { after: newest } : { before: oldest }) };
      try {
        const found = (await load(history.table, asked, signal)).reverse();
        const isAll = found.length < asked.limit;
        if (!isBehind) change({ entries: [...found, ...entries], isLoaded: isAll, problem: null });
        else {
          // After a long sleep more may be new than one answer has.
          const known = isAll || found[0]?.version === newest + 1 ? entries : [];
          const isWhole = known.length === 0 ? isAll : isLoaded;
          change({ entries: [...known, ...found], isLoaded: isWhole, problem: null });
          // What the log does not show yet is asked for when somebody tells of it again.
          if (found.length === 0) target = newest;
        }
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
