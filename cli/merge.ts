/** `lab merge`: `lab ingest` for a topic of changes. */

import { LabError } from "../core/errors.ts";
import { choice } from "../core/setting-kinds.ts";
import type { Values } from "../core/settings.ts";
import { CHANGE_MESSAGES } from "./cdc-settings.ts";
import { defineCommand } from "./command.ts";
import { INGEST_SETTINGS, runIngest } from "./ingest.ts";
import type { LabStream } from "./lab-yaml.ts";

/** What `lab ingest` takes for messages that are rows, and changes have no place for. */
const NOT_OF_CHANGES = {
  ...{
    mode: "cdc",
    keepRaw: undefined,
    onTombstone: undefined,
    csvHeader: undefined,
    csvDelimiter: undefined,
  },
  ...{ transform: undefined, columns: [], route: undefined, maxTables: undefined, metadata: undefined },
} satisfies Partial<Values<typeof INGEST_SETTINGS>>;

const { mode, keepRaw, onTombstone, csvHeader, csvDelimiter, ...others } = INGEST_SETTINGS;
const { transform, columns, route, maxTables, metadata, ...settings } = others;

export const merge = defineCommand({
  name: "merge",
  summary: "Apply a topic of changes to a table with one row a key, each change exactly once",
  examples: [
    "lab merge --topic shop.public.customers --table customers --once",
    "lab merge --topic inventory --cdc-format dms --cdc-key id",
    "lab merge --topic prices --cdc-format plain --cdc-key sku --cdc-position seq",
    "lab merge                       the streams of ./lab.yaml with mode: cdc",
  ],
  settings: {
    ...settings,
    format: { ...settings.format, kind: choice(...CHANGE_MESSAGES) },
    flushRows: { ...settings.flushRows, defaultText: "100000" },
    flushBytes: { ...settings.flushBytes, defaultText: "64MiB" },
  },
  stops: "gracefully",
  seeAlso: ["ingest", "produce", "optimize"],
  async run(context, values) {
    const { lab } = context;
    // Of lab.yaml those streams that are of changes.
    const own =
      values.topic === undefined && lab ? { ...lab, streams: lab.streams.filter(isOfChanges) } : lab;
    if (own?.streams.length === 0 && lab && lab.streams.length > 0)
      throw new LabError("USAGE", "no stream of lab.yaml has mode: cdc", {
        hint: `give it to one of its streams (${lab.streams.map(({ topic }) => topic).join(", ")}), or give --topic T`,
      });
    return runIngest({ ...context, lab: own }, { ...values, ...NOT_OF_CHANGES }, "merge");
  },
});

const isOfChanges = ({ mode }: LabStream) => mode === "cdc";
