/** Rows over versions, with the chosen version marked: solid up to it, faint after it. */

import { byId, h, setAttribute } from "./dom.js";
import { clock, count } from "./format.js";
import { rowsAfter, thin } from "./model.js";
import { currentVersion, historyOf, view } from "./state.js";

/** @typedef {{ x: number, y: number }} Point */

const MOST_POINTS = 400;

export function chartView() {
  const canvas = /** @type {HTMLCanvasElement} */ (byId("chart"));
  const toggle = byId("chart-as-table");
  const table = byId("chart-table");
  /** @type {import("chart.js").Chart | null} */
  let chart = null;
  /** @type {Parameters<typeof draw> | null} */
  let last = null;
  /** Rows after each version; and those that are known, as points. @type {(number | null)[]} */
  let totals = [];
  /** @type {Point[]} */
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
    if (last?.[0] !== entries || last[2] !== anchor) {
      totals = rowsAfter(entries, anchor);
      points = entries.flatMap(({ version: x }, n) => {
        const y = totals[n];
        return y === null || y === undefined ? [] : [{ x, y }];
      });
    }
    last = [entries, version, anchor, isLive];
    setAttribute(canvas, "aria-label", finding(points, version));
    if (!table.hidden) showTable(entries, totals, version);
    else {
      chart ??= makeChart(canvas);
      paint(chart, points, version, isLive);
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
      chart?.destroy();
      chart = null;
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

function tokens() {
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    text: of("--muted"),
    line: of("--info"),
    fill: of("--info-soft"),
    grid: of("--hair"),
    later: of("--line"),
    pinned: of("--pinned"),
    live: of("--ok"),
  };
}

/** @param {HTMLCanvasElement} canvas */
function makeChart(canvas) {
  const { text, line, fill, grid, later, pinned, live } = tokens();
  /** Draws the cursor under the line's end. @type {import("chart.js").Plugin<"line">} */
  const mark = {
    id: "mark",
    afterDatasetsDraw({ ctx, chartArea, data, scales }) {
      const end = /** @type {Point | undefined} */ (data.datasets[0]?.data.at(-1));
      const { x, y } = scales;
      if (end === undefined || x === undefined || y === undefined) return;
      const [left, top] = [x.getPixelForValue(end.x), y.getPixelForValue(end.y)];
      ctx.fillStyle = canvas.dataset.state === "live" ? live : pinned;
      ctx.fillRect(left - 0.5, chartArea.top, 1, chartArea.height);
      ctx.beginPath();
      ctx.arc(left, top, 4.5, 0, 2 * Math.PI);
      ctx.fill();
    },
  };
  const common = /** @type {const} */ ({
    pointRadius: 0,
    pointHitRadius: 12,
    borderWidth: 2,
    stepped: false,
  });
  const ticks = {
    color: text,
    maxTicksLimit: 6,
    precision: 0,
    callback: (/** @type {string | number} */ n) => count(n),
  };
  return new Chart(canvas, {
    type: "line",
    data: {
      datasets: [
        { ...common, label: "Rows", data: [], borderColor: line, backgroundColor: fill, fill: true },
        {
          ...common,
          label: "Rows, later versions",
          data: [],
          borderColor: later,
          borderDash: [3, 4],
          borderWidth: 1.5,
        },
      ],
    },
    plugins: [mark],
    options: {
      animation: false,
      parsing: false,
      normalized: true,
      maintainAspectRatio: false,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      plugins: {
        legend: { display: false },
        tooltip: {
          displayColors: false,
          callbacks: {
            title: ([item]) => `Version ${item?.parsed.x}`,
            label: ({ parsed }) => `${count(Number(parsed.y))} rows`,
          },
        },
      },
      scales: {
        x: { type: "linear", ticks, grid: { display: false }, border: { color: grid } },
        y: { beginAtZero: true, ticks, grid: { color: grid }, border: { display: false } },
      },
    },
  });
}

/** @param {import("chart.js").Chart} chart @param {Point[]} points @param {number | null} version @param {boolean} isLive */
function paint(chart, points, version, isLive) {
  chart.canvas.dataset.state = isLive ? "live" : "pinned";
  const at = version ?? Number.POSITIVE_INFINITY;
  const [until, later] = chart.data.datasets;
  if (until === undefined || later === undefined) return;
  until.data = thin(
    points.filter(({ x }) => x <= at),
    MOST_POINTS,
  );
  later.data = thin(
    points.filter(({ x }) => x >= at),
    MOST_POINTS,
  );
  const x = chart.options.scales?.x;
  if (x !== undefined) Object.assign(x, { min: points[0]?.x ?? 0, max: Math.max(1, points.at(-1)?.x ?? 1) });
  chart.update("none");
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
