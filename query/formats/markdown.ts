/** Rows as a Markdown table, numbers to the right. */

import { displayText, isNumeric } from "./display.ts";
import type { Output, Rows } from "./format.ts";

export async function writeMarkdown(rows: Rows, output: Output): Promise<void> {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
  await output.write(line(rows.columns.map(({ name }) => inCell(name))));
  await output.write(line(rows.columns.map(({ type }) => (isNumeric(type) ? "---:" : "---"))));
  const texts = rows.columns.map(({ type }) => displayText(type));
  for await (const chunk of rows.chunks) {
    await output.write(
      chunk
        .map((row) => line(row.map((value, index) => (value === null ? "" : inCell(texts[index]!(value))))))
        .join(""),
    );
  }
}

/** What would end the cell, or be taken for markup that hides text. */
function inCell(text: string): string {
  return text
    .replaceAll("\\", "\\\\")
    .replaceAll("|", "\\|")
    .replaceAll("<", "&lt;")
    .replaceAll("\n", "<br>");
}
