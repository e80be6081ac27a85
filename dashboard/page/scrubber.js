/** The timeline: a canvas strip under a native slider, so that mouse, touch, keyboard and screen readers all work. */

import { byId, h, setAttribute, setText, time } from "./dom.js";
import { clock, count, many } from "./format.js";
import { KIND_NAMES, kindOf, nextMark, spoken, whatItDid } from "./model.js";
import { currentVersion, historyOf, view } from "./state.js";
import { drawCursor, drawVersions, heightsOf } from "./strip.js";

/** @typedef {import("../tables.ts").VersionEntry} VersionEntry */

/**
 * `pin` is called for each version the cursor is moved to, `find` for a time or PARTITION:OFFSET whose version is wanted, `compare` for the
 * version to compare with.
 * @param {{ pin: (version: number) => void, goLive: () => void, find: (point: string) => void, compare: (version: number) => void }} act
 */
export function timeView({ pin, goLive, find, compare }) {
  const slider = /** @type {HTMLInputElement} */ (byId("scrubber"));
  const canvas = /** @type {HTMLCanvasElement} */ (byId("strip-canvas"));
  const field = /** @type {HTMLInputElement} */ (byId("goto-version"));
  /** @type {readonly VersionEntry[]} */
  let entries = [];
  /** @type {number | null} */
  let current = null;
  /** The scale does not move under a finger. @type {number | null} */
  let frozenMax = null;
  /** @type {{ canvas: HTMLCanvasElement, frame: import("./strip.js").Frame } | null} */
  let drawn = null;

  const step = (/** @type {number} */ by) => {
    if (current === null) return;
    const place = entries.findIndex((entry) => entry.version === current);
    const next = entries[Math.min(entries.length - 1, Math.max(0, place + by))];
    if (next !== undefined && next.version !== current) pin(next.version);
  };
  const toMark = (/** @type {1 | -1} */ by) => {
    const mark = current === null ? null : nextMark(entries, current, by);
    if (mark !== null) pin(mark);
  };

  slider.addEventListener("pointerdown", () => {
    frozenMax = Number(slider.max);
  });
  const release = () => {
    if (frozenMax === null) return;
    frozenMax = null;
    layOut();
  };
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
    slider.addEventListener(end, release);
  slider.addEventListener("input", () => pin(Number(slider.value)));
  slider.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "m") toMark(1);
    else if (event.key === "M") toMark(-1);
    else if (event.key === "l") goLive();
    else if (event.key === "g") field.select();
    else if (event.key === "c" && current !== null) compare(current);
    else return;
    event.preventDefault();
  });
  repeatWhileHeld(byId("older"), () => step(-1));
  repeatWhileHeld(byId("newer"), () => step(1));
  document.addEventListener("keydown", (event) => {
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "[") step(-1);
    if (event.key === "]") step(1);
  });
  byId("goto").addEventListener("submit", (event) => {
    event.preventDefault();
    const first = entries[0]?.version ?? 0;
    const last = entries.at(-1)?.version ?? 0;
    const text = field.value.trim();
    if (isPoint(text)) return find(text);
    const version = Number(text || "none");
    const isThere = Number.isInteger(version) && version >= first && version <= last;
    setAttribute(field, "aria-invalid", isThere ? null : "true");
    setText(
      byId("goto-problem"),
      isThere
        ? ""
        : `There are versions ${first} to ${last}; a time is written 2026-11-29T20:15:03Z, an offset 0:1234`,
    );
    byId("goto-problem").className = isThere ? "sr" : "field-problem";
    if (isThere) pin(version);
  });
  field.addEventListener("blur", () => setAttribute(field, "aria-invalid", null));

  const layOut = () => {
    const first = entries[0];
    const last = entries.at(-1);
    const { clientWidth: width, clientHeight: height } = byId("strip");
    if (first === undefined || last === undefined || current === null || width === 0) {
      canvas.getContext("2d")?.clearRect(0, 0, canvas.width, canvas.height);
      slider.disabled = true;
      drawn = null;
      return;
    }
    const max = frozenMax ?? last.version;
    const frame = { width, height, ratio: devicePixelRatio, min: first.version, max };
    slider.disabled = false;
    slider.min = String(first.version);
    slider.max = String(max);
    const shown = frozenMax === null ? entries : entries.filter((entry) => entry.version <= max);
    drawn = { canvas: drawVersions(shown, frame, colours()), frame };
    move();
  };
  const move = () => {
    if (drawn === null || current === null) return;
    if (slider.value !== String(current)) slider.value = String(current);
    drawCursor(canvas, drawn.canvas, drawn.frame, current, colours());
  };
  new ResizeObserver(layOut).observe(byId("strip"));

  const showEntries = view(
    (state) => [historyOf(state)?.entries],
    (found = []) => {
      entries = found;
      layOut();
      showLegend(entries);
    },
  );
  const showCurrent = view(
    (state) => [currentVersion(state), historyOf(state), state.route.table, state.route.version === null],
    (version, history, table, isLive) => {
      const isFirst = current === null;
      current = version;
      byId("strip").dataset.state = isLive ? "live" : "pinned";
      if (isFirst) layOut();
      move();
      const entry = entries.find((known) => known.version === version);
      if (entry !== undefined) setAttribute(slider, "aria-valuetext", spoken(entry));
      if (document.activeElement !== field) field.value = version === null ? "" : String(version);
      byId("version-line").replaceChildren(...versionLine(entry, history, table));
      for (const id of ["older", "newer"]) {
        const edge = id === "older" ? entries[0] : entries.at(-1);
        setAttribute(byId(id), "aria-disabled", entry === undefined || entry === edge ? "true" : null);
      }
    },
  );
  return {
    /** Draws again with the colours of the theme. */
    repaint: layOut,
    /** @param {import("./state.js").State} state */
    render(state) {
      showEntries(state);
      showCurrent(state);
    },
  };
}

/** A time, or an offset of a partition. @param {string} text */
export const isPoint = (text) => /^\d+:\d+$/.test(text) || /^\d{4}-\d\d-\d\d/.test(text);

/**
 * @param {VersionEntry | undefined} entry @param {import("./state.js").History | null} history @param {string | null} table
 * @returns {(Node | string)[]}
 */
function versionLine(entry, history, table) {
  if (history?.problem)
    return [`The log cannot be read: ${history.problem.message} (${history.problem.code})`];
  if (entry === undefined)
    return [table === null ? "No table is chosen" : history?.isLoaded ? "No versions" : "Reading the log..."];
  const { version, timestamp, operation, filesAdded, filesRemoved } = entry;
  const files =
    filesAdded + filesRemoved === 0 ? [] : [` · ${many(filesAdded, "file")} in, ${count(filesRemoved)} out`];
  return [
    h("strong", {}, `Version ${version}`),
    ` · ${operation} · ${whatItDid(entry)}`,
    ...files,
    " · ",
    time(timestamp, clock(timestamp)),
  ];
}

/** Names only the shapes that are there. @param {readonly VersionEntry[]} entries */
function showLegend(entries) {
  const kinds = [...new Set(entries.map(kindOf))];
  const first = entries[0]?.version ?? 0;
  const scale = heightsOf(entries).isLog ? "height: rows, logarithmic" : "height: rows";
  const lost = first > 0 ? [h("span", {}, `Versions before ${first} are no longer in the log`)] : [];
  byId("legend").replaceChildren(
    ...kinds.map((kind) => h("span", { "data-kind": kind }, KIND_NAMES[kind])),
    ...(entries.length > 0 ? [h("span", {}, scale)] : []),
    ...lost,
  );
}

function colours() {
  const style = getComputedStyle(byId("strip"));
  const of = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const cursor = byId("strip").dataset.state === "pinned" ? of("--pinned") : of("--ok");
  return {
    bar: of("--info"),
    mark: of("--pinned"),
    warn: of("--warn"),
    muted: of("--muted"),
    ghost: of("--ghost"),
    page: of("--panel"),
    cursor,
  };
}

/** @param {HTMLElement} button @param {() => void} act */
function repeatWhileHeld(button, act) {
  let timer = 0;
  const stop = () => clearTimeout(timer);
  const again = () => {
    act();
    timer = window.setTimeout(again, 90);
  };
  button.addEventListener("click", (event) => {
    if (event.detail === 0) act();
  });
  button.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    act();
    timer = window.setTimeout(again, 400);
  });
  for (const end of ["pointerup", "pointerleave", "pointercancel"]) button.addEventListener(end, stop);
}

/** @param {EventTarget | null} target */
export const isTyping = (target) =>
  target instanceof HTMLElement &&
  (target.matches("input:not([type=range]), textarea, select") || target.isContentEditable);
