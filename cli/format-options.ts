/** What a topic's messages are, from flags and lab.yaml: format, where its schemas come from, and the table's schema if a file gives it. */

import { readFileSync, statSync } from "node:fs";
import { LabError } from "../core/errors.ts";
import { choice, named, onOff } from "../core/setting-kinds.ts";
import { setting, type Values } from "../core/settings.ts";
import { parseSchema } from "../delta/schema.ts";
import type { StructType } from "../delta/types.ts";
import { TOMBSTONES, type Tombstones } from "../formats/tombstones.ts";
import { FORMATS, type Format, type SchemaSource, type Wire } from "../formats/wire.ts";
import type { LabStream } from "./lab-yaml.ts";

export const FORMAT_SETTINGS = {
  format: setting<Format | undefined>({
    flag: "--format",
    streamKey: "format",
    kind: choice(...FORMATS),
    default: undefined,
    defaultText: "json",
    description: "what a message's value is",
  }),
  schema: setting<string | undefined>({
    flag: "--schema",
    streamKey: "schema",
    kind: named("infer|registry|file", ["infer", "registry"]),
    default: undefined,
    defaultText: "infer",
    description:
      "from the first messages, from the registry, or a file: .avsc or a folder of them, .proto, else Delta's JSON for a table yet to be made",
  }),
  message: setting<string | undefined>({
    flag: "--message",
    streamKey: "message",
    kind: named("name"),
    default: undefined,
    description: "the Protobuf message of a .proto file that has several",
  }),
  csvHeader: setting<boolean | undefined>({
    flag: "--csv-header",
    streamKey: "csv.header",
    kind: onOff,
    default: undefined,
    defaultText: "off",
    description: "CSV messages begin with a line of column names",
  }),
  csvDelimiter: setting<string | undefined>({
    flag: "--csv-delimiter",
    streamKey: "csv.delimiter",
    kind: named("character"),
    default: undefined,
    defaultText: ",",
    description: "what stands between fields of CSV",
  }),
  onTombstone: setting<Tombstones | undefined>({
    flag: "--on-tombstone",
    streamKey: "onTombstone",
    kind: choice(...TOMBSTONES),
    default: undefined,
    defaultText: "deadletter, row for text and bytes",
    description: "a message without a value is a dead letter, left out, or a row of nulls",
  }),
  keepRaw: setting<boolean | undefined>({
    flag: "--keep-raw",
    streamKey: "keepRaw",
    kind: onOff,
    default: undefined,
    defaultText: "off",
    description: "also keep the value's bytes, in _kafka.value",
  }),
} as const;

type FormatValues = Values<typeof FORMAT_SETTINGS>;

/** CONFIG_INVALID where the format lacks a schema that it cannot do without, or the file cannot be read. */
export function formatOf(
  values: FormatValues,
  stream: Partial<LabStream>,
): { wire: Wire; schema: StructType | undefined; keepRaw: boolean } {
  const format = values.format ?? stream.format ?? "json";
  const given = values.schema ?? stream.schema;
  const message = values.message ?? stream.message;
  const csv = {
    header: values.csvHeader ?? stream.csv?.header ?? false,
    delimiter: values.csvDelimiter ?? stream.csv?.delimiter ?? ",",
  };
  const tombstones = values.onTombstone ?? stream.onTombstone;
  const schemas = schemasOf(format, given);
  const isTables = given !== undefined && given !== "infer" && schemas.kind === "none";
  const schema = isTables ? readSchema(given) : undefined;
  if (format === "csv" && !csv.header && schema === undefined)
    throw new LabError("CONFIG_INVALID", `${stream.topic}: nothing names the columns of CSV`, {
      hint: "give --schema FILE with the columns in their order, or --csv-header on where each message begins with their names",
    });
  return {
    wire: {
      ...{ format, schemas, csv },
      ...(message === undefined ? {} : { message }),
      ...(tombstones === undefined ? {} : { tombstones }),
    },
    schema,
    keepRaw: values.keepRaw ?? stream.keepRaw ?? false,
  };
}

/** Formats whose bytes mean nothing without a schema of their own language. */
const OWN_LANGUAGE: Partial<Record<Format, string>> = {
  avro: "--schema FILE.avsc, or a folder of them",
  protobuf: "--schema FILE.proto",
};

function schemasOf(format: Format, given: string | undefined): SchemaSource {
  const own = OWN_LANGUAGE[format];
  if (given === "registry") {
    if (own !== undefined || format === "json") return { kind: "registry" };
    throw new LabError("CONFIG_INVALID", `messages of format ${format} do not come from a schema registry`, {
      hint: "formats of a registry are avro, protobuf and json",
    });
  }
  if (own === undefined) return { kind: "none" };
  if (given !== undefined && given !== "infer") {
    if (statSync(given, { throwIfNoEntry: false })) return { kind: "file", path: given };
    throw new LabError("CONFIG_INVALID", `there is no schema at ${given}`, { hint: own });
  }
  throw new LabError("CONFIG_INVALID", `messages of format ${format} cannot be read without their schema`, {
    hint: `say --schema registry and where it is (--registry-url URL), or ${own}`,
  });
}

function readSchema(file: string): StructType {
  try {
    return parseSchema(readFileSync(file, "utf8"));
  } catch (error) {
    throw new LabError("CONFIG_INVALID", `the schema ${file} cannot be read: ${(error as Error).message}`, {
      hint: "give a file with a schema in Delta's JSON form, or `infer`",
      cause: error,
    });
  }
}
