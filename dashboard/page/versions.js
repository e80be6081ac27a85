/** Rows, schema and files of the version that is looked at: asked for once it stays in view, kept, and fetched ahead. */

import { getJson, problemOf, Refusal } from "./api.js";

const PREVIEW_ROWS = 100;
const KEPT = 64;
/** A finger that moves over fifty versions asks for the first and the last; after so long it rests. */
const REST_MS = 80;
/** Frames of a drag are closer together than this, steps are not. */
const FRAMES_MS = 25;
const RETRY_MS = 3_000;

/**
 * @typedef {import("./state.js").Detail} Detail
 * @typedef {{ table: string, id: string | null, version: number }} Point
 * @typedef {{ now: () => number, later: (task: () => void, ms: number) => number, not: (timer: number) => void }} Clock
 */

/** @param {Point} point @param {AbortSignal} signal @returns {Promise<Detail>} */
const ask = ({ table, version }, signal) =>
  getJson(`/api/tables/${encodeURIComponent(table)}/versions/${version}?rows=${PREVIEW_ROWS}`, signal);

/** @type {Clock} */
const CLOCK = {
  now: () => performance.now(),
  later: (task, ms) => window.setTimeout(task, ms),
  not: (timer) => clearTimeout(timer),
};

/** @param {(shown: import("./state.js").Shown) => void} onChange @param {typeof ask} load @param {Clock} clock */
export function versionKeeper(onChange, load = ask, clock = CLOCK) {
  /** @type {Map<string, Detail>} */
  const kept = new Map();
  /** @type {import("./state.js").Shown} */
  let shown = { detail: null, isLoading: false, problem: null };
  /** What is to be shown, and what may be next. @type {readonly Point[]} */
  let wanted = [];
  /** One question at a time. @type {{ key: string, controller: AbortController } | null} */
  let asked = null;
  let timer = 0;
  let movedAt = Number.NEGATIVE_INFINITY;

  /** @param {Partial<import("./state.js").Shown>} patch */
  const change = (patch) => {
    shown = { ...shown, ...patch };
    onChange(shown);
  };
  /** @param {Point | undefined} point */
  const keyOf = (point) => (point === undefined ? "" : `${point.id ?? ""} ${point.table} ${point.version}`);
  /** @param {string} key @param {Detail} detail */
  const keep = (key, detail) => {
    kept.delete(key);
    kept.set(key, detail);
    for (const oldest of kept.keys()) if (kept.size > KEPT) kept.delete(oldest);
  };
  /** @param {() => void} task @param {number} ms */
  const after = (task, ms) => {
    clock.not(timer);
    timer = clock.later(task, ms);
  };

  /** Asks for the first of what is wanted that is not there. */
  const goOn = async () => {
    const next = wanted.find((point) => !kept.has(keyOf(point)));
    if (asked !== null || next === undefined) return;
    const [key, controller] = [keyOf(next), new AbortController()];
    const mine = { key, controller };
    asked = mine;
    try {
      const detail = await load(next, controller.signal);
      keep(key, detail);
      if (key === keyOf(wanted[0])) change({ detail, isLoading: false, problem: null });
    } catch (error) {
      if (controller.signal.aborted) return;
      if (key === keyOf(wanted[0])) {
        change({ isLoading: false, problem: problemOf(error) });
        if (error instanceof Refusal && error.isOutage) after(() => void goOn(), RETRY_MS);
      }
      // What cannot be fetched ahead is asked for again when it is wanted, and told of then.
      return;
    } finally {
      if (asked === mine) asked = null;
    }
    void goOn();
  };

  return {
    /**
     * Shows this version; what is shown stays until it is there. `ahead` are fetched afterwards.
     * @param {Point} point @param {readonly Point[]} ahead
     */
    show(point, ahead) {
      const key = keyOf(point);
      if (keyOf(wanted[0]) === key) return;
      const isOtherTable = shown.detail !== null && shown.detail.table !== point.table;
      const sinceMs = clock.now() - movedAt;
      // Whoever has seen the version before does not only pass this one.
      const isPassing = shown.isLoading && sinceMs < REST_MS;
      movedAt = clock.now();
      wanted = [point, ...ahead];
      clock.not(timer);
      const detail = kept.get(key);
      // Nothing keeps back what is to be shown.
      const awaited = detail === undefined ? [point] : ahead;
      if (asked !== null && !awaited.some((one) => keyOf(one) === asked?.key)) {
        asked.controller.abort();
        asked = null;
      }
      if (detail !== undefined) change({ detail, isLoading: false, problem: null });
      else change({ isLoading: true, problem: null, ...(isOtherTable ? { detail: null } : {}) });
      const isDragged = detail !== undefined && sinceMs < FRAMES_MS;
      if (isDragged || (isPassing && asked === null)) after(() => void goOn(), REST_MS);
      else void goOn();
    },
    /** Tries the version again that could not be loaded. */
    forget() {
      wanted = [];
    },
  };
}
