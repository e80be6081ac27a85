/**
 * The encoder that needs no DuckDB for what most streams are: JSON messages as they are. One walk fills vectors, and they are written as Parquet.
 * All else goes to another encoder, which is opened when it is needed first.
 */

import { randomUUID } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { asStoreFull } from "../engine/encode-apart.ts";
import type { Encoded, EncodedFile, EncodePlan, Encoder } from "../engine/encoder.ts";
import { KAFKA_FIELD, withRawValue } from "../engine/kafka-column.ts";
import type { RawBatch } from "../engine/raw-batch.ts";
import { plainSchema } from "../engine/text-source.ts";
import { type Columns, isTrap, openColumns } from "./columns.ts";
import { hasConditions, isPlain } from "./encoder-plan.ts";
import { inferByWalk } from "./json-infer.ts";
import { type JsonRows, readJsonRows } from "./json-rows.ts";
import { fillKafka, kafkaMembers } from "./kafka-columns.ts";
import type { LeafVector } from "./leaf-vector.ts";
import { createParquetWriter } from "./parquet-writer.ts";
import type { Compress } from "./parquet-zstd.ts";
import { isDatable, type PartitionColumn, partRows } from "./partition-rows.ts";
import { createTableBuilder, type TableBuilder } from "./table-builder.ts";

export type ColumnEncoderOptions = {
  /** Files go here. */
  stagingDir: string;
  /** Opens the encoder for all that is not plain; its files may go to the same folder. Asked once, and closed with this one. */
  openInner: () => Promise<Encoder>;
  compress: Compress;
};

/** A builder gets fast by use: those of the schemas used last are kept, the vectors' memory for the very last one only. */
const KEPT_BUILDERS = 16;

/** One batch is encoded at a time; further calls wait. */
export async function createColumnEncoder(options: ColumnEncoderOptions): Promise<Encoder> {
  const { stagingDir } = options;
  await mkdir(stagingDir, { recursive: true });
  let { columns, writer, builders } = openModule();
  let opening: Promise<Encoder> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function openModule() {
    const columns = openColumns();
    const writer = createParquetWriter(columns, { compress: options.compress });
    return { columns, writer, builders: createBuilders(columns) };
  }

  /**
   * Where the module's memory, 4 GiB, is not enough, what is in it is as far as it came: nothing of it is used any more, and the work is the other
   * encoder's.
   */
  async function orInner<T>(work: () => Promise<T>, otherwise: (other: Encoder) => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isTrap(error)) throw error;
      ({ columns, writer, builders } = openModule());
      return otherwise(await inner());
    }
  }

  function inner(): Promise<Encoder> {
    opening ??= options.openInner();
    return opening;
  }

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work, work);
    last = turn.catch(() => undefined);
    return turn;
  }

  async function encode(batch: RawBatch, asked: EncodePlan, signal: AbortSignal): Promise<Encoded> {
    const plan = asked.keepRaw ? { ...asked, schema: withRawValue(asked.schema) } : asked;
    const read = isPlain(plan)
      ? await readJsonRows(batch, plan, (schema) => builders.builderFor({ ...plan, schema }), signal)
      : undefined;
    if (read === undefined || !canDerive(batch, plan)) return (await inner()).encode(batch, asked, signal);
    const { schema, bad, places } = read;
    const counts = countRows(batch, places);
    const evolvedSchema = schema === asked.schema ? undefined : schema;
    const files = places.length === 0 ? [] : await writeFiles(batch, plan, read, signal);
    return { files, bad, counts, evolvedSchema };
  }

  async function writeFiles(
    batch: RawBatch,
    plan: EncodePlan,
    { table, places }: JsonRows,
    signal: AbortSignal,
  ): Promise<EncodedFile[]> {
    addKafka(batch, plan, table, places);
    const { timestampsMs } = batch.columns;
    const timeOf = (row: number) => timestampsMs[places[row]!]!;
    const { partitions, partitionOf } = partRows(partitionColumns(plan, table), places.length, timeOf);
    const vectorsOf = vectorsByPartition(table, partitionOf, partitions);
    const stats = {
      schema: table.schema,
      partitionColumns: plan.partitionColumns,
      configuration: plan.configuration ?? {},
    };
    const files: EncodedFile[] = [];
    try {
      for (const [i, { values, rows }] of partitions.entries()) {
        const file = join(stagingDir, `${randomUUID()}.parquet`);
        const described: EncodedFile = { file, partitionValues: values, rows, size: 0, stats: "" };
        files.push(described);
        const content = { schema: table.parquet, vectors: vectorsOf(i), rows, table: stats };
        Object.assign(described, await writer.write(file, content, signal));
      }
      return files;
    } catch (error) {
      await Promise.all(files.map(({ file }) => rm(file, { force: true })));
      signal.throwIfAborted();
      throw asStoreFull(error);
    }
  }

  /** Fills `_kafka`: for all messages at once, and where not all became rows, those that did are picked. */
  function addKafka(batch: RawBatch, plan: EncodePlan, table: TableBuilder, places: Uint32Array): void {
    const { schema, vectors, parts, kafka } = table;
    const field = schema.fields.find(({ name }) => name === KAFKA_FIELD.name);
    if (field === undefined) return;
    const isWhole = places.length === batch.length;
    const leaves = isWhole ? kafka : kafka.map((vector) => parts[vectors.indexOf(vector)]!);
    fillKafka(columns, kafkaMembers(field)!, leaves, batch, plan.keepRaw);
    if (isWhole) return;
    for (const [i, leaf] of leaves.entries()) {
      leaf.indexRows(batch.length);
      leaf.pickRows(places, kafka[i]!);
    }
  }

  const infer = async (batch: RawBatch, format: EncodePlan["format"], signal: AbortSignal) =>
    plainSchema(format) ??
    orInner(
      () => inferByWalk(columns, batch, signal),
      (other) => other.inferInput(batch, { format }, signal),
    );

  return {
    encode: (batch, plan, signal) =>
      inTurn(() =>
        orInner(
          () => encode(batch, plan, signal),
          (other) => other.encode(batch, plan, signal),
        ),
      ),
    inferSchema: (batch, plan, signal) =>
      inTurn(async () =>
        plan.transform === undefined
          ? (plan.input ?? infer(batch, plan.format, signal))
          : (await inner()).inferSchema(batch, plan, signal),
      ),
    inferInput: (batch, plan, signal) => inTurn(() => infer(batch, plan.format, signal)),
    checkConstraints: (table, signal) =>
      inTurn(async () => {
        if (hasConditions(table)) await (await inner()).checkConstraints(table, signal);
      }),
    checkTransform: (sql, input, signal, keepRaw) =>
      inTurn(async () => (await inner()).checkTransform(sql, input, signal, keepRaw)),
    checkRoute: (sql, rows, signal) => inTurn(async () => (await inner()).checkRoute(sql, rows, signal)),
    async close() {
      await last;
      await (await opening)?.close();
    },
  };
}

/** A day or an hour beyond the years that have four digits is DuckDB's to write. */
function canDerive(batch: RawBatch, { derived }: EncodePlan): boolean {
  return derived.length === 0 || batch.columns.timestampsMs.every(isDatable);
}

function partitionColumns(plan: EncodePlan, table: TableBuilder): PartitionColumn[] {
  return plan.partitionColumns.map((name) => {
    const field = table.schema.fields.find((one) => one.name === name)!;
    const derived = plan.derived.find(({ column }) => column === name);
    const isDerived = field.type === "string" && derived !== undefined && derived.kind !== "bucket";
    return { field, given: table.partitions.get(name)!, derived: isDerived ? derived.kind : undefined };
  });
}

/** The vectors of one partition's rows, valid until another one's are asked for. */
function vectorsByPartition(
  { vectors, parts }: TableBuilder,
  partitionOf: Uint32Array,
  partitions: readonly { rows: number }[],
): (partition: number) => readonly LeafVector[] {
  if (partitions.length === 1) return () => vectors;
  const rowLists = partitions.map(({ rows }) => new Uint32Array(rows));
  const filled = new Uint32Array(partitions.length);
  for (const [row, place] of partitionOf.entries()) rowLists[place]![filled[place]!++] = row;
  for (const vector of vectors) vector.indexRows(partitionOf.length);
  return (partition) => {
    for (const [i, vector] of vectors.entries()) vector.pickRows(rowLists[partition]!, parts[i]!);
    return parts;
  };
}

function countRows(batch: RawBatch, places: Uint32Array): Encoded["counts"] {
  const { partitions } = batch.columns;
  const counts: Encoded["counts"] = new Map();
  /** Neighbours are alike. */
  let partition = -1;
  let count = { rows: 0, skipped: 0 };
  const meet = (place: number) => {
    if (partitions[place] === partition) return;
    partition = partitions[place]!;
    count = counts.get(partition) ?? { rows: 0, skipped: 0 };
    counts.set(partition, count);
  };
  for (let place = 0; place < batch.length; place++) meet(place);
  for (let row = 0; row < places.length; row++) {
    meet(places[row]!);
    count.rows++;
  }
  return counts;
}

/** Builders by what they are for. */
function createBuilders(columns: Columns) {
  const kept = new Map<string, TableBuilder>();
  let last: TableBuilder | undefined;

  function forget(): void {
    for (const builder of kept.values()) builder.close();
    kept.clear();
    last = undefined;
  }

  return {
    /** Undefined where the plan, of a schema that grew, is plain no more. */
    builderFor(plan: EncodePlan): TableBuilder | undefined {
      if (!isPlain(plan)) return undefined;
      const { schema, partitionColumns } = plan;
      const ignoreUnknown = plan.onUnknownField === "ignore";
      const key = JSON.stringify([schema, partitionColumns, ignoreUnknown]);
      let builder = kept.get(key);
      if (builder === undefined) {
        if (kept.size >= KEPT_BUILDERS) forget();
        builder = createTableBuilder(columns, schema, partitionColumns, { ignoreUnknown });
        kept.set(key, builder);
      }
      if (last !== builder) last?.release();
      last = builder;
      return builder;
    },
  };
}
