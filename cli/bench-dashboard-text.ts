/** The result of `lab bench dashboard` for people. */

import type { DashboardBenchResult } from "../bench/dashboard.ts";
import type { Spread } from "../bench/spread.ts";

/** One line a figure. */
export function dashboardText({ commits, rounds, window, ...found }: DashboardBenchResult): string {
  const exact = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 1 });
  const spread = ({ min, median, max }: Spread) => [min, median, max].map(exact).join(" / ");
  const { load, drag, jump, step } = found;
  const lines: [what: string, figure: Spread, unit: string][] = [
    ["first paint", load.paintMs, "ms"],
    ["timeline of the newest versions", load.timelineMs, "ms"],
    ["rows of the newest version", load.rowsMs, "ms"],
    ["dragged: frames", drag.framesPerSecond, "a second"],
    ["dragged: 95 of 100 frames within", drag.frameMs95, "ms"],
    ["dragged: main thread for a frame", drag.mainThreadMs, "ms of 16.7"],
    ["a jump anywhere: version", jump.versionMs, "ms"],
    ["a jump anywhere: rows", jump.rowsMs, "ms"],
    ["a jump anywhere: 95 of 100 within", jump.rowsMs95, "ms"],
    ["a step: rows", step.rowsMs, "ms"],
    ["a step: 95 of 100 within", step.rowsMs95, "ms"],
  ];
  const text = lines.map(([what, figure, unit]) => `${what.padEnd(36)}${spread(figure)} ${unit}`);
  const head = `${commits.toLocaleString("en")} versions, ${window.join(" x ")} px, ${rounds} rounds after one to warm up; min / median / max`;
  return `${text.join("\n")}\n\n${head}\n`;
}
