/** Short lists for people: aligned columns under dim heads, cut at the width of the terminal. */

import { cellWidth, fit, visible } from "../query/formats/display.ts";
import type { Screen } from "./screen.ts";

export type Listing = {
  heads: readonly { name: string; right?: boolean }[];
  rows: readonly (readonly string[])[];
};

/** Lines without a newline at the end. On a terminal lines are cut to fit, elsewhere not. A column without a name that holds nothing is left out. */
export function listing({ heads, rows }: Listing, screen: Screen): string {
  const shown = rows.map((row) => row.map(visible));
  const isEmpty = (index: number) => heads[index]!.name === "" && shown.every((row) => row[index] === "");
  const widths = heads.map(({ name }, index) =>
    shown.reduce((widest, row) => Math.max(widest, cellWidth(row[index] ?? "")), cellWidth(name)),
  );
  const line = (cells: readonly string[]) => {
    const padded = cells.flatMap((cell, index) => {
      if (isEmpty(index)) return [];
      const space = " ".repeat(Math.max(0, widths[index]! - cellWidth(cell)));
      return heads[index]!.right ? space + cell : cell + space;
    });
    const whole = padded.join("  ").trimEnd();
    return screen.isOutLive ? fit(whole, screen.columns()) : whole;
  };
  const { dim } = screen.outColors;
  return [dim(line(heads.map(({ name }) => name))), ...shown.map(line)].join("\n");
}

/** `1,204`; `?` where it is not known. */
export function count(value: bigint | number | string | null): string {
  return value === null ? "?" : BigInt(value).toLocaleString("en-US");
}

/** `1 row`, `1,204 rows`. */
export function plural(value: bigint | number | string | null, noun: string): string {
  return `${count(value)} ${noun}${value !== null && BigInt(value) === 1n ? "" : "s"}`;
}

/** `3.2 MiB`; below a KiB in bytes. */
export function size(bytes: number | string | null): string {
  if (bytes === null) return "?";
  let value = Number(bytes);
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (value < 1024) return `${unit === "B" ? value : value.toFixed(1)} ${unit}`;
    value /= 1024;
  }
  return `${value.toFixed(1)} TiB`;
}

/** A moment of the lab's JSON to the second: `2026-11-29 20:15:03Z`. */
export function moment(iso: string | null): string {
  return iso === null ? "?" : `${iso.slice(0, iso.indexOf(".")).replace("T", " ")}Z`;
}
