/** How the messages of a stream say what changed, from flags and lab.yaml. */

import type { Deletes } from "../cdc/merge/cdc-field.ts";
import { type CdcOptions, CHANGE_FORMATS, type ChangeFormat, type PlainPaths } from "../cdc/options.ts";
import { TIME_COUNTS, type TimeCount } from "../cdc/time-columns.ts";
import { LabError } from "../core/errors.ts";
import { bytes, choice, type Kind, list, named, text, toggle } from "../core/setting-kinds.ts";
import { setting, type Values } from "../core/settings.ts";
import type { StreamOptions } from "../ingest/options.ts";
import type { LabStream } from "./lab-yaml.ts";

const timeColumn: Kind<[string, TimeCount]> = {
  placeholder: "column=unit",
  show: (pair) => pair.join("="),
  parse(value) {
    const [, column, word] = /^(.+)=(\w+)$/.exec(value) ?? [];
    const count = TIME_COUNTS.find((one) => one === word);
    if (column === undefined || count === undefined)
      throw new Error(`is not COLUMN=UNIT with one of ${TIME_COUNTS.join(", ")}`);
    return [column, count];
  },
};

export const CDC_SETTINGS = {
  mode: setting<"append" | "cdc" | undefined>({
    flag: "--mode",
    streamKey: "mode",
    kind: choice("append", "cdc"),
    default: undefined,
    defaultText: "append",
    description: "each message is a row, or a change of the row that has its key",
  }),
  cdcFormat: setting<ChangeFormat | undefined>({
    flag: "--cdc-format",
    streamKey: "cdc.format",
    kind: choice(...CHANGE_FORMATS),
    default: undefined,
    defaultText: "debezium",
    description: "changes: who wrote them",
  }),
  cdcKey: setting<string[]>({
    flag: "--cdc-key",
    streamKey: "cdc.key",
    kind: list(named("column")),
    default: [],
    defaultText: "the fields of the message's key",
    description: "changes: columns that make a row's key",
  }),
  cdcDeletes: setting<Deletes | undefined>({
    flag: "--cdc-deletes",
    streamKey: "cdc.deletes",
    kind: choice("hidden", "shown", "aside"),
    default: undefined,
    defaultText: "hidden",
    description:
      "changes: whether queries see rows that were deleted, marked in _cdc.deleted; aside: they are kept in the table TABLE__deletes",
  }),
  cdcKeyMemory: setting<number | undefined>({
    flag: "--cdc-key-memory",
    streamKey: "cdc.keyMemory",
    kind: bytes,
    default: undefined,
    defaultText: "1GiB",
    description:
      "changes: memory for the index of the table's keys; a larger table is looked up for each commit",
  }),
  cdcSweep: setting<boolean | undefined>({
    flag: "--cdc-sweep",
    streamKey: "cdc.sweep",
    kind: toggle,
    default: undefined,
    defaultText: "false",
    description: "changes of Debezium: after a snapshot delete rows that are older and were not in it",
  }),
  cdcPlaceholder: setting<string | undefined>({
    flag: "--cdc-placeholder",
    streamKey: "cdc.placeholder",
    kind: text,
    default: undefined,
    defaultText: "__debezium_unavailable_value",
    description: "changes of Debezium: what stands for a value that did not change",
  }),
  cdcTimes: setting<[string, TimeCount][]>({
    flag: "--cdc-times",
    streamKey: "cdc.times",
    kind: list(timeColumn),
    default: [],
    description: "changes: columns whose numbers are times, COLUMN=days, ms, us or ns since 1970",
  }),
  cdcOp: setting<string | undefined>({
    flag: "--cdc-op",
    streamKey: "cdc.op",
    kind: named("path"),
    default: undefined,
    defaultText: "op",
    description: "plain changes: where a message says what happened",
  }),
  cdcRow: setting<string | undefined>({
    flag: "--cdc-row",
    streamKey: "cdc.row",
    kind: named("path"),
    default: undefined,
    defaultText: "row",
    description: "plain changes: the object that holds the row; . for the message itself",
  }),
  cdcKeyAt: setting<string | undefined>({
    flag: "--cdc-key-at",
    streamKey: "cdc.keyAt",
    kind: named("path"),
    default: undefined,
    defaultText: "key",
    description: "plain changes: the object with the key columns, for deletes without a row",
  }),
  cdcPosition: setting<string[]>({
    flag: "--cdc-position",
    streamKey: "cdc.position",
    kind: list(named("path")),
    default: [],
    defaultText: "Kafka's offset",
    description: "plain changes: up to three whole numbers that tell which change is later",
  }),
  cdcTime: setting<string | undefined>({
    flag: "--cdc-time",
    streamKey: "cdc.time",
    kind: named("path"),
    default: undefined,
    defaultText: "none",
    description: "plain changes: when it happened, as ISO 8601 or ms since 1970",
  }),
  cdcDeleteOp: setting<string[]>({
    flag: "--cdc-delete-op",
    streamKey: "cdc.deleteOp",
    kind: list(named("word")),
    default: [],
    defaultText: "d, delete, remove",
    description: "plain changes: further words that mean a delete",
  }),
} as const;

type CdcValues = Values<typeof CDC_SETTINGS>;

/** Formats whose messages tell their key. */
const OWN_KEYS: readonly ChangeFormat[] = ["debezium", "dynamodb"];

/** Undefined for a stream whose messages are rows. CONFIG_INVALID where something is missing or has no place in such a stream. */
export function cdcOf(values: CdcValues, stream: Partial<LabStream>): CdcOptions | undefined {
  const mode = values.mode ?? stream.mode ?? "append";
  const yaml = stream.cdc ?? {};
  if (mode === "append") {
    const given =
      values.cdcFormat ?? values.cdcDeletes ?? values.cdcSweep ?? values.cdcKey[0] ?? Object.keys(yaml)[0];
    if (given === undefined) return undefined;
    throw new LabError(
      "CONFIG_INVALID",
      `${stream.topic}: there are settings for changes, and its mode is append`,
      {
        hint: "add `mode: cdc` (--mode cdc), or leave them out",
      },
    );
  }
  const format = values.cdcFormat ?? yaml.format ?? "debezium";
  const times = values.cdcTimes.length > 0 ? values.cdcTimes : Object.entries(yaml.times ?? {});
  const key = values.cdcKey.length > 0 ? values.cdcKey : yaml.key;
  const twice = key?.find((column, n) => key.indexOf(column) !== n);
  if (twice !== undefined)
    throw new LabError("CONFIG_INVALID", `${stream.topic}: the key has the column ${twice} twice`, {
      hint: "name each column of the key once",
    });
  if (key === undefined && !OWN_KEYS.includes(format))
    throw new LabError(
      "CONFIG_INVALID",
      `${stream.topic}: changes of format ${format} do not say what their key is`,
      {
        hint: "name the columns: --cdc-key id, or `cdc: { key: [id] }`",
      },
    );
  const place = format === "plain" ? undefined : placeOf(values, yaml);
  if (place !== undefined)
    throw new LabError(
      "CONFIG_INVALID",
      `${stream.topic}: ${place} says where plain changes have what they tell, and the format is ${format}`,
      {
        hint: `leave it out: ${format} says by itself, or say that the format is plain`,
      },
    );
  const sweep = values.cdcSweep ?? yaml.sweep ?? false;
  if (sweep && format !== "debezium")
    throw new LabError(
      "CONFIG_INVALID",
      `${stream.topic}: changes of format ${format} do not say where a snapshot ends, so nothing can be swept after it`,
      { hint: "leave cdc.sweep out: it is for changes of Debezium" },
    );
  const keyMemoryBytes =
    values.cdcKeyMemory ?? (yaml.keyMemory === undefined ? undefined : bytes.parse(String(yaml.keyMemory)));
  return {
    format,
    keyColumns: key,
    deletes: values.cdcDeletes ?? yaml.deletes ?? "hidden",
    placeholder: values.cdcPlaceholder ?? yaml.placeholder,
    ...(sweep ? { sweep } : {}),
    ...(keyMemoryBytes === undefined ? {} : { keyMemoryBytes }),
    ...(times.length > 0 ? { timeColumns: new Map(times) } : {}),
    ...(format === "plain" ? { plain: plainOf(values, stream) } : {}),
  };
}

/** A setting that only plain changes have, if one is given. */
function placeOf(values: CdcValues, yaml: NonNullable<LabStream["cdc"]>): string | undefined {
  const given = {
    op: values.cdcOp ?? yaml.op,
    row: values.cdcRow ?? yaml.row,
    keyAt: values.cdcKeyAt ?? yaml.keyAt,
    position: values.cdcPosition[0] ?? yaml.position,
    time: values.cdcTime ?? yaml.time,
    deleteOp: values.cdcDeleteOp[0] ?? yaml.deleteOp,
  };
  const name = Object.entries(given).find(([, value]) => value !== undefined)?.[0];
  return name && `cdc.${name}`;
}

function plainOf(values: CdcValues, { topic, cdc: yaml = {} }: Partial<LabStream>): PlainPaths {
  const row = values.cdcRow ?? yaml.row ?? "row";
  const position = values.cdcPosition.length > 0 ? values.cdcPosition : yaml.position;
  if (position !== undefined && position.length > 3)
    throw new LabError(
      "CONFIG_INVALID",
      `${topic}: a position has at most three parts, and ${position.length} are told`,
      {
        hint: "name those that tell which of two changes of a row is later, the first one first",
      },
    );
  return {
    op: values.cdcOp ?? yaml.op ?? "op",
    row: row === "." ? undefined : row,
    key: values.cdcKeyAt ?? yaml.keyAt ?? "key",
    position,
    time: values.cdcTime ?? yaml.time,
    deleteOps: values.cdcDeleteOp.length > 0 ? values.cdcDeleteOp : yaml.deleteOp,
  };
}

/** Formats whose messages can hold what changes are told by. */
export const CHANGE_MESSAGES = ["json", "avro", "protobuf"] as const;

/** CONFIG_INVALID for what an appending stream may have and one of changes may not. */
export function refuseForChanges(options: StreamOptions): void {
  const { topic, format, transform, route, keepRaw, metadata } = options;
  const refused =
    transform !== undefined
      ? "a transform"
      : route !== undefined
        ? "a route"
        : keepRaw
          ? "raw values"
          : metadata
            ? "_kafka, as _cdc says where each row is from"
            : undefined;
  if (refused !== undefined)
    throw new LabError("CONFIG_INVALID", `${topic}: a stream of changes has no place for ${refused}`, {
      hint: "leave it out, or ingest the topic a second time, as rows, into another table",
    });
  if (!CHANGE_MESSAGES.some((one) => one === format))
    throw new LabError("CONFIG_INVALID", `${topic}: messages of format ${format} are no changes`, {
      hint: `changes come in ${CHANGE_MESSAGES.join(", ")}`,
    });
}
