/** `lab show`: one version of a table. */

import { toJson } from "../core/ops.ts";
import { integer } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { visible } from "../query/formats/display.ts";
import { momentOf } from "../query/moment.ts";
import { describeVersion, type VersionDetail } from "../query/show.ts";
import { ASK, AT, VERSION, withQuery } from "./ask.ts";
import { defineCommand } from "./command.ts";
import { count, listing, moment, plural, size } from "./lines.ts";
import type { Screen } from "./screen.ts";

export const show = defineCommand({
  name: "show",
  summary: "Show what a version of a table is: schema, files, properties, txns",
  args: [{ name: "TABLE", description: "a table's name in the store, or its path or URI", required: true }],
  examples: [
    "lab show orders",
    "lab show orders --version 3",
    "lab show s3://lab/tables/orders --files 1000 --json",
  ],
  settings: {
    ...ASK,
    version: VERSION,
    at: AT,
    files: setting<number>({
      flag: "--files",
      env: "LAB_SHOW_FILES",
      kind: integer(0),
      default: 20,
      description: "how many files are listed",
    }),
  },
  seeAlso: ["history", "diff", "tables"],
  async run({ screen, common, signal }, values, [asked = ""]) {
    const detail = await withQuery(values, async ({ catalog }) => {
      const { name, table } = await catalog.openAny(asked, signal);
      const { version, at } = values;
      const snapshot =
        version !== undefined
          ? await table.at({ version }, signal)
          : at !== undefined
            ? await table.at({ timestampMs: momentOf(at) }, signal)
            : await table.latest(signal);
      return describeVersion(name, snapshot, values.files);
    });
    screen.out(common.json ? `${toJson(detail, 2)}\n` : page(detail, screen));
    return 0;
  },
});

function page(detail: VersionDetail, screen: Screen): string {
  const { bold } = screen.outColors;
  const { protocol } = detail;
  const features = protocol.features.length > 0 ? ` with ${protocol.features.join(", ")}` : "";
  const section = (title: string, body: string) => `\n${bold(title)}\n${body}\n`;
  const pairs = (entries: readonly (readonly [string, string])[]) =>
    entries.map(([key, value]) => `${visible(key)} = ${visible(value)}`).join("\n");
  const properties = Object.entries(detail.properties).sort(([a], [b]) => (a < b ? -1 : 1));
  const more = detail.numFiles - detail.files.length;
  return [
    `${bold(visible(detail.table))} version ${count(detail.version)}, ${moment(detail.timestamp)}\n`,
    `${plural(detail.rows, "row")}, ${plural(detail.numFiles, "file")}, ${size(detail.sizeBytes)}\n`,
    `reader ${protocol.minReaderVersion}, writer ${protocol.minWriterVersion}${features}\n`,
    section("Schema", schema(detail, screen)),
    properties.length > 0 ? section("Properties", pairs(properties)) : "",
    detail.txns.length > 0
      ? section("Transactions", pairs(detail.txns.map(({ appId, version }) => [appId, version])))
      : "",
    detail.files.length > 0 ? section("Files", files(detail, screen)) : "",
    more > 0 && detail.files.length > 0 ? `+${count(more)} more\n` : "",
  ].join("");
}

function schema(detail: VersionDetail, screen: Screen): string {
  const rows = detail.schema.map(({ name, type, nullable }) => {
    const notes = [nullable ? "" : "not null", detail.partitionColumns.includes(name) ? "partition" : ""];
    return [name, notes.filter((note) => note !== "").join(", "), type];
  });
  // The type stands last: a nested one may be as long as it likes.
  return listing({ heads: [{ name: "column" }, { name: "" }, { name: "type" }], rows }, screen);
}

function files(detail: VersionDetail, screen: Screen): string {
  const heads = [{ name: "rows", right: true }, { name: "size", right: true }, { name: "path" }];
  return listing(
    { heads, rows: detail.files.map(({ rows, sizeBytes, path }) => [count(rows), size(sizeBytes), path]) },
    screen,
  );
}
