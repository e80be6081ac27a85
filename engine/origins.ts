/** Where messages come from, as a table beside them: what `_kafka` is made of. */

import { setImmediate as nextTurn } from "node:timers/promises";
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
import { type Engine, quoteText } from "./instance.ts";
import type { RawBatch } from "./raw-batch.ts";

/** Rows of the temporary table `origins` as SQL, for queries that call it `origin`. */
export type Origins = {
  /** The fields of `_kafka` by name. */
  members: ReadonlyMap<string, string>;
  /** The message's time as a TIMESTAMP in UTC. */
  time: string;
};

export type OriginsOptions = {
  engine: Engine;
  batch: RawBatch;
  /** Indexes of the batch: one row for each, in their order. */
  places: Uint32Array;
  /** The message's own key and value are there as columns of bytes. */
  withValues: boolean;
  /** `_kafka` has the values' bytes as they came. */
  keepRaw: boolean;
  /** The index itself is there as `place`. */
  withPlaces: boolean;
  signal: AbortSignal;
};

/** A column of `origins`: the value of each message. */
type Column = { name: string; type: DuckDBType; value: (index: number) => DuckDBValue };

const HEADERS = LIST(STRUCT({ key: VARCHAR, value: BLOB }));
/** As many rows as a data chunk holds. */
const CHUNK_ROWS = 2048;

/**
 * (Re)makes the temporary table `origins`. What is the same for all rows becomes a constant instead: filling vectors from here
 * costs more than all that DuckDB does with them.
 */
export async function loadOrigins(options: OriginsOptions): Promise<Origins> {
  const { engine, batch, places, signal } = options;
  const columns: Column[] = [
    { name: "offset", type: BIGINT, value: (i) => batch.offset(i) },
    { name: "ms", type: DOUBLE, value: (i) => batch.timestampMs(i) },
  ];
  if (options.withPlaces) columns.push({ name: "place", type: UINTEGER, value: (i) => i });
  if (options.withValues) columns.push({ name: "value", type: BLOB, value: (i) => blob(batch.value(i)) });
  const add = (column: Column): string => {
    columns.push(column);
    return `origin."${column.name}"`;
  };
  /** The column as SQL. */
  function constantOr(name: string, type: DuckDBType, value: (index: number) => string | number): string {
    const first = places.length === 0 ? undefined : value(places[0]!);
    if (first === undefined || places.some((i) => value(i) !== first)) return add({ name, type, value });
    return typeof first === "string" ? quoteText(first) : `${first}::${type}`;
  }

  const hasKeys = options.withValues || places.some((i) => batch.key(i) !== null);
  const members = new Map([
    ["topic", constantOr("topic", VARCHAR, (i) => batch.topic(i))],
    ["partition", constantOr("partition", INTEGER, (i) => batch.partition(i))],
    ["offset", `origin."offset"`],
    ["timestamp", `make_timestamptz(${MICROS})`],
    ["timestamp_type", constantOr("timestamp_type", VARCHAR, (i) => batch.timestampType(i))],
    ["key", hasKeys ? add({ name: "key", type: BLOB, value: (i) => blob(batch.key(i)) }) : "NULL::BLOB"],
    ["headers", headersOf(batch, places, add)],
    ["generation", constantOr("generation", INTEGER, (i) => batch.generation(i))],
  ]);
  if (options.keepRaw)
    members.set("value", add({ name: "original", type: BLOB, value: (i) => blob(batch.original(i)) }));
  await fill(engine, columns, places, signal);
  return { time: `make_timestamp(${MICROS})`, members };
}

const MICROS = "origin.ms::BIGINT * 1000";

/** Headers as SQL: a list by SQL where all messages have the same names, as those of one producer do, else made here, which is slow. */
function headersOf(batch: RawBatch, places: Uint32Array, add: (column: Column) => string): string {
  const lists = new Map<number, ReturnType<RawBatch["headers"]>>();
  let names: string[] | undefined;
  let isUniform = true;
  for (const place of places) {
    const list = batch.headers(place);
    names ??= list.map(([name]) => name);
    // A statement ends at a NUL.
    isUniform &&=
      list.length === names.length && list.every(([name], i) => name === names![i] && !name.includes("\0"));
    lists.set(place, list);
  }
  if (!isUniform) {
    const value = (i: number) =>
      listValue(lists.get(i)!.map(([key, bytes]) => structValue({ key, value: blob(bytes) })));
    return add({ name: "headers", type: HEADERS, value });
  }
  const structs = (names ?? []).map((name, n) => {
    const value = add({ name: `header ${n}`, type: BLOB, value: (i) => blob(lists.get(i)![n]![1]) });
    return `struct_pack("key" := ${quoteText(name)}, "value" := ${value})`;
  });
  return `[${structs.join(", ")}]::${HEADERS}`;
}

async function fill(
  engine: Engine,
  columns: readonly Column[],
  places: Uint32Array,
  signal: AbortSignal,
): Promise<void> {
  const names = columns.map(({ name, type }) => `"${name}" ${type}`);
  await engine.run(`CREATE OR REPLACE TEMP TABLE origins (${names.join(", ")})`, { signal });
  const types = columns.map(({ type }) => type);
  const appender = await engine.connection.createAppender("origins");
  try {
    for (let start = 0; start < places.length; start += CHUNK_ROWS) {
      const some = Array.from(places.subarray(start, start + CHUNK_ROWS));
      const chunk = DuckDBDataChunk.create(types, some.length);
      chunk.setColumns(columns.map(({ value }) => some.map(value)));
      appender.appendDataChunk(chunk);
      await nextTurn();
      signal.throwIfAborted();
    }
  } finally {
    appender.closeSync();
  }
}

function blob(bytes: Uint8Array | null): DuckDBBlobValue | null {
  return bytes === null ? null : new DuckDBBlobValue(bytes);
}
