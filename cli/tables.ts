/** `lab tables`: what the store holds. */

import { toJson } from "../core/ops.ts";
import { listTables, type TableSummary } from "../query/tables.ts";
import { ASK, withQuery } from "./ask.ts";
import { defineCommand } from "./command.ts";
import { count, listing, moment, size } from "./lines.ts";

export const tables = defineCommand({
  name: "tables",
  summary: "List the tables of the store",
  examples: ["lab tables", "lab tables --store s3://lab/tables", "lab tables --json"],
  settings: ASK,
  seeAlso: ["show", "history", "query"],
  async run({ screen, common, signal }, values) {
    const found = await withQuery(values, ({ catalog }) => listTables(catalog, signal));
    if (common.json) screen.out(`${toJson(found, 2)}\n`);
    else if (found.length === 0) screen.note(`no tables in ${values.store} yet`);
    else screen.out(`${listing({ heads: HEADS, rows: found.map(row) }, screen)}\n`);
    return 0;
  },
});

const HEADS = [
  { name: "table" },
  { name: "version", right: true },
  { name: "rows", right: true },
  { name: "files", right: true },
  { name: "size", right: true },
  { name: "last commit" },
  { name: "partitioned by" },
];

function row(table: TableSummary): string[] {
  if (table.problem !== null)
    return [table.name, "?", "?", "?", "?", "?", `${table.problem.code}: ${table.problem.message}`];
  return [
    table.name,
    count(table.version),
    count(table.rows),
    count(table.numFiles),
    size(table.sizeBytes),
    moment(table.timestamp),
    table.partitionColumns.join(", "),
  ];
}
