/** The `_kafka` column: where a row comes from (contracts.md, "Tables"). */

import {
  BIGINT,
  BLOB,
  DOUBLE,
  DuckDBBlobValue,
  DuckDBDataChunk,
  type DuckDBType,
  type DuckDBValue,
  INTEGER,
  LIST,
  listValue,
  STRUCT,
  structValue,
  UINTEGER,
  VARCHAR,
} from "@duckdb/node-api";
import type { StructField, StructType } from "../delta/types.ts";
import { type Engine, quoteText } from "./instance.ts";
import type { RawBatch } from "./raw-batch.ts";

const nullable = (name: string, type: StructField["type"]): StructField => ({
  name,
  type,
  nullable: true,
  metadata: {},
});

/** The column as a schema has it; always the last one. */
export const KAFKA_FIELD: StructField = nullable("_kafka", {
  type: "struct",
  fields: [
    nullable("topic", "string"),
    nullable("partition", "integer"),
    nullable("offset", "long"),
    nullable("timestamp", "timestamp"),
    nullable("timestamp_type", "string"),
    nullable("key", "binary"),
    nullable("headers", {
      type: "array",
      elementType: { type: "struct", fields: [nullable("key", "string"), nullable("value", "binary")] },
      containsNull: true,
    }),
    nullable("generation", "integer"),
  ],
});

/** `schema` without `_kafka`. */
export function withoutKafka(schema: StructType): StructType {
  return { type: "struct", fields: schema.fields.filter((field) => field.name !== KAFKA_FIELD.name) };
}

/** Rows of the temporary table `origins` as SQL, for queries that call it `origin`. */
export type Origins = {
  /** The value of `_kafka`. */
  kafka: string;
  /** The day of the message's time in UTC, as YYYY-MM-DD. */
  day: string;
};

const HEADERS = LIST(STRUCT({ key: VARCHAR, value: BLOB }));
/** As many rows as fit a data chunk. */
const CHUNK_ROWS = 2048;

/** A column of `origins`, or what stands for it in SQL where all rows have the same. */
type Column = { name: string; type: DuckDBType; values(places: readonly number[]): DuckDBValue[] };

/**
 * (Re)makes the temporary table `origins`: one row for each of `places`, indexes of `batch`, in their order, with `place` itself and,
 * with `withValues`, the message's own key and value as bytes. What is the same for all rows becomes a constant: filling
 * vectors from here costs more than all that DuckDB does with them.
 */
export async function loadOrigins(
  engine: Engine,
  batch: RawBatch,
  places: Uint32Array,
  options: { withValues: boolean },
): Promise<Origins> {
  const each = (name: string, type: DuckDBType, value: (i: number) => DuckDBValue): Column => ({
    name,
    type,
    values: (some) => some.map(value),
  });
  const columns = [
    each("place", UINTEGER, (i) => i),
    each("offset", BIGINT, (i) => batch.offset(i)),
    each("ms", DOUBLE, (i) => batch.timestampMs(i)),
  ];
  const has = (is: (place: number) => boolean) => places.some(is);
  function constantOr<T extends string | number>(
    name: string,
    type: DuckDBType,
    value: (i: number) => T,
  ): string {
    const first = places.length === 0 ? undefined : value(places[0]!);
    if (first !== undefined && !has((i) => value(i) !== first))
      return typeof first === "string" ? quoteText(first) : `${first}::${type}`;
    columns.push(each(name, type, value));
    return `origin."${name}"`;
  }
  const topic = constantOr("topic", VARCHAR, (i) => batch.topic(i));
  const partition = constantOr("partition", INTEGER, (i) => batch.partition(i));
  const timestampType = constantOr("timestamp_type", VARCHAR, (i) => batch.timestampType(i));
  const generation = constantOr("generation", INTEGER, (i) => batch.generation(i));
  let key = "NULL::BLOB";
  if (options.withValues || has((i) => batch.key(i) !== null)) {
    key = 'origin."key"';
    columns.push(each("key", BLOB, (i) => blob(batch.key(i))));
  }
  let headers = `[]::${HEADERS}`;
  if (has((i) => batch.headers(i).length > 0)) {
    headers = "origin.headers";
    columns.push(each("headers", HEADERS, (i) => headerList(batch.headers(i))));
  }
  if (options.withValues) columns.push(each("value", BLOB, (i) => blob(batch.value(i))));

  await fill(engine, columns, places);
  const micros = "origin.ms::BIGINT * 1000";
  return {
    day: `make_timestamp(${micros})::DATE::VARCHAR`,
    kafka: `struct_pack(topic := ${topic}, partition := ${partition}, "offset" := origin."offset", "timestamp" := make_timestamptz(${micros}),
      timestamp_type := ${timestampType}, "key" := ${key}, headers := ${headers}, generation := ${generation})`,
  };
}

async function fill(engine: Engine, columns: readonly Column[], places: Uint32Array): Promise<void> {
  const names = columns.map(({ name, type }) => `"${name}" ${type}`);
  await engine.run(`CREATE OR REPLACE TEMP TABLE origins (${names.join(", ")})`);
  const types = columns.map(({ type }) => type);
  const appender = await engine.connection.createAppender("origins");
  try {
    for (let start = 0; start < places.length; start += CHUNK_ROWS) {
      const some = Array.from(places.subarray(start, start + CHUNK_ROWS));
      const chunk = DuckDBDataChunk.create(types, some.length);
      chunk.setColumns(columns.map((column) => column.values(some)));
      appender.appendDataChunk(chunk);
    }
  } finally {
    appender.closeSync();
  }
}

function headerList(headers: ReturnType<RawBatch["headers"]>): DuckDBValue {
  return listValue(headers.map(([key, value]) => structValue({ key, value: blob(value) })));
}

function blob(bytes: Uint8Array | null): DuckDBBlobValue | null {
  return bytes === null ? null : new DuckDBBlobValue(bytes);
}
