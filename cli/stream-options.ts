/** From flags and lab.yaml to the streams an ingester runs. */

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { CdcOptions } from "../cdc/options.ts";
import { LabError } from "../core/errors.ts";
import {
  bytes,
  choice,
  duration,
  integer,
  list,
  named,
  onOff,
  pair,
  text,
  toggle,
} from "../core/setting-kinds.ts";
import { type SETTINGS, setting, type Values } from "../core/settings.ts";
import { bucketAndPrefix } from "../delta/store/open.ts";
import { parsePartitioning } from "../engine/partitioning.ts";
import type { Wire } from "../formats/wire.ts";
import { groupOf, tableNameOf } from "../ingest/identity.ts";
import type { StartPosition, StreamOptions } from "../ingest/options.ts";
import { type BadLimit, badLimit } from "../ingest/threshold.ts";
import { nearNames } from "../query/near-names.ts";
import { CDC_SETTINGS, cdcOf, refuseForChanges } from "./cdc-settings.ts";
import { FORMAT_SETTINGS, formatOf } from "./format-options.ts";
import type { LabStream, LabYaml } from "./lab-yaml.ts";

const start = {
  placeholder: "earliest|latest|TIME|P:OFFSET,...",
  show: () => "earliest",
  parse: parseStart,
};

/** Settings of one stream; those of `lab.yaml` are laid under the flags. */
export const STREAM_SETTINGS = {
  topic: setting<string | undefined>({
    flag: "--topic",
    streamKey: "topic",
    kind: named("topic"),
    default: undefined,
    description: "topic to read; without it the streams of lab.yaml",
  }),
  table: setting<string | undefined>({
    flag: "--table",
    streamKey: "table",
    kind: named("name|uri"),
    default: undefined,
    defaultText: "from the topic",
    description: "table to write: a name in the store, a path, file:// or s3://",
  }),
  stream: setting<string[]>({
    flag: "--stream",
    kind: list(named("topic")),
    default: [],
    description: "only these streams of lab.yaml, by topic or table",
  }),
  ...FORMAT_SETTINGS,
  ...CDC_SETTINGS,
  partitionBy: setting<string[] | undefined>({
    flag: "--partition-by",
    streamKey: "partitionBy",
    kind: list(named("column")),
    default: undefined,
    description:
      "partition columns of a table yet to be made; `date`, `hour` and `bucket(N,column)` are derived where messages have none",
  }),
  transform: setting<string | undefined>({
    flag: "--transform",
    streamKey: "transform",
    kind: named("sql"),
    default: undefined,
    description: "SQL over the batch, called messages; row by row",
  }),
  columns: setting<[string, string][]>({
    flag: "--column",
    streamKey: "columns",
    kind: list(pair, null),
    default: [],
    description: "a column by an expression over the message, NAME=SQL; instead of a transform",
  }),
  route: setting<string | undefined>({
    flag: "--route",
    streamKey: "route",
    kind: named("sql"),
    default: undefined,
    description: "an expression over the row: its value names the table TABLE__VALUE that the row goes to",
  }),
  maxTables: setting<number | undefined>({
    flag: "--max-tables",
    streamKey: "maxTables",
    kind: integer(1),
    default: undefined,
    defaultText: "100",
    description: "tables that a route may make; what would need more goes to the dead letters",
  }),
  metadata: setting<boolean | undefined>({
    flag: "--metadata",
    kind: onOff,
    default: undefined,
    defaultText: "on",
    description: "write _kafka, the column with topic, partition, offset, time, key and headers",
  }),
  flushLatency: setting<number | undefined>({
    flag: "--flush-latency",
    streamKey: "flush.latency",
    kind: duration,
    default: undefined,
    defaultText: "2s",
    description: "how long a row waits for its commit",
  }),
  flushRows: setting<number | undefined>({
    flag: "--flush-rows",
    streamKey: "flush.rows",
    kind: integer(1),
    default: undefined,
    defaultText: "1000000, 100000 of changes",
    description: "rows that make a commit due",
  }),
  flushBytes: setting<number | undefined>({
    flag: "--flush-bytes",
    streamKey: "flush.bytes",
    kind: bytes,
    default: undefined,
    defaultText: "256MiB, 64MiB of changes",
    description: "raw bytes that make a commit due",
  }),
  start: setting<StartPosition>({
    flag: "--start",
    kind: start,
    default: { kind: "earliest" },
    description: "where a partition starts that the table knows no position of",
  }),
  onBadRecord: setting<"deadletter" | "stop" | undefined>({
    flag: "--on-bad-record",
    streamKey: "onBadRecord",
    kind: choice("deadletter", "stop"),
    default: undefined,
    defaultText: "deadletter",
    description: "a message that is no row goes to the dead letters, or ends the stream",
  }),
  maxBad: setting<BadLimit | "off" | undefined>({
    flag: "--max-bad",
    streamKey: "maxBad",
    kind: badLimit,
    default: undefined,
    defaultText: "off",
    description:
      "end the stream where more than so many of its last records are bad, such as 100/1000 or 50%/1000; off, where it is said, lets all changes be bad, too",
  }),
  onUnknownField: setting<"add" | "ignore" | "deadletter" | undefined>({
    flag: "--on-unknown-field",
    streamKey: "onUnknownField",
    kind: choice("add", "ignore", "deadletter"),
    default: undefined,
    defaultText: "add",
    description: "a field the table lacks becomes a column, is left out, or makes a dead letter",
  }),
  onTopicReset: setting<"fail" | "restart" | "skip">({
    flag: "--on-topic-reset",
    kind: choice("fail", "restart", "skip"),
    default: "fail",
    description: "what to do about a topic that was deleted and made anew",
  }),
  tableProperty: setting<[string, string][]>({
    flag: "--table-property",
    kind: list(pair, null),
    default: [],
    description: "property of a table yet to be made",
  }),
  appIdForm: setting<"lab" | "kdi" | undefined>({
    flag: "--app-id-form",
    kind: choice("lab", "kdi"),
    default: undefined,
    defaultText: "as the table's txns are",
    description: "names of the txns that hold offsets; kdi to take over a table of kafka-delta-ingest's",
  }),
  group: setting<string | undefined>({
    flag: "--group",
    kind: text,
    default: undefined,
    defaultText: "from app and table",
    description: "consumer group; workers on one table share it",
  }),
  once: setting<boolean>({
    flag: "--once",
    kind: toggle,
    default: false,
    description: "up to the end offsets seen at the start, then exit",
  }),
} as const;

export const STREAM_DEFAULTS = { latencyMs: 2000, rows: 1_000_000, bytes: 256 * 1024 * 1024 };
/** Changes wait as objects until they are committed, several times their bytes. */
const CDC_DEFAULTS = { latencyMs: 2000, rows: 100_000, bytes: 64 * 1024 * 1024 };

type StreamValues = Values<typeof STREAM_SETTINGS> & Values<Pick<typeof SETTINGS, "store" | "app">>;

/** A stream, how its messages are written, and how they say what changed where they are no rows. */
export type ConfiguredStream = StreamOptions & {
  wire: Wire;
  cdc?: CdcOptions;
  /** Said in so many words, `maxBad: off`: of changes, too, all may be dead letters. */
  mayAllBeBad: boolean;
};

/**
 * The streams to run: one from `--topic`, or those of lab.yaml. Flags win over lab.yaml, for every stream alike. USAGE where there is
 * none, or where a flag that names one stream meets several.
 */
export function streamOptions(values: StreamValues, lab: LabYaml | null): ConfiguredStream[] {
  const chosen = chooseStreams(values, lab);
  if (chosen.length > 1 && (values.table ?? values.group ?? values.schema) !== undefined) {
    throw new LabError("USAGE", "--table, --group and --schema are for one stream, and there are several", {
      hint: "add --stream NAME or --topic T",
    });
  }
  const streams = chosen.map((stream) => oneStream(stream, values, lab));
  refuseClashes(chosen, streams);
  return streams;
}

/** Several topics may fill one table, where that is said; and each of them once. */
function refuseClashes(chosen: readonly Partial<LabStream>[], streams: readonly StreamOptions[]): void {
  for (const [n, { topic, tableUri }] of streams.entries()) {
    const first = streams.findIndex((one) => one.tableUri === tableUri);
    if (first === n) continue;
    if (streams.slice(0, n).some((one) => one.topic === topic && one.tableUri === tableUri))
      throw new LabError("CONFIG_INVALID", `two streams write ${topic} to ${tableUri}`, {
        hint: "each topic is written to a table once: give one of the streams another table with `table:`",
      });
    if (chosen[n]?.table === undefined || chosen[first]?.table === undefined)
      throw new LabError("CONFIG_INVALID", `${streams[first]?.topic} and ${topic} both go to ${tableUri}`, {
        hint: "if both are to fill one table, say so with `table:` in each stream; else give each its own",
      });
  }
}

function chooseStreams(values: StreamValues, lab: LabYaml | null): Partial<LabStream>[] {
  const declared = lab?.streams ?? [];
  if (values.topic !== undefined) {
    const known = declared.find(({ topic }) => topic === values.topic);
    return [known ?? { topic: values.topic }];
  }
  const nameOf = ({ topic, table }: LabStream) => table ?? tableNameOf(topic);
  for (const name of values.stream) {
    if (declared.some((stream) => stream.topic === name || nameOf(stream) === name)) continue;
    const near = nearNames(
      name,
      declared.flatMap((stream) => [stream.topic, nameOf(stream)]),
    );
    throw new LabError("USAGE", `lab.yaml has no stream ${name}`, {
      hint:
        near.length > 0 ? `did you mean ${near.join(" or ")}?` : "its streams are listed under `streams:`",
    });
  }
  const chosen = declared.filter(
    (stream) =>
      values.stream.length === 0 ||
      values.stream.includes(stream.topic) ||
      values.stream.includes(nameOf(stream)),
  );
  if (chosen.length > 0) return chosen;
  throw new LabError("USAGE", "there is no stream to ingest", {
    hint: "give --topic T, or list streams in lab.yaml",
  });
}

function oneStream(stream: Partial<LabStream>, values: StreamValues, lab: LabYaml | null): ConfiguredStream {
  const topic = stream.topic as string;
  const tableUri = tableUriOf(values.table ?? stream.table ?? tableNameOf(topic), values.store);
  const flush = { ...lab?.defaults?.flush, ...stream.flush };
  const { wire, schema, keepRaw } = formatOf(values, stream);
  const partitionBy = values.partitionBy ?? stream.partitionBy ?? [];
  // Refuses what is nothing to partition by before anything is started.
  parsePartitioning(partitionBy);
  const transform = transformOf(values, stream);
  const route = values.route ?? stream.route;
  const maxBad = values.maxBad ?? parsed(badLimit, stream.maxBad);
  if (route !== undefined && values.metadata === false)
    throw new LabError("USAGE", `${topic}: a route needs _kafka in its tables, and --metadata is off`, {
      hint: "leave --metadata on: rows that a killed run left in a routed table are known by it",
    });
  const cdc = cdcOf(values, stream);
  const defaults = cdc ? CDC_DEFAULTS : STREAM_DEFAULTS;
  const options: ConfiguredStream = {
    topic,
    tableUri,
    app: values.app,
    ...(values.appIdForm === undefined ? {} : { appIdForm: values.appIdForm }),
    group: values.group ?? groupOf(values.app, tableUri),
    format: wire.format,
    wire,
    ...(schema === undefined ? {} : { schema }),
    partitionBy,
    ...(transform === undefined ? {} : { transform }),
    ...(cdc ? { cdc } : {}),
    metadata: values.metadata ?? cdc === undefined,
    keepRaw,
    ...(route === undefined ? {} : { route }),
    maxTables: values.maxTables ?? stream.maxTables ?? 100,
    flush: {
      latencyMs: values.flushLatency ?? parsed(duration, flush.latency) ?? defaults.latencyMs,
      rows: values.flushRows ?? flush.rows ?? defaults.rows,
      bytes: values.flushBytes ?? parsed(bytes, flush.bytes) ?? defaults.bytes,
    },
    start: values.start,
    onBadRecord: values.onBadRecord ?? stream.onBadRecord ?? "deadletter",
    maxBad: maxBad === undefined || maxBad === "off" ? null : maxBad,
    mayAllBeBad: maxBad === "off",
    onUnknownField: values.onUnknownField ?? stream.onUnknownField ?? "add",
    onTopicReset: values.onTopicReset,
    tableProperties: Object.fromEntries(values.tableProperty),
    once: values.once,
  };
  if (cdc) refuseForChanges(options);
  return options;
}

function parsed<T>(kind: { parse(text: string): T }, value: string | number | undefined): T | undefined {
  return value === undefined ? undefined : kind.parse(String(value));
}

/** The canonical URI of a table: a name in the store, or a path or URI as it is. USAGE for an S3 URI without a bucket. */
export function tableUriOf(nameOrUri: string, store: string): string {
  const isName = !/[/.]|^~/.test(nameOrUri);
  const uri = isName ? `${store.replace(/\/+$/, "")}/${nameOrUri}` : nameOrUri;
  if (/^s3:\/\//i.test(uri)) {
    const { bucket, prefix } = bucketAndPrefix(uri);
    return prefix === "" ? `s3://${bucket}` : `s3://${bucket}/${prefix}`;
  }
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(uri)) return uri.replace(/\/+$/, "");
  return pathToFileURL(resolve(uri)).href.replace(/\/+$/, "");
}

/** SQL over the messages; of single columns' expressions it is made here. */
function transformOf(values: StreamValues, stream: Partial<LabStream>): string | undefined {
  const whole = values.transform ?? stream.transform;
  const columns = values.columns.length > 0 ? values.columns : Object.entries(stream.columns ?? {});
  if (columns.length === 0) return whole;
  if (whole !== undefined)
    throw new LabError("USAGE", `${stream.topic}: both a transform and single columns are given`, {
      hint: `say them in the transform: SELECT *, ${columns[0]![1]} AS ${columns[0]![0]}, ... FROM messages`,
    });
  const names = columns.map(([name, sql]) => `(${sql}) AS "${name.replaceAll('"', '""')}"`);
  return `SELECT *, ${names.join(", ")} FROM messages`;
}

function parseStart(value: string): StartPosition {
  if (value === "earliest" || value === "latest") return { kind: value };
  if (/^\d+:\d+(,\d+:\d+)*$/.test(value)) {
    const pairs = value.split(",").map((part) => part.split(":") as [string, string]);
    const next = new Map(pairs.map(([partition, offset]) => [Number(partition), BigInt(offset)]));
    if (next.size < pairs.length) throw new Error("names a partition twice");
    return { kind: "offsets", next };
  }
  const timestampMs = Date.parse(value);
  if (Number.isNaN(timestampMs))
    throw new Error("is neither earliest, latest, a time nor PARTITION:OFFSET,...");
  return { kind: "time", timestampMs };
}
