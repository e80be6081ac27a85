/** The line of rows over versions, in two colours that meet at the cursor: where only the cursor moves, nothing is laid out anew. */

import { count } from "./format.js";
import { thin } from "./model.js";

/** @typedef {{ x: number, y: number }} Point */

const MOST_POINTS = 250;
/** Which of the two lines is which. */
const UNTIL = 0;

/** @param {HTMLCanvasElement} canvas */
export function rowsPicture(canvas) {
  /** @type {readonly Point[]} */
  let points = [];
  let at = Number.POSITIVE_INFINITY;
  /** The last point up to the cursor. @type {Point | undefined} */
  let mark;
  let isLive = true;
  const { text, line, fill, grid, later, pinned, live } = tokens();

  /** Both lines have all points, and each is drawn on its side of the cursor. @type {import("chart.js").Plugin<"line">} */
  const sides = {
    id: "sides",
    beforeDatasetDraw({ ctx, chartArea, scales }, { index, meta }) {
      const { left, right, top, bottom } = chartArea;
      const place = scales.x?.getPixelForValue(mark?.x ?? at) ?? right;
      const [from, to] = index === UNTIL ? [left, place] : [place, right];
      ctx.save();
      ctx.beginPath();
      // A line at the edge is as wide as any other.
      ctx.rect(from - (index === UNTIL ? 2 : 0), top - 2, to - from + 2, bottom - top + 4);
      ctx.clip();
      if (index !== UNTIL || points.length === 0) return;
      // The library fills before anybody can say how far.
      const drawn = /** @type {import("chart.js").LineElement} */ (/** @type {unknown} */ (meta.dataset));
      ctx.beginPath();
      drawn.path(ctx);
      for (const side of [drawn.points.at(-1), drawn.points[0]]) ctx.lineTo(side?.x ?? left, bottom);
      ctx.fillStyle = fill;
      ctx.fill();
    },
    afterDatasetDraw({ ctx }) {
      ctx.restore();
    },
    afterDatasetsDraw({ ctx, chartArea, scales }) {
      const { x, y } = scales;
      if (mark === undefined || x === undefined || y === undefined) return;
      const [left, top] = [x.getPixelForValue(mark.x), y.getPixelForValue(mark.y)];
      ctx.fillStyle = isLive ? live : pinned;
      ctx.fillRect(left - 0.5, chartArea.top, 1, chartArea.height);
      ctx.beginPath();
      ctx.arc(left, top, 4.5, 0, 2 * Math.PI);
      ctx.fill();
    },
  };
  const common = /** @type {const} */ ({ pointRadius: 0, pointHitRadius: 12, stepped: false });
  const ticks = {
    color: text,
    maxTicksLimit: 6,
    precision: 0,
    callback: (/** @type {string | number} */ n) => count(n),
  };
  const before = { ...common, label: "Rows", borderColor: line, borderWidth: 2 };
  const after = { ...common, label: "Rows, later versions", borderColor: later, borderWidth: 1.5 };
  /** @type {import("chart.js").Chart<"line", Point[]>} */
  const chart = new Chart(canvas, {
    type: "line",
    data: {
      datasets: [
        { ...before, data: [] },
        { ...after, borderDash: [3, 4], data: [] },
      ],
    },
    plugins: [sides],
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
          filter: ({ datasetIndex, parsed }) => (datasetIndex === UNTIL) === Number(parsed.x) <= at,
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

  return {
    /** @param {readonly Point[]} next the same as before where only the cursor moved @param {number | null} version @param {boolean} isAtNewest */
    show(next, version, isAtNewest) {
      at = version ?? Number.POSITIVE_INFINITY;
      mark = next.findLast(({ x }) => x <= at);
      isLive = isAtNewest;
      if (next === points) return chart.draw();
      points = next;
      const shown = thin(points, MOST_POINTS);
      for (const dataset of chart.data.datasets) dataset.data = shown;
      const x = chart.options.scales?.x;
      if (x !== undefined)
        Object.assign(x, { min: points[0]?.x ?? 0, max: Math.max(1, points.at(-1)?.x ?? 1) });
      chart.update("none");
    },
    close: () => chart.destroy(),
  };
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
