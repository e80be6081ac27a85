/** `lab delete`, `lab update`, `lab overwrite`: rows of a table changed in one version. */

import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { list, named, pair, toggle } from "../core/setting-kinds.ts";
import { setting, type Values } from "../core/settings.ts";
import type { Table } from "../delta/table.ts";
import type { ChangeResult } from "../upkeep/change.ts";
import { deleteRows } from "../upkeep/delete.ts";
import { overwriteRows } from "../upkeep/overwrite.ts";
import { updateRows } from "../upkeep/update.ts";
import { type Context, defineCommand } from "./command.ts";
import { plural } from "./lines.ts";
import { WORK, withTable, workbenchOptions } from "./work-settings.ts";

const TABLE = {
  name: "TABLE",
  description: "a table's name in the store, or its path or URI",
  required: true,
};

const WHERE = setting<string | undefined>({
  flag: "--where",
  kind: named("sql"),
  default: undefined,
  description: "which rows: a condition over the table's columns, in DuckDB's SQL",
});

const ALL = setting<boolean>({
  flag: "--all",
  kind: toggle,
  default: false,
  description: "every row of the table",
});

export const deleteCommand = defineCommand({
  name: "delete",
  summary: "Delete rows of a table",
  args: [TABLE],
  examples: ["lab delete orders --where \"customer = 'c-17'\"", "lab delete orders --all"],
  settings: { where: WHERE, all: ALL, ...WORK },
  stops: "tidily",
  seeAlso: ["update", "restore", "history"],
  run: (context, values, [name = ""]) => {
    const where = chosenRows(values);
    return change(context, values, name, (table) =>
      deleteRows(table, {
        ...workbenchOptions(values),
        ...(where === undefined ? {} : { where }),
        signal: context.signal,
      }),
    );
  },
});

export const update = defineCommand({
  name: "update",
  summary: "Set columns of rows of a table",
  args: [TABLE],
  examples: [
    'lab update orders --set "status=\'shipped\'" --where "id = 17"',
    'lab update orders --set "amount=amount * 100" --all',
  ],
  settings: {
    set: setting<[string, string][]>({
      flag: "--set",
      kind: { ...list(pair, null), placeholder: "column=sql" },
      default: [],
      description: "a column and its new value, in DuckDB's SQL over the row as it was; may be repeated",
    }),
    where: WHERE,
    all: ALL,
    ...WORK,
  },
  stops: "tidily",
  seeAlso: ["delete", "overwrite", "history"],
  run: (context, values, [name = ""]) => {
    const where = chosenRows(values);
    return change(context, values, name, (table) =>
      updateRows(table, {
        ...workbenchOptions(values),
        set: Object.fromEntries(values.set),
        ...(where === undefined ? {} : { where }),
        signal: context.signal,
      }),
    );
  },
});

export const overwrite = defineCommand({
  name: "overwrite",
  summary: "Replace rows of a table by those of a query",
  args: [TABLE],
  examples: [
    'lab overwrite orders --select "SELECT DISTINCT * FROM current" --all',
    "lab overwrite orders --select \"FROM 'fixed.parquet'\" --where \"date = '2026-11-29'\"",
    "lab overwrite orders --select \"FROM 'days.parquet'\" --partitions",
  ],
  settings: {
    select: setting<string | undefined>({
      flag: "--select",
      kind: named("sql"),
      default: undefined,
      description: "the new rows, in DuckDB's SQL; `current` is the table as it is",
    }),
    where: WHERE,
    partitions: setting<boolean>({
      flag: "--partitions",
      kind: toggle,
      default: false,
      description: "replace the partitions that the new rows fall into",
    }),
    all: ALL,
    ...WORK,
  },
  stops: "tidily",
  seeAlso: ["delete", "update", "restore"],
  run: (context, values, [name = ""]) => {
    const { select, where, partitions, all } = values;
    if (select === undefined)
      throw new LabError("USAGE", "overwrite needs the new rows", { hint: 'give --select "SELECT ..."' });
    if ([where !== undefined, partitions, all].filter(Boolean).length !== 1)
      throw new LabError("USAGE", "overwrite needs to know what the new rows replace", {
        hint: "give one of --where, --partitions and --all",
      });
    const replace = where !== undefined ? { where } : partitions ? "partitions" : "table";
    return change(context, values, name, (table) =>
      overwriteRows(table, { ...workbenchOptions(values), select, replace, signal: context.signal }),
    );
  },
});

/** The condition; undefined for all rows, which must be said. */
function chosenRows({ where, all }: { where: string | undefined; all: boolean }): string | undefined {
  if ((where !== undefined) !== all) return where;
  const message = all ? "--where and --all contradict each other" : "it is not said which rows are meant";
  throw new LabError("USAGE", message, { hint: "give --where CONDITION, or --all" });
}

async function change(
  context: Context,
  values: Values<typeof WORK>,
  name: string,
  work: (table: Table) => Promise<ChangeResult>,
): Promise<number> {
  const { screen, common } = context;
  const result = await withTable(context, values, name, work);
  screen.out(common.json ? `${toJson(result, 2)}\n` : `${told(name, result)}\n`);
  return 0;
}

function told(name: string, result: ChangeResult): string {
  if (result.version === null) return `${name}: no row is meant, so nothing changed`;
  const parts = (["deleted", "updated", "inserted"] as const)
    .filter((what) => result[what] > 0n)
    .map((what) => `${plural(result[what], "row")} ${what}`);
  const files = `${plural(result.filesRemoved, "file")} replaced by ${result.filesAdded}`;
  return `${name}: ${parts.length > 0 ? parts.join(", ") : "no rows"}, ${files}, version ${result.version}`;
}
