/** What the page knows, in one object, and who is told when it changes. */

import { parseAddress } from "./address.js";

/**
 * @typedef {import("./address.js").Route} Route
 * @typedef {import("../tables.ts").Problem} Problem
 * @typedef {import("../tables.ts").ResultSet} ResultSet
 * @typedef {import("../tables.ts").VersionEntry} VersionEntry
 * @typedef {import("../tables.ts").VersionDetail & { preview: ResultSet | { problem: Problem } }} Detail
 * @typedef {{ table: string, id: string | null, entries: readonly VersionEntry[], isLoaded: boolean, problem: Problem | null }} History
 *   Entries oldest first; until it `isLoaded`, only the newest of them.
 * @typedef {import("../tables.ts").VersionMarks & { table: string, id: string | null }} Marks
 * @typedef {{ status: "connecting" | "live" | "stale" | "lost", heardAt: number | null, retryAt: number | null }} Connection
 * @typedef {{ detail: Detail | null, isLoading: boolean, problem: Problem | null }} Shown
 * @typedef {object} State
 * @property {Route} route
 * @property {Connection} connection
 * @property {import("../events.ts").TableList | null} tables
 * @property {import("../flow.ts").Flow | null} flow
 * @property {readonly import("../ledger-watch.ts").TableLedger[] | null} ledger
 * @property {readonly import("../alerts.ts").Alert[]} alerts
 * @property {readonly import("../chaos-run.ts").ChaosRun[]} chaos Newest first.
 * @property {History | null} history
 * @property {Marks | null} marks
 * @property {Shown} shown
 * @property {readonly import("../work.ts").Job[]} jobs Newest first.
 * @property {number} clock Milliseconds, moves once a second: for ages.
 */

/** @param {string} address @param {number} now @returns {State} */
export function initialState(address, now) {
  return {
    route: parseAddress(address),
    connection: { status: "connecting", heardAt: null, retryAt: null },
    tables: null,
    flow: null,
    ledger: null,
    alerts: [],
    chaos: [],
    jobs: [],
    history: null,
    marks: null,
    shown: { detail: null, isLoading: false, problem: null },
    clock: now,
  };
}

/**
 * Holds the state; `views` are called with it before the next paint after any change.
 * @param {State} initial @param {readonly ((state: State) => void)[]} views
 */
export function holdState(initial, views) {
  let state = initial;
  let isDue = false;
  const paint = () => {
    isDue = false;
    for (const view of views) {
      try {
        view(state);
      } catch (error) {
        // One region that fails must not take the others with it.
        reportError(error);
      }
    }
  };
  return {
    get: () => state,
    /** @param {Partial<State>} patch */
    set(patch) {
      state = { ...state, ...patch };
      if (!isDue) requestAnimationFrame(paint);
      isDue = true;
    },
  };
}

/**
 * A view that runs only when something it picks from the state is another thing than before.
 * @template {readonly unknown[] | []} P
 * @param {(state: State) => P} pick
 * @param {(...picked: P) => void} render
 */
export function view(pick, render) {
  /** @type {P | null} */
  let last = null;
  return (/** @type {State} */ state) => {
    const next = pick(state);
    if (last?.every((value, n) => Object.is(value, next[n]))) return;
    last = next;
    render(...next);
  };
}

/** Summary of the chosen table. @param {State} state */
export const summaryOf = ({ tables, route }) =>
  tables?.tables.find((table) => table.name === route.table) ?? null;

/** Whether a table is asked for that is not there. @param {Pick<State, "route" | "tables">} state */
export const isUnknownTable = ({ route, tables }) =>
  route.table !== null &&
  tables !== null &&
  !tables.problem &&
  !tables.tables.some(({ name }) => name === route.table);

/** The history if it belongs to the chosen table. @param {State} state */
export const historyOf = ({ history, route }) => (history?.table === route.table ? history : null);

/** @type {import("../tables.ts").VersionMarks} */
const NO_MARKS = { checkpoints: [], unreadable: [] };

/** What stands beside the versions of the chosen table, as far as it is known. @param {State} state @returns {import("../tables.ts").VersionMarks} */
export const marksOfTable = ({ marks, route }) =>
  marks !== null && marks.table === route.table ? marks : NO_MARKS;

/** The version that is looked at: the pinned one, or its nearest neighbour that exists, or the newest; null while that is not known. @param {State} state */
export function currentVersion(state) {
  const entries = historyOf(state)?.entries ?? [];
  const newest = entries.at(-1);
  const oldest = entries[0];
  if (newest === undefined || oldest === undefined) return null;
  const { version } = state.route;
  if (version !== null && version < oldest.version && historyOf(state)?.isLoaded === false) return null;
  return version === null ? newest.version : Math.min(newest.version, Math.max(oldest.version, version));
}
