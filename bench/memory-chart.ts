/** Memory over time as rows of signs. Pure. */

import type { MemorySample } from "./memory.ts";

const COLUMNS = 70;
const ROWS = 12;

/**
 * One column a span of time, with the most of that span; `:` where the store was away, `-` along the limit. Reads from the left, in MB at
 * the side.
 */
export function memoryChart(samples: readonly MemorySample[], limitBytes: number): string[] {
  const last = samples.at(-1);
  if (last === undefined) return [];
  const columns = Array.from({ length: COLUMNS }, () => ({ bytes: 0, isCut: false }));
  for (const { atSeconds, bytes, isCut } of samples) {
    const at = Math.min(COLUMNS - 1, Math.floor((atSeconds / last.atSeconds) * COLUMNS));
    const column = columns[at] as (typeof columns)[number];
    column.bytes = Math.max(column.bytes, bytes);
    column.isCut ||= isCut;
  }
  const top = Math.max(limitBytes, ...columns.map(({ bytes }) => bytes)) * 1.05;
  const limitRow = rowOf(limitBytes, top);
  const lines = Array.from({ length: ROWS }, (_, n) => {
    const row = ROWS - 1 - n;
    const label = `${Math.round((((row + 1) / ROWS) * top) / 1e6)}`.padStart(6);
    const signs = columns.map(({ bytes, isCut }) => {
      const isFilled = bytes > 0 && rowOf(bytes, top) >= row;
      if (isFilled) return isCut ? ":" : "#";
      return row === limitRow ? "-" : " ";
    });
    return `${label} |${signs.join("")}`.trimEnd();
  });
  const axis = `${" ".repeat(7)}+${"-".repeat(COLUMNS)} ${Math.round(last.atSeconds)} s`;
  return [...lines, axis];
}

function rowOf(bytes: number, top: number): number {
  return Math.min(ROWS - 1, Math.floor((bytes / top) * ROWS));
}
