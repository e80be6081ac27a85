/** Rows as CSV (RFC 4180, lines end in LF): nested values are JSON, NULL is nothing, the empty text is `""`. */

import { toCell } from "../cells.ts";
import type { Output, Rows } from "./format.ts";

export async function writeCsv(rows: Rows, output: Output, options: { withHead: boolean }): Promise<void> {
  const cells = rows.columns.map((column) => toCell(column.type));
  if (options.withHead) await output.write(`${rows.columns.map(({ name }) => field(name)).join(",")}\n`);
  for await (const chunk of rows.chunks) {
    const lines = chunk.map((row) => {
      const fields = row.map((value, index) => {
        const cell = cells[index]!(value);
        if (cell === null) return "";
        return field(typeof cell === "object" ? JSON.stringify(cell) : String(cell));
      });
      return `${fields.join(",")}\n`;
    });
    await output.write(lines.join(""));
  }
}

function field(text: string): string {
  return text === "" || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
