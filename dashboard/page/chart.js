/** Rows over versions, with the chosen version marked: solid up to it, faint after it. */

import { rowsPicture } from "./chart-picture.js";
import { byId, h, setAttribute } from "./dom.js";
import { clock, count } from "./format.js";
import { rowsAfter } from "./model.js";
import { currentVersion, historyOf, view } from "./state.js";

/** @typedef {import("./chart-picture.js").Point} Point */

export function chartView() {
  const canvas = /** @type {HTMLCanvasElement} */ (byId("chart"));
  const toggle = byId("chart-as-table");
  const table = byId("chart-table");
  /** @type {ReturnType<typeof rowsPicture> | null} */
  let picture = null;
  /** @type {Parameters<typeof draw> | null} */
  let last = null;
  /** Rows after each version; and those that are known, as points. @type {(number | null)[]} */
  let totals = [];
  /** @type {readonly Point[]} */
  let points = [];

  toggle.addEventListener("click", () => {
    table.hidden = !table.hidden;
    byId("chart-box").hidden = !table.hidden;
    setAttribute(toggle, "aria-expanded", String(!table.hidden));
    toggle.textContent = table.hidden ? "Show as table" : "Show as chart";
    if (last !== null) draw(...last);
  });

  /**
   * @param {readonly import("../tables.ts").VersionEntry[]} entries @param {number | null} version
   * @param {{ version: number, rows: string | null } | null} anchor @param {boolean} isLive
   */
  const draw = (entries, version, anchor, isLive) => {
    const isGrown = last?.[0] !== entries;
    const counted = isGrown || last?.[2] !== anchor ? rowsAfter(entries, anchor) : totals;
    // Mostly an anchor tells what was known, and the picture stays.
    if (isGrown || counted.some((rows, n) => rows !== totals[n])) {
      totals = counted;
      points = entries.flatMap(({ version: x }, n) => {
        const y = totals[n];
        return y === null || y === undefined ? [] : [{ x, y }];
      });
    }
    last = [entries, version, anchor, isLive];
    setAttribute(canvas, "aria-label", finding(points, version));
    if (!table.hidden) showTable(entries, totals, version);
    else {
      picture ??= rowsPicture(canvas);
      picture.show(points, version, isLive);
    }
  };

  const show = view((state) => {
    const detail = state.shown.detail;
    const isOurs = detail !== null && detail.table === state.route.table;
    return [
      historyOf(state)?.entries ?? NONE,
      currentVersion(state),
      isOurs ? detail : null,
      state.route.version === null,
    ];
  }, draw);
  return {
    render: show,
    /** Draws again with the colours of the theme. */
    repaint() {
      picture?.close();
      picture = null;
      if (last !== null) draw(...last);
    },
  };
}

/** @type {readonly import("../tables.ts").VersionEntry[]} */
const NONE = [];

/** What the picture shows, in a sentence. @param {readonly Point[]} points @param {number | null} version */
function finding(points, version) {
  const first = points[0];
  const here = points.find(({ x }) => x === version);
  if (first === undefined) return "No rows are counted yet";
  if (here === undefined) return `Rows are not counted at version ${version}`;
  return `Rows went from ${count(first.y)} at version ${first.x} to ${count(here.y)} at version ${here.x}`;
}

const TABLE_ROWS = 200;

/**
 * The newest versions up to the chosen one.
 * @param {readonly import("../tables.ts").VersionEntry[]} entries @param {readonly (number | null)[]} totals @param {number | null} version
 */
function showTable(entries, totals, version) {
  const rows = entries
    .map((entry, n) => ({ entry, total: totals[n] }))
    .filter(({ entry }) => version === null || entry.version <= version)
    .slice(-TABLE_ROWS)
    .reverse();
  const head = ["Version", "Time", "Rows added", "Rows"].map((name) =>
    h("th", { scope: "col", class: "num" }, name),
  );
  const body = rows.map(({ entry, total }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row", class: "num" }, String(entry.version)),
      ...[clock(entry.timestamp), count(entry.rowsAdded), count(total)].map((text) =>
        h("td", { class: "num" }, text),
      ),
    ),
  );
  byId("chart-table").replaceChildren(
    h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)),
  );
}
