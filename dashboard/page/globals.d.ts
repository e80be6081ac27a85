import type { Chart as ChartClass } from "chart.js";

declare global {
  /** Put there by /vendor/chart.js, the UMD build: it needs no import map, so the page has no inline script. */
  const Chart: typeof ChartClass;
}
