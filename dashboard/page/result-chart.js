/** A result as a picture: the first column that orders it against its numbers. */

import { count, isNumeric } from "./format.js";

/** @typedef {import("../tables.ts").QueryAnswer} Answer */
/** @typedef {{ kind: "line" | "bar", labels: string[], series: { name: string, values: (number | null)[] }[], finding: string }} Plan */

const MOST_BARS = 50;
const MOST_POINTS = 1_000;

/** What to draw, or in words why nothing can be. Pure. @param {Pick<Answer, "columns" | "rows">} answer @returns {Plan | string} */
export function planChart({ columns, rows }) {
  const numbers = columns.map(({ type }, n) => ({ type, n })).filter(({ type }) => isNumeric(type));
  const label = columns.findIndex(({ type }) => !isNumeric(type) && !/STRUCT|\[\]|MAP/.test(type));
  const x = label >= 0 ? label : 0;
  const series = numbers.filter(({ n }) => n !== x).slice(0, 4);
  if (rows.length < 2) return "A chart needs two rows or more.";
  if (series.length === 0) return "A chart needs a column of numbers beside one to order them by.";
  const type = columns[x]?.type ?? "";
  const isOrdered = /DATE|TIME/.test(type) || isNumeric(type);
  if (!isOrdered && rows.length > MOST_BARS)
    return `${count(rows.length)} bars are too many to see: group them, or order by time.`;
  const step = Math.ceil(rows.length / MOST_POINTS);
  const shown = rows.filter((_, n) => n % step === 0);
  const made = series.map(({ n }) => ({
    name: columns[n]?.name ?? "",
    values: shown.map((row) => (row[n] === null || row[n] === undefined ? null : Number(row[n]))),
  }));
  const [first] = made;
  const known = (first?.values ?? []).filter((value) => value !== null);
  const finding = `${first?.name} by ${columns[x]?.name}: from ${Math.min(...known)} to ${Math.max(...known)} over ${count(rows.length)} rows`;
  return {
    kind: isOrdered ? "line" : "bar",
    labels: shown.map((row) => String(row[x] ?? "NULL")),
    series: made,
    finding,
  };
}

/** Draws it; whoever draws anew destroys the one before. @param {HTMLCanvasElement} canvas @param {Plan} plan */
export function drawChart(canvas, { kind, labels, series, finding }) {
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const colours = [of("--info"), of("--ok"), of("--pinned"), of("--warn")];
  canvas.setAttribute("aria-label", finding);
  const ticks = { color: of("--muted"), maxTicksLimit: 8 };
  return new Chart(canvas, {
    type: kind,
    data: {
      labels,
      datasets: series.map(({ name, values }, n) => ({
        label: name,
        data: values,
        borderColor: colours[n] ?? "",
        backgroundColor: colours[n] ?? "",
        borderWidth: kind === "line" ? 2 : 0,
        borderDash: n === 0 ? [] : [2 + 2 * n, 3],
        pointRadius: 0,
        pointHitRadius: 10,
      })),
    },
    options: {
      animation: false,
      maintainAspectRatio: false,
      plugins: { legend: { display: series.length > 1, labels: { color: of("--text") } } },
      scales: { x: { ticks, grid: { display: false } }, y: { ticks, grid: { color: of("--hair") } } },
    },
  });
}
