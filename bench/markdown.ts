/** Numbers and tables as the page has them. */

import type { Measurement } from "./machine.ts";
import type { Spread } from "./spread.ts";

export const exact = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 2 });

/** Smallest, median, largest; `scale` is what one of the unit shown is in that of the numbers. */
export const three = ({ min, median, max }: Spread, scale = 1) =>
  [min, median, max].map((value) => exact(value / scale)).join(" / ");

/** When it was measured, and what else the machine did. */
export const when = ({ at, loadBefore }: Pick<Measurement, "at" | "loadBefore">) =>
  `${at.slice(0, 10)}, load before ${loadBefore}`;

export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return [heads, heads.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
