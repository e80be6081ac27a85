/** Lines of the status in columns, no wider and no more than the terminal has. Pure. */

import type { Mark, StatusLine } from "./stream-lines.ts";

export type Fit = { columns: number; rows: number; paint?: (mark: Mark, text: string) => string };

/** At most `rows` lines; what does not fit ends in `+N more`. `paint` adds colour to what signs and words say already. */
export function fitLines(
  body: readonly StatusLine[],
  { columns, rows, paint = (_, text) => text }: Fit,
): string[] {
  const room = Math.max(1, rows);
  const shown = body.length > room ? body.slice(0, room - 1) : body;
  const hidden = body.length - shown.length;
  const widths = columnWidths(shown);
  return [
    ...shown.map(({ mark, cells, indent }) => {
      const padded = cells.map((cell, n) => cell.padEnd(widths.get(`${indent}:${n}`) ?? 0));
      const aligned = `${mark.padEnd(4)} ${padded.join("  ")}`.trimEnd();
      // Where columns would push what is told off a narrow screen, only the first one is kept.
      const close = `${mark.padEnd(4)} ${[padded[0] ?? "", ...cells.slice(1)].join("  ")}`.trimEnd();
      return paint(mark, fitTo(aligned.length < columns ? aligned : close, columns));
    }),
    ...(hidden > 0 ? [`     +${hidden} more`] : []),
  ];
}

export function fitTo(line: string, columns: number): string {
  return line.length < columns ? line : `${line.slice(0, columns - 4)}...`;
}

function columnWidths(lines: readonly StatusLine[]): Map<string, number> {
  const widths = new Map<string, number>();
  for (const { cells, indent } of lines) {
    // A sentence is no row of the table.
    if (cells.length === 1) continue;
    for (const [n, cell] of cells.entries()) {
      const key = `${indent}:${n}`;
      widths.set(key, Math.max(widths.get(key) ?? 0, cell.length));
    }
  }
  return widths;
}
