/** `lab.yaml`: one zod schema, errors that point at the line, and the JSON Schema for editors. */

import { LineCounter, parseDocument } from "yaml";
import { z } from "zod";
import { CHANGE_FORMATS } from "../cdc/options.ts";
import { TIME_COUNTS } from "../cdc/time-columns.ts";
import { LabError } from "../core/errors.ts";
import { bytes, duration, type Kind } from "../core/setting-kinds.ts";
import { parsePartitioning } from "../engine/partitioning.ts";
import { TOMBSTONES } from "../formats/tombstones.ts";
import { FORMATS } from "../formats/wire.ts";
import { badLimit } from "../ingest/threshold.ts";
import { KafkaYaml } from "./kafka-yaml.ts";
import { explain, valueAt } from "./lab-yaml-errors.ts";

/** A text that a kind of setting reads; the schema keeps the text, so that editors and flags share one form. */
function spelled(kind: Kind<unknown>, example: string) {
  return z
    .union([z.string(), z.number()])
    .check((context) => {
      try {
        kind.parse(String(context.value));
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        context.issues.push({ code: "custom", message, input: context.value });
      }
    })
    .describe(`Such as ${example}.`);
}

const Flush = z
  .strictObject({
    latency: spelled(duration, "2s").describe("How long a row waits for its commit."),
    rows: z.int().min(1).describe("Rows that make a commit due."),
    bytes: spelled(bytes, "256MiB").describe("Raw bytes of values that make a commit due, of the process."),
  })
  .partial();

const Interval = z.union([z.literal("off"), spelled(duration, "1h")]);

const Upkeep = z
  .strictObject({
    optimize: Interval.describe("How often small files are joined."),
    vacuum: Interval.describe("How often files that no kept version needs are deleted."),
    rollup: Interval.describe("How often what commits say to an audit is summed up in the audit table."),
    cleanup: Interval.describe("How often old versions are dropped from the log."),
  })
  .partial();

/** Names with dots between them. */
const Path = z.string().min(1);

const Changes = z
  .strictObject({
    format: z.enum(CHANGE_FORMATS).describe("Who wrote the changes. Default: debezium."),
    key: z
      .array(z.string().min(1))
      .min(1)
      .describe("Columns that make a row's key. Default: the fields of the message's key."),
    deletes: z
      .enum(["hidden", "shown", "aside"])
      .describe(
        "Whether queries see rows that were deleted, marked in `_cdc.deleted`; aside: they are kept in the table `TABLE__deletes`. Default: hidden.",
      ),
    keyMemory: spelled(bytes, "1GiB").describe(
      "Memory for the index of the table's keys; a larger table is looked up for each commit.",
    ),
    sweep: z
      .boolean()
      .describe(
        "Debezium: once a snapshot is over, delete rows that are older and were not in it. Default: false.",
      ),
    placeholder: z
      .string()
      .min(1)
      .describe("Debezium: what stands for a value that did not change (`unavailable.value.placeholder`)."),
    times: z
      .record(z.string().min(1), z.enum(TIME_COUNTS))
      .describe("Columns whose numbers are times, by what they count since 1970."),
    op: Path.describe("Plain: where a message says what happened. Default: op."),
    row: Path.describe("Plain: the object that holds the row; `.` for the message itself. Default: row."),
    keyAt: Path.describe("Plain: the object with the key columns, for deletes without a row. Default: key."),
    position: z
      .array(Path)
      .min(1)
      .max(3)
      .describe("Plain: whole numbers that tell which change is later. Default: Kafka's offset."),
    time: Path.describe("Plain: when it happened, as ISO 8601 or ms since 1970."),
    deleteOp: z
      .array(z.string().min(1))
      .describe("Plain: further words that mean a delete, beside d, delete and remove."),
  })
  .partial();

const Stream = z.strictObject({
  topic: z.string().min(1),
  table: z.string().min(1).describe("A name in the store, or a URI. Default: from the topic.").optional(),
  format: z
    .enum(FORMATS)
    .describe("`json`: one object a message; `ndjson`: several, a line each.")
    .default("json"),
  schema: z
    .string()
    .min(1)
    .describe("`infer`, `registry`, or a file: .avsc or a folder of them, .proto, else the table's schema.")
    .optional(),
  message: z.string().min(1).describe("The Protobuf message of a .proto file that has several.").optional(),
  csv: z
    .strictObject({
      header: z.boolean().describe("Messages begin with a line of column names."),
      delimiter: z.string().length(1).describe("What stands between fields."),
    })
    .partial()
    .optional(),
  partitionBy: z
    .array(z.string().min(1))
    .check((context) => {
      try {
        parsePartitioning(context.value);
      } catch (error) {
        if (!(error instanceof LabError)) throw error;
        context.issues.push({
          code: "custom",
          message: `${error.message}: ${error.hint}`,
          input: context.value,
        });
      }
    })
    .describe(
      "Columns; `date` and `hour` are derived from the message's time in UTC, `bucket(N, column)` from a column, where messages have none.",
    )
    .optional(),
  transform: z
    .string()
    .min(1)
    .describe("DuckDB SQL over the batch, called `messages`; row by row.")
    .optional(),
  columns: z
    .record(z.string().min(1), z.string().min(1))
    .describe("Columns by expressions over the message, beside its own; instead of a transform.")
    .optional(),
  route: z
    .string()
    .min(1)
    .describe("An expression over the row: its value names the table TABLE__VALUE that it goes to.")
    .optional(),
  maxTables: z
    .int()
    .min(1)
    .describe("Tables that a route may make; what would need more becomes dead letters. Default: 100.")
    .optional(),
  keepRaw: z.boolean().describe("Also keep the value's bytes, for byte-equal replay.").optional(),
  onUnknownField: z.enum(["add", "ignore", "deadletter"]).default("add"),
  onTombstone: z
    .enum(TOMBSTONES)
    .describe("Of a message without a value. Default: a dead letter; a row for text and bytes.")
    .optional(),
  maxBad: spelled(badLimit, "50%/1000, or off")
    .describe("More bad records than that among the last ones end the stream, such as 50%/1000.")
    .optional(),
  onBadRecord: z.enum(["deadletter", "stop"]).default("deadletter"),
  flush: Flush.optional(),
  upkeep: Upkeep.optional(),
  mode: z
    .enum(["append", "cdc"])
    .describe("Each message is a row, or a change of the row that has its key. Default: append.")
    .optional(),
  cdc: Changes.optional(),
});

const Schema = z.strictObject({
  store: z.string().min(1).describe("A folder, or s3://BUCKET/PREFIX.").optional(),
  kafka: KafkaYaml.optional(),
  app: z.string().min(1).optional(),
  processes: z
    .enum(["one", "each"])
    .describe("Whether `lab up` runs all streams in one ingester, or each in one of its own. Default: one.")
    .optional(),
  defaults: z.strictObject({ flush: Flush.optional(), upkeep: Upkeep.optional() }).optional(),
  streams: z.array(Stream).default([]),
});

export type LabYaml = z.infer<typeof Schema> & {
  /** Path of the file. */
  file: string;
};
export type LabStream = z.infer<typeof Stream>;

/** The JSON Schema of the file, as it is shipped in `lab.schema.json`. */
export function labJsonSchema(): unknown {
  return { title: "lab.yaml", ...z.toJSONSchema(Schema, { io: "input" }) };
}

/** A text of a `lab.yaml`. CONFIG_INVALID names file, line, key, value and what is allowed. */
export function parseLabYaml(text: string, file: string): LabYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [broken] = document.errors;
  if (broken !== undefined) {
    const { line } = lines.linePos(broken.pos[0]);
    const message = broken.message.split("\n")[0];
    throw new LabError("CONFIG_INVALID", `${file}:${line}: ${message}`, {
      hint: "it is no YAML there",
      cause: broken,
    });
  }
  const value: unknown = document.toJS() ?? {};
  const checked = Schema.safeParse(value);
  if (checked.success) return { ...checked.data, file };
  const { issues } = checked.error;
  // A key that is spelt wrongly is why another one is missing.
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  throw explain(issue as z.core.$ZodIssue, value, { document, lines, file, schema: labJsonSchema() });
}

/** The text at a path such as `kafka.brokers`, for core/settings.ts. */
export function labText(lab: LabYaml | null): (path: string) => string | undefined {
  return (path) => {
    const value = valueAt(lab, path.split("."));
    return value === undefined ? undefined : String(value);
  };
}
