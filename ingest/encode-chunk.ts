/** One chunk from messages to files and letters, and the table it needs if that is yet to be made. */

import { rm } from "node:fs/promises";
import { parseSchema } from "../delta/schema.ts";
import { mergeSchema } from "../delta/schema-merge.ts";
import type { Snapshot } from "../delta/table.ts";
import type { Widen } from "../delta/type-widening.ts";
import type { StructField, StructType } from "../delta/types.ts";
import { requirePromised } from "../delta/writer-duties.ts";
import { ENFORCED } from "../engine/constraints.ts";
import type { BadRecord, Encoded, EncodePlan, Encoder } from "../engine/encoder.ts";
import { KAFKA_FIELD, withoutKafka } from "../engine/kafka-column.ts";
import { derivedOf } from "../engine/partitioning.ts";
import type { RawBatch } from "../engine/raw-batch.ts";
import { requireIndex } from "../engine/row-index.ts";
import { plainSchema } from "../engine/text-source.ts";
import { wideningFor } from "../engine/widening.ts";
import type { WrittenRow } from "../engine/written.ts";
import type { Format } from "../formats/wire.ts";
import { type ChunkContent, type Letter, type PartitionCounts, recordKey, removeFiles } from "./chunk.ts";
import { type Decoded, type DecodeOptions, decodeMessages, without } from "./decode.ts";
import { inputProperty } from "./identity.ts";
import type { StreamOptions } from "./options.ts";
import { hasKafkaColumn, tableSchema } from "./schemas.ts";

type PlanOptions = Pick<
  StreamOptions,
  "format" | "schema" | "transform" | "route" | "metadata" | "keepRaw" | "partitionBy" | "onUnknownField"
>;

/** The schema of a table that is yet to be made; null where only messages can tell it and there are none. */
export function declaredSchema(options: PlanOptions): StructType | null {
  const columns =
    options.schema?.fields ??
    (options.transform === undefined ? plainSchema(encoderFormat(options.format))?.fields : undefined);
  return columns ? tableSchemaOf(columns, options) : null;
}

function tableSchemaOf(columns: readonly StructField[], options: PlanOptions): StructType {
  return tableSchema(columns, options.partitionBy, options.metadata, options.keepRaw);
}

/**
 * The schema that messages suggest for a table that is yet to be made, with the columns that their format promises; null where none of
 * them tells anything.
 */
export async function firstSchema(
  encoder: Encoder,
  raw: RawBatch,
  options: PlanOptions,
  promised: StructType | null,
  signal: AbortSignal,
): Promise<StructType | null> {
  const declared = declaredSchema(options);
  if (declared) return declared;
  const format = encoderFormat(options.format);
  const suggested = await encoder.inferInput(raw, { format }, signal);
  const input = promised && raw.length > 0 ? filledUp(promised, suggested) : suggested;
  const { transform } = options;
  const inferred =
    input && transform !== undefined
      ? await encoder.inferSchema(raw, { format, transform, input, keepRaw: options.keepRaw }, signal)
      : input;
  if (inferred) return tableSchemaOf(inferred.fields, options);
  // Objects without a field are rows all the same.
  return (await hasRows(encoder, raw, signal)) ? tableSchemaOf([], options) : null;
}

/** `promised`, and the columns that only messages have. */
function filledUp(promised: StructType, suggested: StructType | null): StructType {
  const known = new Set(promised.fields.map(({ name }) => name.toLowerCase()));
  const more = suggested?.fields.filter(({ name }) => !known.has(name.toLowerCase())) ?? [];
  return { type: "struct", fields: [...promised.fields, ...more] };
}

/** What the encoder reads of a format: everything that is decoded before becomes JSON. */
function encoderFormat(format: Format): EncodePlan["format"] {
  return format === "text" || format === "bytes" ? format : "json";
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
  keepRaw: false,
  derived: [],
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

/** A table to write to: its newest version, the schema to write with, and that of the messages which a transform reads. */
export type Target = { snapshot: Snapshot; schema: StructType; messages: StructType | undefined };

export type EncodeInput = {
  encoder: Encoder;
  options: PlanOptions;
  /** How the format is read. */
  decoding: DecodeOptions;
  /**
   * The table to write to, given some of the messages and the columns that their format promises; null while no message has told its
   * columns: then there are letters alone.
   */
  targetFor: (messages: RawBatch, promised: StructType | null) => Promise<Target | null>;
  /** Why rows are not routed to a table; null where they are. */
  refuseRoute: NonNullable<EncodePlan["refuseRoute"]>;
  /** Rows that stand in routed tables already. */
  written: readonly WrittenRow[];
  signal: AbortSignal;
};

/** Encodes in place: afterwards the chunk holds files, letters and counts, and no messages. Where it fails it is as it was. */
export async function encodeChunk(chunk: ChunkContent, input: EncodeInput): Promise<void> {
  const raw = chunk.raw;
  if (!raw) return;
  const parts: Part[] = [];
  try {
    do parts.push(await encodePart(raw, chunk, parts.at(-1), input));
    while (parts.at(-1)!.end < raw.length);
  } catch (error) {
    await removeFiles(parts.map(({ encoded }) => encoded));
    throw error;
  }
  for (const { encoded, skipped, evolvedSchema, evolvedInput } of parts) {
    chunk.files.push(...encoded.files);
    chunk.letters.push(...encoded.bad.map((bad) => letterOf(raw, bad)));
    chunk.evolvedSchema = evolvedSchema ?? chunk.evolvedSchema;
    chunk.evolvedInput = evolvedInput ?? chunk.evolvedInput;
    for (const [partition, { rows, skipped }] of encoded.counts) {
      const counts = chunk.counts.get(partition);
      if (!counts) continue;
      counts.rows += rows;
      counts.skipped += skipped;
    }
    for (const place of skipped) {
      const counts = chunk.counts.get(raw.partition(place));
      if (counts) counts.skipped++;
    }
  }
  for (const letter of chunk.letters) {
    const counts = chunk.counts.get(letter.partition);
    if (counts) counts.letters++;
    chunk.audit.lettered(letter);
  }
  chunk.raw = null;
  chunk.spent = raw;
}

/** What became of the messages up to place `end` that come after those of the part before; the schemas with what all parts so far brought. */
type Part = {
  end: number;
  encoded: Encoded;
  skipped: readonly number[];
  evolvedSchema: StructType | undefined;
  evolvedInput: StructType | undefined;
};

async function encodePart(
  raw: RawBatch,
  { counts }: ChunkContent,
  before: Part | undefined,
  input: EncodeInput,
): Promise<Part> {
  const { encoder, options, decoding, signal } = input;
  const decoded = await decodeMessages(raw, decoding, before?.end ?? 0, signal);
  const promised = decoding.decoder?.schema() ?? null;
  const found = await input.targetFor(decoded.batch, promised);
  const table = found && {
    snapshot: found.snapshot,
    schema: before?.evolvedSchema ?? found.schema,
    messages: before?.evolvedInput ?? found.messages,
  };
  const target = table && promised ? grownBy(table, promised, options) : table;
  if (target && options.route !== undefined && options.format === "ndjson") requireIndex(target.schema);
  const plan: EncodePlan = target
    ? {
        ...planFor(options, target),
        ...(options.route === undefined ? {} : { route: options.route, refuseRoute: input.refuseRoute }),
        written: input.written.filter((row) => isWithin(row, counts.get(row.partition))),
      }
    : NO_TABLE;
  const encoded: Encoded =
    raw.length > 0
      ? await encodeWhole(encoder, decoded, plan, signal)
      : { files: [], bad: [], counts: new Map(), evolvedSchema: undefined };
  const part = {
    end: decoded.end,
    encoded: withoutFinal(raw, encoded, plan.written ?? []),
    skipped: decoded.skipped,
  };
  if (!table || !target) return { ...part, evolvedSchema: undefined, evolvedInput: undefined };
  const schema = encoded.evolvedSchema ?? target.schema;
  const messages = encoded.evolvedInput ?? target.messages;
  const isNew =
    messages !== table.messages && plan.format === "json" && messages && messages.fields.length > 0;
  return {
    ...part,
    evolvedSchema: schema === table.schema ? before?.evolvedSchema : schema,
    evolvedInput: isNew ? messages : before?.evolvedInput,
  };
}

/**
 * Encodes what was decoded. Letters are told by the places of the messages themselves; of a message that holds several objects one of which
 * is bad, none becomes a row.
 */
async function encodeWhole(
  encoder: Encoder,
  decoded: Decoded,
  plan: EncodePlan,
  signal: AbortSignal,
): Promise<Encoded> {
  const bad = new Map<number, BadRecord>(decoded.bad.map((record) => [record.index, record]));
  for (let messages = decoded; ; ) {
    const encoded = await encoder.encode(messages.batch, plan, signal);
    const isWhole = encoded.bad.every(({ index }) => isAlone(messages, index));
    for (const record of encoded.bad) {
      const index = messages.placeOf(record.index);
      if (!bad.has(index)) bad.set(index, { ...record, index });
    }
    if (isWhole) return { ...encoded, bad: [...bad.values()].sort((a, b) => a.index - b.index) };
    await Promise.all(encoded.files.map(({ file }) => rm(file, { force: true })));
    messages = without(messages, new Set(bad.keys()));
  }
}

/** A message whose only row stands already is that row, and no letter, whatever is thought of it now. */
function withoutFinal(raw: RawBatch, encoded: Encoded, written: readonly WrittenRow[]): Encoded {
  if (written.length === 0 || encoded.bad.length === 0) return encoded;
  const keyOf = (partition: number, offset: bigint, timestampMs: number) =>
    `${partition}/${recordKey(offset, timestampMs)}`;
  const final = new Set(
    written
      .filter(({ index }) => index === null)
      .map(({ partition, offset, timestampMs }) => keyOf(partition, offset, timestampMs)),
  );
  const counts = new Map(encoded.counts);
  const bad = encoded.bad.filter(({ index }) => {
    const partition = raw.partition(index);
    if (!final.has(keyOf(partition, raw.offset(index), raw.timestampMs(index)))) return true;
    const { rows, skipped } = counts.get(partition) ?? { rows: 0, skipped: 0 };
    counts.set(partition, { rows: rows + 1, skipped });
    return false;
  });
  return { ...encoded, bad, counts };
}

const isWithin = ({ offset }: WrittenRow, range: PartitionCounts | undefined) =>
  range !== undefined && range.first <= offset && offset <= range.last;

/** Objects of one message stand side by side. */
function isAlone({ batch, placeOf }: Decoded, index: number): boolean {
  const place = placeOf(index);
  const isBefore = index > 0 && placeOf(index - 1) === place;
  const isBehind = index + 1 < batch.length && placeOf(index + 1) === place;
  return !isBefore && !isBehind;
}

export function letterOf(raw: RawBatch, { index, stage, code, message }: BadRecord): Letter {
  const copy = (bytes: Uint8Array | null) => (bytes === null ? null : Uint8Array.from(bytes));
  return {
    topic: raw.topic(index),
    partition: raw.partition(index),
    offset: raw.offset(index),
    timestampMs: raw.timestampMs(index),
    key: copy(raw.key(index)),
    value: copy(raw.value(index)),
    headers: raw.headers(index).map(([name, value]) => [name, copy(value)] as const),
    stage,
    code,
    message,
  };
}

/**
 * The target with what the format promises beyond it: a column of the table, where no transform stands in between and new fields are
 * columns; else one of the messages. What contradicts the table's columns is left as the table has it: such messages become letters.
 */
function grownBy(table: Target, promised: StructType, options: PlanOptions): Target {
  if (options.transform !== undefined)
    return { ...table, messages: table.messages ? grown(table.messages, promised, () => true) : promised };
  if (options.onUnknownField !== "add") return table;
  return { ...table, schema: grown(table.schema, promised, wideningFor(table.snapshot)) };
}

/** `_kafka` stays the last column. */
export function grown(schema: StructType, promised: StructType, widen: Widen | undefined): StructType {
  const columns = withoutKafka(schema);
  const merged = mergeSchema(columns, promised, { widen }).schema;
  if (merged === columns) return schema;
  const kafka = schema.fields.filter((field) => field.name === KAFKA_FIELD.name);
  return { type: "struct", fields: [...merged.fields, ...kafka] };
}

function planFor(options: PlanOptions, { snapshot, schema, messages }: Target): EncodePlan {
  return {
    format: encoderFormat(options.format),
    schema,
    partitionColumns: snapshot.partitionColumns,
    configuration: snapshot.metadata.configuration,
    metadata: hasKafkaColumn(schema),
    onUnknownField: options.onUnknownField,
    keepRaw: options.keepRaw && hasKafkaColumn(schema),
    derived: derivedOf(schema, snapshot.partitionColumns),
    widen: wideningFor(snapshot),
    ...(options.transform === undefined ? {} : { transform: options.transform }),
    ...(messages === undefined ? {} : { input: messages }),
  };
}

/** The schema of the topic's messages that a transform read last; undefined where the table does not say. */
export function storedInput(snapshot: Snapshot, topic: string): StructType | undefined {
  const stored = snapshot.metadata.configuration[inputProperty(topic)];
  return stored === undefined ? undefined : parseSchema(stored);
}
