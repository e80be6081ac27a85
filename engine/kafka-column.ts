/** The `_kafka` column: where a row comes from (contracts.md, "Tables"). */

import {
  BIGINT,
  BLOB,
  BOOLEAN,
  DuckDBBlobValue,
  DuckDBDataChunk,
  INTEGER,
  LIST,
  listValue,
  STRUCT,
  structValue,
  UINTEGER,
  VARCHAR,
} from "@duckdb/node-api";
import type { StructField, StructType } from "../delta/types.ts";
import type { Engine } from "./instance.ts";
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

/** The struct itself, over a row `origin` of the table that `loadOrigins` fills. */
export const KAFKA_STRUCT = `struct_pack(
  topic := origin.topic, partition := origin.partition, "offset" := origin."offset", "timestamp" := make_timestamptz(origin.micros),
  timestamp_type := if(origin.is_append, 'append', 'create'), "key" := origin."key",
  headers := coalesce(origin.headers, []), generation := origin.generation)`;

const HEADER = STRUCT({ key: VARCHAR, value: BLOB });
const COLUMNS = {
  place: UINTEGER,
  partition: INTEGER,
  offset: BIGINT,
  micros: BIGINT,
  is_append: BOOLEAN,
  generation: INTEGER,
  topic: VARCHAR,
  key: BLOB,
  headers: LIST(HEADER),
};
const CHUNK_ROWS = 2048;

/**
 * (Re)makes the temporary table `origins`: one row for each of `places`, indexes of `batch`, in their order. `withValues` adds the
 * message's own bytes as `value`.
 */
export async function loadOrigins(
  engine: Engine,
  batch: RawBatch,
  places: Uint32Array,
  options: { withValues: boolean },
): Promise<void> {
  const types = options.withValues ? { ...COLUMNS, value: BLOB } : COLUMNS;
  const columns = Object.entries(types).map(([name, type]) => `"${name}" ${type}`);
  await engine.run(`CREATE OR REPLACE TEMP TABLE origins (${columns.join(", ")})`);
  const appender = await engine.connection.createAppender("origins");
  try {
    for (let start = 0; start < places.length; start += CHUNK_ROWS) {
      const some = Array.from(places.subarray(start, start + CHUNK_ROWS));
      const chunk = DuckDBDataChunk.create(Object.values(types), some.length);
      const keys = some.map((i) => batch.key(i));
      const headers = some.map((i) => batch.headers(i));
      chunk.setColumns([
        some,
        some.map((i) => batch.partition(i)),
        some.map((i) => batch.offset(i)),
        some.map((i) => BigInt(batch.timestampMs(i)) * 1000n),
        some.map((i) => batch.timestampType(i) === "append"),
        some.map((i) => batch.generation(i)),
        some.map((i) => batch.topic(i)),
        keys.map(blob),
        headers.map((list) => (list.length === 0 ? null : headerList(list))),
        ...(options.withValues ? [some.map((i) => blob(batch.value(i)))] : []),
      ]);
      appender.appendDataChunk(chunk);
    }
  } finally {
    appender.closeSync();
  }
}

function headerList(headers: ReturnType<RawBatch["headers"]>) {
  const values = headers.map(([key, value]) => structValue({ key, value: blob(value) }));
  return listValue(values);
}

function blob(bytes: Uint8Array | null): DuckDBBlobValue | null {
  return bytes === null ? null : new DuckDBBlobValue(bytes);
}
