/** `lab history`: what happened to a table, version by version. */

import { toJson } from "../core/ops.ts";
import { integer } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { readHistory, type VersionEntry } from "../query/history.ts";
import { ASK, withQuery } from "./ask.ts";
import { defineCommand } from "./command.ts";
import { count, listing, moment } from "./lines.ts";

export const history = defineCommand({
  name: "history",
  summary: "List the versions of a table, the newest first",
  args: [{ name: "TABLE", description: "a table's name in the store, or its path or URI", required: true }],
  examples: ["lab history orders", "lab history orders --limit 5", "lab history ./somewhere/flights --json"],
  settings: {
    ...ASK,
    limit: setting<number | undefined>({
      flag: "--limit",
      env: "LAB_HISTORY_LIMIT",
      kind: integer(1),
      default: undefined,
      defaultText: "all",
      description: "how many versions",
    }),
  },
  seeAlso: ["show", "diff", "query"],
  async run({ screen, common, signal }, values, [name = ""]) {
    const entries: VersionEntry[] = [];
    await withQuery(values, async ({ catalog }) => {
      const { table } = await catalog.openAny(name, signal);
      const range = values.limit === undefined ? { signal } : { limit: values.limit, signal };
      for await (const entry of readHistory(table, range)) entries.push(entry);
    });
    screen.out(
      `${common.json ? toJson(entries, 2) : listing({ heads: HEADS, rows: entries.map(row) }, screen)}\n`,
    );
    return 0;
  },
});

const HEADS = [
  { name: "version", right: true },
  { name: "time" },
  { name: "operation" },
  { name: "rows" },
  { name: "files" },
  { name: "offsets" },
];

function row(entry: VersionEntry): string[] {
  return [
    count(entry.version),
    moment(entry.timestamp),
    entry.operation,
    inAndOut(entry.rowsAdded, entry.rowsRemoved),
    inAndOut(entry.filesAdded, entry.filesRemoved),
    entry.offsets
      .map(({ topic, partition, first, last }) => `${topic}-${partition} ${first}..${last}`)
      .join(", "),
  ];
}

/** `+55`, `+3 -2`, `-2`; nothing where nothing changed. */
function inAndOut(added: string | number | null, removed: string | number | null): string {
  const isSome = (value: string | number | null) => value === null || BigInt(value) !== 0n;
  return [isSome(added) ? `+${count(added)}` : "", isSome(removed) ? `-${count(removed)}` : ""]
    .filter((part) => part !== "")
    .join(" ");
}
