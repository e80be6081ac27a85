/** `lab tables`: what the store holds. */

import { toJson } from "../core/ops.ts";
import { listTables, type TableSummary } from "../query/tables.ts";
import { ASK, withQuery } from "./ask.ts";
import { type Beside, besideOf } from "./beside.ts";
import { defineCommand } from "./command.ts";
import { count, type Listing, listing, moment, size } from "./lines.ts";

export const tables = defineCommand({
  name: "tables",
  summary: "List the tables of the store",
  examples: ["lab tables", "lab tables --store s3://lab/tables", "lab tables --json"],
  settings: ASK,
  seeAlso: ["show", "history", "query"],
  async run({ screen, common, signal }, values) {
    const listed = await withQuery(values, ({ catalog }) => listTables(catalog, signal));
    const names = listed.map(({ name }) => name);
    const found = listed.map((table) => ({ ...table, beside: besideOf(table.name, names) }));
    if (common.json) screen.out(`${toJson(found, 2)}\n`);
    else if (found.length === 0) screen.note(`no tables in ${values.store} yet`);
    else screen.out(`${listing(tablesPage(found), screen)}\n`);
    return 0;
  },
});

type Listed = TableSummary & { beside: Beside | null };

/** The table that another one belongs to is told only where there are such. */
export function tablesPage(tables: readonly Listed[]): Listing {
  const isTold = tables.some(({ beside }) => beside !== null);
  const heads = [
    { name: "table" },
    ...(isTold ? [{ name: "of" }] : []),
    ...["version", "rows", "files", "size"].map((name) => ({ name, right: true })),
    { name: "last commit" },
    { name: "partitioned by" },
  ];
  const rows = tables.map((table) => {
    const [name = "", ...rest] = row(table);
    return [name, ...(isTold ? [table.beside?.table ?? ""] : []), ...rest];
  });
  return { heads, rows };
}

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
