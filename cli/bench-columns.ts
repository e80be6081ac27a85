/** Columns of text for the results of `lab bench`. */

import type { Spread } from "../bench/spread.ts";

/** Rows under their heads, each column as wide as it needs, a line each. */
export function columns(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((head, at) => Math.max(head.length, ...rows.map((row) => row[at]!.length)) + 2);
  const lines = [heads, ...rows].map((row) => row.map((cell, at) => cell.padEnd(widths[at]!)).join(""));
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}

/** `1,204.5`. */
export const exact = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 2 });

/** Smallest, middle and largest. */
export const threeOf = ({ min, median, max }: Spread) => [min, median, max].map(exact).join(" / ");

/** Millions of bytes. */
export const megabytes = (bytes: number) => `${exact(Math.round(bytes / 1e6))} MB`;
