/** Results as text or bytes, row by row as they come: nothing but the `table` form holds more than a chunk. */

import type { Column, Value } from "../../engine/result.ts";
import { writeCsv } from "./csv.ts";
import { writeJson, writeNdjson } from "./json.ts";
import { writeMarkdown } from "./markdown.ts";
import { type TableStyle, writeTable } from "./table.ts";

export const FORMATS = ["table", "json", "ndjson", "csv", "markdown", "arrow"] as const;
export type Format = (typeof FORMATS)[number];

/** Where a result goes. `write` resolves when more may come. */
export type Output = { write(piece: string | Uint8Array): Promise<void> };

export type Rows = { columns: readonly Column[]; chunks: AsyncIterable<Value[][]> };

/** How a result looks: `width` and `color` count for `table`; `isContinued` leaves out what was said before: the head of a CSV. */
export type Style = TableStyle & { isContinued?: boolean };

/** Writes a result to its end. */
export async function writeResult(rows: Rows, format: Format, output: Output, style: Style): Promise<void> {
  switch (format) {
    case "table":
      return writeTable(rows, output, style);
    case "json":
      return writeJson(rows, output);
    case "ndjson":
      return writeNdjson(rows, output);
    case "csv":
      return writeCsv(rows, output, { withHead: !style.isContinued });
    case "markdown":
      return writeMarkdown(rows, output);
    case "arrow":
      // Loaded here because Arrow takes a while to load.
      return (await import("./arrow.ts")).writeArrow(rows, output);
  }
}
