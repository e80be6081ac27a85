/** The timeline: a canvas strip under a native slider, so that mouse, touch, keyboard and screen readers all work. */

import { byId, setAttribute } from "./dom.js";
import { pinchZooms, wheelZooms } from "./gestures.js";
import { goToForm } from "./goto.js";
import { nextMark, spoken } from "./model.js";
import { overviewStrip } from "./overview.js";
import { currentVersion, historyOf, isUnknownTable, marksOfTable, view } from "./state.js";
import { drawCursor, drawVersions } from "./strip.js";
import { stripColours } from "./strip-colours.js";
import { connectKeys } from "./timeline-keys.js";
import { showLegend, versionLine } from "./version-line.js";
import { versionTip } from "./version-tip.js";
import {
  PAD,
  placeIn,
  placeOf,
  shownBy,
  sizeOf,
  spanAround,
  spanFrom,
  spanWith,
  versionAt,
  zoomedBy,
} from "./zoom.js";

/** @typedef {import("../tables.ts").VersionEntry} VersionEntry */

const ZOOM_STEP = 2;
const PAGE_SHARE = 0.1;

/**
 * `pin` is called for each version the cursor is moved to, `find` for a time or PARTITION:OFFSET whose version is wanted, `compare` for the
 * version to compare with.
 * @param {{ pin: (version: number) => void, goLive: () => void, find: (point: string) => void, compare: (version: number) => void }} act
 */
export function timeView({ pin, goLive, find, compare }) {
  const strip = byId("strip");
  const slider = /** @type {HTMLInputElement} */ (byId("scrubber"));
  const canvas = /** @type {HTMLCanvasElement} */ (byId("strip-canvas"));
  const measurePick = /** @type {HTMLSelectElement} */ (byId("measure"));
  /** @type {import("./strip.js").Drawn} */
  let drawn = { entries: [], measure: "rows", marks: { checkpoints: [], unreadable: [] } };
  /** @type {number | null} */
  let current = null;
  /** Where it was sent and is not drawn yet: keys come faster than paints. @type {number | null} */
  let aim = null;
  /** @type {import("./zoom.js").Zoom} */
  let zoom = "fit";
  /** Whether the oldest versions are known, too. */
  let isWhole = false;
  /** Of the table that shows. @type {string | null | undefined} */
  let shownId;
  /** What shows; null while there is nothing. @type {import("./zoom.js").Span | null} */
  let span = null;
  /** Size of the strip: to ask for it in every frame would have the browser lay the page out once more. */
  let room = { width: 0, height: 0 };
  /** The scale does not move under a finger. */
  let isHeld = false;
  /** @type {{ canvas: HTMLCanvasElement, frame: import("./strip.js").Frame } | null} */
  let picture = null;

  const allOf = () => ({ min: drawn.entries[0]?.version ?? 0, max: drawn.entries.at(-1)?.version ?? 0 });
  const entryOf = (/** @type {number} */ version) => {
    const found = drawn.entries[placeIn(drawn.entries, version)];
    return found?.version === version ? found : undefined;
  };
  const goTo = (/** @type {number} */ version) => {
    const place = Math.min(drawn.entries.length - 1, placeIn(drawn.entries, version));
    const found = drawn.entries[place];
    if (found === undefined || found.version === (aim ?? current)) return;
    aim = found.version;
    pin(found.version);
  };
  const step = (/** @type {number} */ by) => {
    if (current === null) return;
    const place = placeIn(drawn.entries, aim ?? current) + by;
    goTo(drawn.entries[Math.max(0, Math.min(drawn.entries.length - 1, place))]?.version ?? 0);
  };
  const toMark = (/** @type {1 | -1} */ by) => {
    const mark = current === null ? null : nextMark(drawn.entries, aim ?? current, by);
    if (mark !== null) goTo(mark);
  };
  const show = (/** @type {import("./zoom.js").Span} */ next) => {
    const isChanged = span?.min !== next.min || span.max !== next.max;
    span = next;
    if (isChanged) layOut();
    return isChanged;
  };
  /** What was asked for of zoom and way, and is less than a version so far. */
  let rest = { factor: 1, versions: 0 };
  /** False at the end of the zoom. @param {number} factor @param {number} anchor */
  const zoomBy = (factor, anchor) => {
    if (span === null) return false;
    const asked = factor * rest.factor;
    const next = zoomedBy(allOf(), span, asked, anchor);
    const isSame = sizeOf(next) === sizeOf(span);
    const isEnd = isSame && sizeOf(zoomedBy(allOf(), span, factor > 1 ? 2 : 0.5, anchor)) === sizeOf(span);
    rest = { factor: isSame && !isEnd ? asked : 1, versions: 0 };
    if (isSame) return !isEnd;
    zoom = sizeOf(next) === sizeOf(allOf()) ? "all" : sizeOf(next);
    show(next);
    return true;
  };
  const zoomAtCursor = (/** @type {number} */ factor) => {
    if (span === null || current === null) return;
    zoomBy(factor, isInSight() ? current : (span.min + span.max) / 2);
  };
  const showAll = () => {
    zoom = zoom === "all" ? "fit" : "all";
    follow(true);
  };
  const gestures = {
    zoomBy: (/** @type {number} */ factor, /** @type {number} */ x) =>
      picture !== null && zoomBy(factor, versionAt(picture.frame, x)),
    moveBy(/** @type {number} */ pixels) {
      if (picture === null || span === null) return false;
      const versions = rest.versions + (pixels * sizeOf(span)) / Math.max(1, picture.frame.width - 2 * PAD);
      const by = Math.trunc(versions);
      rest = { factor: 1, versions: versions - by };
      return by === 0 || show(spanFrom(allOf(), sizeOf(span), span.min + by));
    },
  };

  const form = goToForm({ pin, find, step, edges: () => [isWhole ? allOf().min : 0, allOf().max] });
  const overview = overviewStrip({
    goTo(version) {
      if (span !== null) show(spanAround(allOf(), sizeOf(span), version));
      goTo(version);
    },
    hold,
  });
  const pinch = pinchZooms(slider, gestures);
  wheelZooms(strip, gestures);
  byId("zoom-in").addEventListener("click", () => zoomAtCursor(1 / ZOOM_STEP));
  byId("zoom-out").addEventListener("click", () => zoomAtCursor(ZOOM_STEP));
  byId("zoom-all").addEventListener("click", showAll);
  measurePick.addEventListener("change", () => {
    drawn = { ...drawn, measure: /** @type {import("./model.js").Measure} */ (measurePick.value) };
    showLegend(drawn.entries, drawn.measure, drawn.marks, isWhole);
    layOut();
  });

  /** @param {boolean} is */
  function hold(is) {
    if (isHeld === is) return;
    isHeld = is;
    if (!is) follow(true);
  }
  slider.addEventListener("pointerdown", () => hold(true));
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
    slider.addEventListener(end, () => hold(false));
  slider.addEventListener("input", () => {
    if (pinch.isPinching()) slider.value = String(current);
    else goTo(Number(slider.value));
  });
  connectKeys(slider, {
    ...{ step, toMark, goTo, goLive, showAll, edges: () => [allOf().min, allOf().max] },
    pageOf: () => Math.max(1, Math.round(sizeOf(span ?? allOf()) * PAGE_SHARE)),
    zoom: (nearer) => zoomAtCursor(nearer ? 1 / ZOOM_STEP : ZOOM_STEP),
    typePlace: () => form.select(),
    compare: () => current !== null && compare(current),
  });
  const tip = versionTip(slider, strip, {
    entryAt: (x) => (picture === null ? undefined : entryOf(versionAt(picture.frame, x))),
    centre: (version) => (picture === null ? 0 : placeOf(picture.frame, version)),
    marks: () => drawn.marks,
  });

  /** Where the versions grew or the cursor moved: what shows goes with it, unless the user looks elsewhere. @param {boolean} isWanted */
  function follow(isWanted) {
    if (isHeld && span !== null) return move();
    const { width } = room;
    if (drawn.entries.length === 0 || current === null || width === 0) {
      span = null;
      return layOut();
    }
    const all = allOf();
    const shown = shownBy(zoom, all, width);
    const before = span ?? spanFrom(all, shown, all.max);
    const kept =
      sizeOf(before) === shown
        ? spanFrom(all, shown, before.min)
        : spanFrom(all, shown, before.max - shown + 1);
    show(isWanted || span === null ? spanWith(all, kept, current) : kept);
    move();
  }
  function layOut() {
    const { width, height } = room;
    slider.disabled = span === null;
    if (span === null || width === 0) {
      canvas.getContext("2d")?.clearRect(0, 0, canvas.width, canvas.height);
      overview.clear();
      picture = null;
      return;
    }
    const frame = { width, height, ratio: devicePixelRatio, ...span };
    slider.min = String(span.min);
    slider.max = String(span.max);
    picture = { canvas: drawVersions(drawn, frame, stripColours(strip)), frame };
    setAttribute(byId("zoom-all"), "aria-pressed", String(sizeOf(span) === sizeOf(allOf())));
    move();
  }
  function move() {
    if (picture === null || span === null || current === null) return;
    if (slider.value !== String(current)) slider.value = String(current);
    drawCursor(canvas, picture.canvas, picture.frame, current, stripColours(strip));
    overview.draw(drawn, allOf(), span, current, stripColours(strip));
  }
  const isInSight = () => current !== null && span !== null && current >= span.min && current <= span.max;
  new ResizeObserver(() => {
    room = { width: strip.clientWidth, height: strip.clientHeight };
    overview.measure();
    follow(isInSight());
    layOut();
  }).observe(strip);

  const showEntries = view(
    (state) => [
      historyOf(state)?.entries ?? NONE,
      marksOfTable(state),
      state.history?.id,
      historyOf(state)?.isLoaded ?? false,
    ],
    (entries, marks, id, isLoaded) => {
      const isOther = id !== shownId || entries.length === 0;
      shownId = id;
      drawn = { ...drawn, entries, marks };
      isWhole = isLoaded;
      if (isOther) {
        zoom = "fit";
        span = null;
      }
      tip.forget();
      showLegend(entries, drawn.measure, marks, isWhole);
      picture = null;
    },
  );
  const showCurrent = view(
    (state) => [
      currentVersion(state),
      historyOf(state),
      state.route.table,
      isUnknownTable(state),
      state.route.version === null,
      marksOfTable(state),
    ],
    (version, history, table, isUnknown, isLive, marks) => {
      const wasThere = isInSight();
      const isMoved = version !== current;
      current = version;
      aim = null;
      strip.dataset.state = isLive ? "live" : "pinned";
      const isStale = picture === null;
      follow(isMoved && (!isLive || wasThere));
      if (isStale && picture === null) layOut();
      const entry = version === null ? undefined : entryOf(version);
      if (entry !== undefined) setAttribute(slider, "aria-valuetext", spoken(entry));
      form.show(version, {
        isOldest: entry === undefined || entry === drawn.entries[0],
        isNewest: entry === undefined || entry === drawn.entries.at(-1),
      });
      byId("version-line").replaceChildren(...versionLine(entry, history, table, isUnknown, marks));
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

/** @type {readonly VersionEntry[]} */
const NONE = [];
