/** Rows, schema and files of the version that is looked at: asked for once it stays in view, kept, and fetched ahead. */

import { getJson, problemOf, Refusal } from "./api.js";

const PREVIEW_ROWS = 100;
const KEPT = 64;
/** A finger that moves over fifty versions asks for the first and the last; after so long it rests. */
const REST_MS = 80;
const RETRY_MS = 3_000;

/**
 * @typedef {import("./state.js").Detail} Detail
 * @typedef {{ table: string, id: string | null, version: number }} Point
 */

/** @param {(shown: import("./state.js").Shown) => void} onChange */
export function versionKeeper(onChange) {
  /** @type {Map<string, Detail>} */
  const kept = new Map();
  /** @type {import("./state.js").Shown} */
  let shown = { detail: null, isLoading: false, problem: null };
  let wanted = "";
  let timer = 0;
  let controller = new AbortController();
  let movedAt = Number.NEGATIVE_INFINITY;

  /** @param {Partial<import("./state.js").Shown>} patch */
  const change = (patch) => {
    shown = { ...shown, ...patch };
    onChange(shown);
  };
  /** @param {Point} point */
  const keyOf = ({ table, id, version }) => `${id ?? ""} ${table} ${version}`;
  /** @param {Point} point @param {AbortSignal} signal */
  const load = async (point, signal) => {
    const path = `/api/tables/${encodeURIComponent(point.table)}/versions/${point.version}`;
    /** @type {Detail} */
    const detail = await getJson(`${path}?rows=${PREVIEW_ROWS}`, signal);
    kept.delete(keyOf(point));
    kept.set(keyOf(point), detail);
    for (const oldest of kept.keys()) if (kept.size > KEPT) kept.delete(oldest);
    return detail;
  };
  /** @param {Point} point @param {readonly Point[]} ahead @param {AbortSignal} signal */
  const fetchNow = async (point, ahead, signal) => {
    try {
      change({ detail: await load(point, signal), isLoading: false, problem: null });
    } catch (error) {
      if (signal.aborted || wanted !== keyOf(point)) return;
      change({ isLoading: false, problem: problemOf(error) });
      if (error instanceof Refusal && error.isOutage)
        timer = window.setTimeout(() => void fetchNow(point, ahead, signal), RETRY_MS);
      return;
    }
    for (const next of ahead) {
      if (signal.aborted) return;
      // What cannot be fetched ahead is asked for again when it is wanted, and told of then.
      if (!kept.has(keyOf(next))) await load(next, signal).catch(() => undefined);
    }
  };

  return {
    /**
     * Shows this version; what is shown stays until it is there. `ahead` are fetched afterwards.
     * @param {Point} point @param {readonly Point[]} ahead
     */
    show(point, ahead) {
      if (wanted === keyOf(point)) return;
      const isOtherTable = shown.detail !== null && shown.detail.table !== point.table;
      wanted = keyOf(point);
      clearTimeout(timer);
      controller.abort();
      controller = new AbortController();
      const { signal } = controller;
      const detail = kept.get(wanted);
      if (detail !== undefined) change({ detail, isLoading: false, problem: null });
      else change({ isLoading: true, problem: null, ...(isOtherTable ? { detail: null } : {}) });
      const isMoving = performance.now() - movedAt < REST_MS;
      movedAt = performance.now();
      const fetchIt = () => void fetchNow(point, ahead, signal);
      if (detail === undefined && isMoving) timer = window.setTimeout(fetchIt, REST_MS);
      else if (detail === undefined) fetchIt();
    },
    /** Tries the version again that could not be loaded. */
    forget() {
      wanted = "";
    },
  };
}
