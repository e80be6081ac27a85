/** One chunk from messages to files and letters, and the table it needs if that is yet to be made. */

import { rm } from "node:fs/promises";
import { parseSchema } from "../delta/schema.ts";
import type { Snapshot } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import { requirePromised } from "../delta/writer-duties.ts";
import { ENFORCED } from "../engine/constraints.ts";
import type { EncodePlan, Encoder } from "../engine/encoder.ts";
import { KAFKA_FIELD } from "../engine/kafka-column.ts";
import type { RawBatch } from "../engine/raw-batch.ts";
import { TEXT_SCHEMA } from "../engine/text-source.ts";
import type { ChunkContent, Letter } from "./chunk.ts";
import { inputProperty } from "./identity.ts";
import type { StreamOptions } from "./options.ts";
import { hasKafkaColumn, tableSchema } from "./schemas.ts";

type PlanOptions = Pick<
  StreamOptions,
  "format" | "schema" | "transform" | "metadata" | "partitionBy" | "onUnknownField"
>;

/** The schema of a table that is yet to be made; null where only messages can tell it and there are none. */
export function declaredSchema(options: PlanOptions): StructType | null {
  const columns =
    options.schema?.fields ?? (options.format === "text" && !options.transform ? TEXT_SCHEMA.fields : null);
  return columns && tableSchema(columns, options.partitionBy, options.metadata);
}

/** The schema that these messages suggest for a table that is yet to be made; null where none of them tells anything. */
export async function firstSchema(
  encoder: Encoder,
  raw: RawBatch,
  options: PlanOptions,
  signal: AbortSignal,
): Promise<StructType | null> {
  const declared = declaredSchema(options);
  if (declared) return declared;
  const plan = {
    format: options.format,
    ...(options.transform === undefined ? {} : { transform: options.transform }),
  };
  const inferred = await encoder.inferSchema(raw, plan, signal);
  if (inferred) return tableSchema(inferred.fields, options.partitionBy, options.metadata);
  // Objects without a field are rows all the same.
  return (await hasRows(encoder, raw, signal))
    ? tableSchema([], options.partitionBy, options.metadata)
    : null;
}

async function hasRows(encoder: Encoder, raw: RawBatch, signal: AbortSignal): Promise<boolean> {
  if (raw.length === 0) return false;
  const { files } = await encoder.encode(raw, NO_TABLE, signal);
  await Promise.all(files.map(({ file }) => rm(file, { force: true })));
  return files.length > 0;
}

/** What tells rows from letters where there is no table: messages as they are, with nothing but where they came from. */
const NO_TABLE: EncodePlan = {
  format: "json",
  schema: { type: "struct", fields: [KAFKA_FIELD] },
  partitionColumns: [],
  metadata: true,
  onUnknownField: "ignore",
  deriveDate: false,
};

/**
 * UNSUPPORTED_FEATURE, naming what the table asks of its rows and cannot be seen to here, before any message is read. What the encoder enforces is
 * what commits promise, as long as they rest on this version's properties and schema.
 */
export async function requireWritable(
  encoder: Encoder,
  { protocol, metadata, schema, partitionColumns }: Snapshot,
  signal: AbortSignal,
): Promise<void> {
  requirePromised(protocol, metadata, ENFORCED);
  await encoder.checkConstraints({ configuration: metadata.configuration, schema, partitionColumns }, signal);
}

/** Encodes in place: afterwards the chunk holds files, letters and counts, and no messages. Without a table there are letters alone. */
export async function encodeChunk(
  chunk: ChunkContent,
  input: {
    encoder: Encoder;
    options: PlanOptions;
    /** The table, and the schema to write with; null while no message has told its columns. */
    table: { snapshot: Snapshot; schema: StructType; messages: StructType | undefined } | null;
    signal: AbortSignal;
  },
): Promise<void> {
  const { encoder, options, table, signal } = input;
  const raw = chunk.raw;
  if (!raw) return;
  const plan = table ? planFor(options, table) : NO_TABLE;
  if (raw.length > 0) {
    const encoded = await encoder.encode(raw, plan, signal);
    chunk.files = encoded.files;
    if (table) chunk.evolvedSchema = encoded.evolvedSchema;
    if (options.format === "json" && encoded.evolvedInput && encoded.evolvedInput.fields.length > 0)
      chunk.evolvedInput = encoded.evolvedInput;
    chunk.letters = encoded.bad.map((bad): Letter => {
      const copy = (bytes: Uint8Array | null) => (bytes === null ? null : Uint8Array.from(bytes));
      return {
        topic: raw.topic(bad.index),
        partition: raw.partition(bad.index),
        offset: raw.offset(bad.index),
        timestampMs: raw.timestampMs(bad.index),
        key: copy(raw.key(bad.index)),
        value: copy(raw.value(bad.index)),
        headers: raw.headers(bad.index).map(([name, value]) => [name, copy(value)] as const),
        stage: bad.stage,
        code: bad.code,
        message: bad.message,
      };
    });
    for (const [partition, { rows, skipped }] of encoded.counts) {
      const counts = chunk.counts.get(partition);
      if (!counts) continue;
      counts.rows += rows;
      counts.skipped += skipped;
    }
    for (const letter of chunk.letters) {
      const counts = chunk.counts.get(letter.partition);
      if (counts) counts.letters++;
    }
  }
  chunk.raw = null;
}

function planFor(
  options: PlanOptions,
  {
    snapshot,
    schema,
    messages,
  }: { snapshot: Snapshot; schema: StructType; messages: StructType | undefined },
): EncodePlan {
  return {
    format: options.format,
    schema,
    partitionColumns: snapshot.partitionColumns,
    configuration: snapshot.metadata.configuration,
    metadata: hasKafkaColumn(schema),
    onUnknownField: options.onUnknownField,
    deriveDate: snapshot.partitionColumns.includes("date"),
    ...(options.transform === undefined ? {} : { transform: options.transform }),
    ...(messages === undefined ? {} : { input: messages }),
  };
}

/** The schema of the topic's messages that a transform read last; undefined where the table does not say. */
export function storedInput(snapshot: Snapshot, topic: string): StructType | undefined {
  const stored = snapshot.metadata.configuration[inputProperty(topic)];
  return stored === undefined ? undefined : parseSchema(stored);
}
