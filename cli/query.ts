/** `lab query`: SQL over the store's tables, any version of each. */

import { LabError } from "../core/errors.ts";
import { choice, toggle } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { follow } from "../query/follow.ts";
import { FORMATS, type Format, writeResult } from "../query/formats/format.ts";
import { momentOf } from "../query/moment.ts";
import type { Query } from "../query/query.ts";
import type { AskedPoint } from "../query/resolve.ts";
import { ASK, AT, NAMED_TABLES, VERSION, withQuery } from "./ask.ts";
import { type Context, defineCommand } from "./command.ts";

export const query = defineCommand({
  name: "query",
  summary: "Ask tables in SQL, as they are or as they were",
  args: [{ name: "SQL", description: "one SELECT, in DuckDB's SQL", required: true }],
  examples: [
    'lab query "SELECT count(*) FROM orders"',
    'lab query "SELECT * FROM orders AT (VERSION => 3) LIMIT 5"',
    "lab query \"SELECT * FROM orders AT (TIMESTAMP => '2026-11-29 20:15:03')\"",
    'lab query "SELECT status, sum(amount) FROM orders GROUP BY ALL" --at-offset 0:1204 --format csv',
    'lab query "SELECT id, amount FROM orders WHERE amount > 100" --follow',
    'lab query "SELECT * FROM there" --table there=s3://bucket/path/to/table',
  ],
  settings: {
    ...ASK,
    tables: NAMED_TABLES,
    version: VERSION,
    at: AT,
    atOffset: setting<{ partition: number; offset: bigint } | undefined>({
      flag: "--at-offset",
      kind: {
        placeholder: "partition:offset",
        show: ({ partition, offset }) => `${partition}:${offset}`,
        parse(value) {
          const [, partition, offset] = /^(\d{1,9}):(\d{1,18})$/.exec(value) ?? [];
          if (partition === undefined || offset === undefined)
            throw new Error("is not of the form PARTITION:OFFSET");
          return { partition: Number(partition), offset: BigInt(offset) };
        },
      },
      default: undefined,
      description: "the first version that holds this Kafka partition up to this offset",
    }),
    follow: setting<boolean>({
      flag: "--follow",
      short: "-f",
      kind: toggle,
      default: false,
      description: "print new rows as they are committed, until Ctrl+C; with --version N, those after it",
    }),
    format: setting<Format | undefined>({
      flag: "--format",
      env: "LAB_QUERY_FORMAT",
      kind: choice(...FORMATS),
      default: undefined,
      defaultText: "table",
      description: "how rows are printed; table fits the terminal, and prints all where there is none",
    }),
  },
  seeAlso: ["tables", "history", "diff"],
  async run(context, values, [sql = ""]) {
    const format = values.format ?? (context.common.json ? "json" : "table");
    const point = askedPoint(values);
    await withQuery(values, (open) =>
      values.follow ? print(open, sql, point, format, context) : printOnce(open, sql, point, format, context),
    );
    return 0;
  },
});

function askedPoint(values: {
  version: number | undefined;
  at: string | undefined;
  atOffset: { partition: number; offset: bigint } | undefined;
}): AskedPoint | undefined {
  const { version, at, atOffset } = values;
  if ([version, at, atOffset].filter((one) => one !== undefined).length > 1) {
    throw new LabError("USAGE", "--version, --at and --at-offset exclude each other", {
      hint: "give one of them",
    });
  }
  if (version !== undefined) return { version };
  if (at !== undefined) return { timestampMs: momentOf(at) };
  return atOffset;
}

async function printOnce(
  open: Query,
  sql: string,
  point: AskedPoint | undefined,
  format: Format,
  { screen, signal }: Context,
): Promise<void> {
  const running = await open.start(sql, { point, signal });
  try {
    await writeResult(running, format, screen, style(screen));
    const { read, total } = running.files;
    const exact = (value: number) => value.toLocaleString("en");
    if (total > 0) screen.note(screen.noteColors.dim(`${exact(read)} of ${exact(total)} files read`));
  } finally {
    await running.close();
  }
}

/** New rows in a form that has no end: JSON becomes one object a line, CSV has one head, a table is a box a version. */
async function print(
  open: Query,
  sql: string,
  point: AskedPoint | undefined,
  format: Format,
  { screen, signal }: Context,
): Promise<void> {
  if (format === "markdown" || format === "arrow") {
    throw new LabError("USAGE", `--follow cannot print ${format}`, {
      hint: "table, ndjson and csv can be followed",
    });
  }
  let head = "";
  await follow(open.context, sql, {
    after: point,
    signal,
    async onColumns() {
      if (format === "table") screen.note(screen.noteColors.dim("following; Ctrl+C ends it"));
    },
    async onBatch({ version, columns, chunks }) {
      if (format === "table") screen.out(`${screen.outColors.dim(`version ${version}`)}\n`);
      // A column that was added to the table joins a `SELECT *`: the head is then given again.
      const names = columns.map(({ name }) => name).join("\n");
      const isContinued = names === head;
      head = names;
      const form = format === "json" ? "ndjson" : format;
      await writeResult({ columns, chunks }, form, screen, { ...style(screen), isContinued });
    },
    onRewrite: (version) =>
      screen.note(`version ${version} changed or removed rows and is left out: lab diff shows what it did`),
  });
}

function style(screen: Context["screen"]) {
  return {
    width: screen.isOutLive ? screen.columns() : undefined,
    color: screen.outColors.isColorSupported,
  };
}
