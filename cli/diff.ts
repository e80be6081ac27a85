/** `lab diff`: what two versions of a table differ in. */

import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { integer } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { diffDocument, diffVersions, type VersionDiff } from "../query/diff.ts";
import { writeResult } from "../query/formats/format.ts";
import { ASK, withQuery } from "./ask.ts";
import { defineCommand } from "./command.ts";
import { plural } from "./lines.ts";
import type { Screen } from "./screen.ts";

export const diff = defineCommand({
  name: "diff",
  summary: "Show the rows in and out between two versions of a table",
  args: [
    { name: "TABLE", description: "a table's name in the store, or its path or URI", required: true },
    { name: "FROM", description: "a version", required: true },
    { name: "TO", description: "a version", required: true },
  ],
  examples: ["lab diff orders 3 7", "lab diff orders 3 7 --rows 100000 --json", "lab diff orders 7 3"],
  settings: {
    ...ASK,
    rows: setting<number>({
      flag: "--rows",
      env: "LAB_DIFF_ROWS",
      kind: integer(0),
      default: 1000,
      description: "how many rows are listed of each side; all are counted",
    }),
  },
  seeAlso: ["history", "show", "query"],
  async run({ screen, common, signal }, values, [asked = "", from = "", to = ""]) {
    const range = { from: version(from), to: version(to), maxRows: values.rows, signal };
    const found = await withQuery(values, async (query) =>
      diffVersions(query.context, await query.catalog.openAny(asked, signal), range),
    );
    if (common.json) screen.out(`${toJson(diffDocument(found), 2)}\n`);
    else await print(found, screen);
    return 0;
  },
});

function version(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new LabError("USAGE", `${JSON.stringify(text)} is no version`, {
    hint: "lab history lists the versions",
  });
}

async function print(found: VersionDiff, screen: Screen): Promise<void> {
  screen.out(`${headLine(found)}\n`);
  for (const { property, from, to } of found.properties) {
    screen.out(`property ${property}: ${from ?? "not set"} -> ${to ?? "not set"}\n`);
  }
  const rows = [...found.removed.map((row) => ["-", ...row]), ...found.added.map((row) => ["+", ...row])];
  if (rows.length === 0) return;
  async function* chunks() {
    yield rows;
  }
  const sign = { name: "", sql: "", type: { kind: "text" } } as const;
  const style = {
    width: screen.isOutLive ? screen.columns() : undefined,
    color: screen.outColors.isColorSupported,
  };
  const left = found.rowsAdded + found.rowsRemoved - BigInt(rows.length);
  await writeResult({ columns: [sign, ...found.columns], chunks: chunks() }, "table", screen, style);
  if (left > 0n) screen.note(`${plural(left, "row")} more: --rows lists more of each side`);
}

/** `3 -> 7: 1,204 rows added, 0 removed; column note added; 5 files added, 3 removed`. */
function headLine(found: VersionDiff): string {
  const { from, to, rowsAdded, rowsRemoved, files, schema } = found;
  const rewritten = rowsAdded === 0n && rowsRemoved === 0n && files.added.length + files.removed.length > 0;
  const columns = schema.map(({ field, change, from: old, to: now }) =>
    change === "changed" ? `column ${field} changed from ${old} to ${now}` : `column ${field} ${change}`,
  );
  const parts = [
    rewritten
      ? "no rows differ, files were rewritten"
      : `${plural(rowsAdded, "row")} added, ${rowsRemoved.toLocaleString("en-US")} removed`,
    ...columns,
    `${plural(files.added.length, "file")} added, ${files.removed.length.toLocaleString("en-US")} removed`,
  ];
  return `${from} -> ${to}: ${parts.join("; ")}`;
}
