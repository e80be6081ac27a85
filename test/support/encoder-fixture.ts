/** For tests: messages in, rows read back from the files that came out. */

import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type LosslessNumber, parse } from "lossless-json";
import { createColumnEncoder } from "../../columnar/column-encoder.ts";
import { loadZstd } from "../../columnar/parquet-zstd.ts";
import type { DataType, StructField, StructType } from "../../delta/types.ts";
import { createEncoder } from "../../engine/duckdb-encoder.ts";
import type { Encoded, EncodePlan, Encoder } from "../../engine/encoder.ts";
import { type Engine, openEngine, quoteName, textList } from "../../engine/instance.ts";
import { KAFKA_FIELD } from "../../engine/kafka-column.ts";
import { createRawBatch, type RawBatch, type RawMessage } from "../../engine/raw-batch.ts";
import { sqlType } from "../../engine/sql-types.ts";

/** A value as it was read back, by a parser that the code under test does not use. */
export type ReadValue = null | boolean | string | LosslessNumber | ReadValue[] | { [key: string]: ReadValue };
export type ReadRow = { [key: string]: ReadValue };

export const signal: AbortSignal = new AbortController().signal;
/** 2025-11-25T08:00:00Z; message i is i ms later. */
export const START_MS = 1_764_057_600_000;

export function nullable(name: string, type: DataType): StructField {
  return { name, type, nullable: true, metadata: {} };
}

export function struct(fields: Readonly<Record<string, DataType>>): StructType {
  return { type: "struct", fields: Object.entries(fields).map(([name, type]) => nullable(name, type)) };
}

export function arrayOf(elementType: DataType): DataType {
  return { type: "array", elementType, containsNull: true };
}

export function mapOf(valueType: DataType): DataType {
  return { type: "map", keyType: "string", valueType, valueContainsNull: true };
}

export function withKafka(schema: StructType): StructType {
  return { type: "struct", fields: [...schema.fields, KAFKA_FIELD] };
}

/** A plan for messages of `schema` with metadata, without partitions. */
export function planFor(schema: StructType, changes: Partial<EncodePlan> = {}): EncodePlan {
  return {
    format: "json",
    schema: withKafka(schema),
    partitionColumns: [],
    metadata: true,
    onUnknownField: "add",
    keepRaw: false,
    derived: [],
    ...changes,
  };
}

/** Message i has offset i, partition i modulo 3. */
export function batchOf(
  values: readonly (string | Uint8Array | null)[],
  changes: (index: number) => Partial<RawMessage> = () => ({}),
): RawBatch {
  const batch = createRawBatch();
  values.forEach((value, i) => {
    batch.append({
      topic: "orders",
      partition: i % 3,
      offset: BigInt(i),
      timestampMs: START_MS + i,
      timestampType: "create",
      generation: 0,
      key: null,
      value: typeof value === "string" ? Buffer.from(value) : value,
      headers: [],
      ...changes(i),
    });
  });
  return batch;
}

export type Workbench = {
  /** As the ingester has it: DuckDB only for what is not plain. */
  encoder: Encoder;
  /** DuckDB alone. */
  duckdb: Encoder;
  reader: Engine;
  stagingDir: string;
  /**
   * Encodes and reads back. Checks that each message is a row, a letter or skipped, and only one of them; and that DuckDB alone makes the same
   * of the batch.
   */
  encode(batch: RawBatch, plan: EncodePlan): Promise<{ encoded: Encoded; rows: Map<number, ReadRow> }>;
};

/** Both encoders and a DuckDB that reads their files; all end with the test. */
export async function openWorkbench(t: TestContext, options: { threads?: number } = {}): Promise<Workbench> {
  const folder = await mkdtemp(join(tmpdir(), "encoder-test-"));
  const stagingDir = join(folder, "staging");
  await mkdir(stagingDir);
  const open = (dir: string) =>
    createEncoder({ stagingDir: dir, memoryLimitBytes: 512 << 20, threads: options.threads ?? 2 });
  const duckdb = await open(join(folder, "duckdb"));
  const encoder = await createColumnEncoder({
    stagingDir,
    openInner: () => open(stagingDir),
    compress: loadZstd(1)!,
  });
  const reader = await openEngine({ memoryLimitBytes: 512 << 20, threads: 1, tempDir: null });
  t.after(async () => {
    await encoder.close();
    await duckdb.close();
    reader.close();
    await rm(folder, { recursive: true });
  });
  return {
    encoder,
    duckdb,
    reader,
    stagingDir,
    async encode(batch, plan) {
      const encoded = await encoder.encode(batch, plan, signal);
      const rows = await readRows(reader, encoded, plan);
      assert.equal(rows.size + encoded.bad.length + skipped(encoded), batch.length, "each message once");
      for (const letter of encoded.bad) assert.ok(!rows.has(letter.index), `${letter.index} is a row too`);
      assert.equal(
        [...encoded.counts.values()].reduce((sum, count) => sum + count.rows, 0),
        encoded.files.reduce((sum, file) => sum + file.rows, 0),
      );
      const expected = await duckdb.encode(batch, plan, signal);
      assert.deepEqual(withoutFiles(encoded), withoutFiles(expected));
      assert.deepEqual(describe(encoded), describe(expected));
      assert.deepEqual(rows, await readRows(reader, expected, plan));
      return { encoded, rows };
    },
  };
}

/** What an encoder says beside its files; of Kafka partitions only those with rows or skipped messages. */
function withoutFiles({ files: _, counts, ...rest }: Encoded) {
  return { ...rest, counts: new Map([...counts].filter(([, { rows, skipped }]) => rows + skipped > 0)) };
}

/** Files in any order, as the log is told of them. A byte order mark before a text is lost between DuckDB's statistics and us. */
function describe({ files }: Encoded): string[] {
  return files
    .map(({ partitionValues, route, rows, stats }) => JSON.stringify([partitionValues, route, rows, stats]))
    .map((text) => text.replaceAll("\ufeff", ""))
    .sort();
}

function skipped(encoded: Encoded): number {
  return [...encoded.counts.values()].reduce((sum, count) => sum + count.skipped, 0);
}

/** Rows by Kafka offset, as exact JSON; timestamps as micros since the epoch; doubles that are no number as text. */
async function readRows(reader: Engine, encoded: Encoded, plan: EncodePlan): Promise<Map<number, ReadRow>> {
  const rows = new Map<number, ReadRow>();
  const schema = encoded.evolvedSchema ?? plan.schema;
  for (const { file, partitionValues } of encoded.files) {
    const columns = schema.fields.filter(
      (field) => !plan.partitionColumns.includes(field.name) && field.type !== "void",
    );
    const types = columns.map(({ name, type }) => `${quoteName(name)} ${sqlType(type)}`);
    const read = await reader.rows(
      `SELECT to_json(r) AS row, CAST(r._kafka.offset AS INTEGER) AS place
       FROM (SELECT CAST(struct_pack(${columns.map(({ name }) => `${quoteName(name)} := ${quoteName(name)}`).join(", ")})
             AS STRUCT(${types.join(", ")})) AS r FROM read_parquet(${textList([file])}, hive_partitioning = false))`,
    );
    for (const { row, place } of read) {
      assert.ok(!rows.has(place as number), `offset ${place} twice`);
      rows.set(place as number, { ...(parse(row as string) as ReadRow), ...partitionValues });
    }
  }
  return rows;
}
