/** Rows as a box that fits the terminal: types under names, numbers right, what does not fit cut or left out with counts. */

import pc from "picocolors";
import type { Column, Value } from "../../engine/result.ts";
import { cellWidth, displayText, fit, isNumeric, visible } from "./display.ts";
import type { Output, Rows } from "./format.ts";

export type TableStyle = {
  /** Cells of the terminal; undefined: no terminal, so every row and value is written whole. */
  width: number | undefined;
  color: boolean;
};

/** Rows shown on a terminal; of more, the middle is left out. */
const MAX_ROWS = 40;
const MIN_WIDTH = 40;
/** Text and nested values are not cut below this, moments not below their date; then columns are left out. */
const MIN_COLUMN = 8;
const MIN_MOMENT = 11;
/** A nested type is as long as it likes: it takes no more room than this of its own. */
const MAX_TYPE = 14;
/** Without a terminal widths are those of so many rows; a wider value further on breaks its line's alignment and nothing else. */
const MEASURED_ROWS = 20_000;

type Line = readonly (string | null)[];

export async function writeTable(rows: Rows, output: Output, style: TableStyle): Promise<void> {
  if (rows.columns.length === 0) return;
  const texts = rows.columns.map(({ type }) => displayText(type));
  const toLine = (row: readonly Value[]): Line =>
    row.map((value, index) => (value === null ? null : visible(texts[index]!(value))));
  if (style.width === undefined) return writeWhole(rows, toLine, output, pc.createColors(style.color));
  const { head, tail, count } = await ends(rows, toLine);
  await output.write(
    fitted(rows.columns, head, tail, count, Math.max(style.width, MIN_WIDTH), pc.createColors(style.color)),
  );
}

/** The first and last rows, all of them where they are few. */
async function ends(rows: Rows, toLine: (row: readonly Value[]) => Line) {
  const head: Line[] = [];
  let tail: Value[][] = [];
  let count = 0;
  for await (const chunk of rows.chunks) {
    count += chunk.length;
    const free = MAX_ROWS - head.length;
    if (free > 0) head.push(...chunk.slice(0, free).map(toLine));
    if (chunk.length > free) tail = [...tail, ...chunk.slice(Math.max(0, free))].slice(-MAX_ROWS / 2);
  }
  if (count <= MAX_ROWS) return { head, tail: [], count };
  const last = [...head, ...tail.map(toLine)].slice(-MAX_ROWS / 2);
  return { head: head.slice(0, MAX_ROWS / 2), tail: last, count };
}

type Colors = ReturnType<typeof pc.createColors>;

function fitted(
  columns: readonly Column[],
  head: readonly Line[],
  tail: readonly Line[],
  count: number,
  width: number,
  colors: Colors,
): string {
  const lines = [...head, ...tail];
  const natural = measure(columns, lines);
  const { shown, widths } = fitColumns(columns, natural, width);
  const box = drawer(columns, { shown, widths, cut: true }, colors);
  const parts = [box.top(), box.header(), ...head.map(box.row)];
  if (tail.length > 0) parts.push(box.gap(), ...tail.map(box.row));
  parts.push(box.bottom());
  const visibleColumns = shown.filter((index) => index >= 0).length;
  return `${parts.join("\n")}\n${footer(count, lines.length, columns.length, visibleColumns, colors)}\n`;
}

function footer(
  rows: number,
  shownRows: number,
  columns: number,
  shownColumns: number,
  colors: Colors,
): string {
  const part = (count: number, shown: number, noun: string) =>
    `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}${shown < count ? ` (${shown} shown)` : ""}`;
  const parts = [part(rows, shownRows, "row")];
  if (shownColumns < columns) parts.push(part(columns, shownColumns, "column"));
  return colors.dim(parts.join(", "));
}

function measure(columns: readonly Column[], lines: readonly Line[]): number[] {
  return columns.map(({ name, sql }, index) => {
    const header = Math.max(cellWidth(visible(name)), Math.min(cellWidth(typeName(sql)), MAX_TYPE));
    return lines.reduce((widest, line) => Math.max(widest, cellWidth(line[index] ?? "NULL")), header);
  });
}

/**
 * Columns and widths that fit. The widest give way first, moments after the others; numbers never, because a number cut is another
 * number. Then the middle columns go, and -1 stands for them.
 */
function fitColumns(
  columns: readonly Column[],
  natural: readonly number[],
  width: number,
): { shown: number[]; widths: number[] } {
  const all = columns.map((_, index) => index);
  const least = natural.map((want, index) => Math.min(want, leastWidth(columns[index]!)));
  let shown = all;
  for (let left = all.length; left > 1 && total(shown.map((index) => least[index] ?? 1)) > width; left--) {
    const front = Math.ceil((left - 1) / 2);
    shown = [...all.slice(0, front), -1, ...all.slice(all.length - (left - 1 - front))];
  }
  const widths = shown.map((index) => natural[index] ?? 1);
  const isMoment = (at: number) => columns[shown[at]!]?.type.kind === "timestamp";
  for (let over = total(widths) - width; over > 0; over--) {
    const givers = widths.map((_, at) => at).filter((at) => widths[at]! > (least[shown[at]!] ?? 1));
    givers.sort((a, b) => Number(isMoment(a)) - Number(isMoment(b)) || widths[b]! - widths[a]!);
    // A single column wider than the terminal: even a number is cut then.
    const giver = givers[0] ?? widths.indexOf(Math.max(...widths));
    if (widths[giver]! <= 1) break;
    widths[giver]!--;
  }
  return { shown, widths };
}

function leastWidth({ type }: Column): number {
  if (type.kind === "timestamp") return MIN_MOMENT;
  return isNumeric(type) || type.kind === "date" || type.kind === "boolean"
    ? Number.POSITIVE_INFINITY
    : MIN_COLUMN;
}

/** With borders: `│ a │ b │`. */
function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + 3, 1);
}

type Layout = { shown: readonly number[]; widths: readonly number[]; cut: boolean };

function drawer(columns: readonly Column[], { shown, widths, cut }: Layout, colors: Colors) {
  const rule = (left: string, middle: string, right: string) =>
    left + widths.map((width) => "─".repeat(width + 2)).join(middle) + right;
  const line = (cell: (index: number, width: number) => string) =>
    `│${shown.map((index, at) => ` ${index < 0 ? "…" : cell(index, widths[at]!)} `).join("│")}│`;
  const pad = (text: string, width: number, right: boolean) => {
    const space = " ".repeat(Math.max(0, width - cellWidth(text)));
    return right ? space + text : text + space;
  };
  const isRight = (index: number) => isNumeric(columns[index]!.type);
  return {
    top: () => rule("┌", "┬", "┐"),
    bottom: () => rule("└", "┴", "┘"),
    header: () =>
      [
        line((index, width) =>
          colors.bold(pad(fit(visible(columns[index]!.name), width), width, isRight(index))),
        ),
        line((index, width) =>
          colors.dim(pad(fit(typeName(columns[index]!.sql), width), width, isRight(index))),
        ),
        rule("├", "┼", "┤"),
      ].join("\n"),
    row: (values: Line) =>
      line((index, width) => {
        const value = values[index] ?? null;
        if (value === null) return colors.dim(pad(fit("NULL", width), width, isRight(index)));
        return pad(cut ? fit(value, width) : value, width, isRight(index));
      }),
    gap: () => line((index, width) => colors.dim(pad("·", width, isRight(index)))),
  };
}

async function writeWhole(
  rows: Rows,
  toLine: (row: readonly Value[]) => Line,
  output: Output,
  colors: Colors,
): Promise<void> {
  let waiting: Line[] = [];
  let box: ReturnType<typeof drawer> | undefined;
  const begin = async () => {
    const shown = rows.columns.map((_, index) => index);
    box = drawer(rows.columns, { shown, widths: measure(rows.columns, waiting), cut: false }, colors);
    await output.write(
      `${box.top()}\n${box.header()}\n${waiting.map((line) => `${box!.row(line)}\n`).join("")}`,
    );
    waiting = [];
  };
  let count = 0;
  for await (const chunk of rows.chunks) {
    const lines = chunk.map(toLine);
    count += lines.length;
    if (box !== undefined) {
      const { row } = box;
      await output.write(lines.map((line) => `${row(line)}\n`).join(""));
      continue;
    }
    waiting.push(...lines);
    if (waiting.length >= MEASURED_ROWS) await begin();
  }
  if (box === undefined) await begin();
  await output.write(`${box!.bottom()}\n${footer(count, count, 0, 0, colors)}\n`);
}

function typeName(sql: string): string {
  return sql
    .replaceAll("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
    .replace(/"((?:[^"]|"")*)"|[A-Z]+/g, (word, name: string | undefined) =>
      visible(name ?? word.toLowerCase()),
    );
}
