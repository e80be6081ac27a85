/** Results of DuckDB as plain exact values, chunk by chunk, so that nobody outside needs DuckDB's own classes. */

import {
  type DuckDBArrayType,
  type DuckDBArrayValue,
  type DuckDBBlobValue,
  type DuckDBConnection,
  type DuckDBDataChunk,
  type DuckDBDateValue,
  type DuckDBDecimalType,
  type DuckDBDecimalValue,
  type DuckDBListType,
  type DuckDBListValue,
  type DuckDBMapType,
  type DuckDBMapValue,
  type DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  type DuckDBResult,
  type DuckDBStructType,
  type DuckDBStructValue,
  type DuckDBTimestampMillisecondsValue,
  type DuckDBTimestampSecondsValue,
  type DuckDBTimestampTZValue,
  type DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
  LIST,
  ResultReturnType,
  StatementType,
  VARCHAR,
} from "@duckdb/node-api";
import { LabError } from "../core/errors.ts";
import type { Engine } from "./instance.ts";
import { interruptible } from "./interruptible.ts";

/** What a column holds, and with it which form its values have. */
export type ValueType =
  | { kind: "null" }
  | { kind: "boolean" }
  | { kind: "text" }
  | { kind: "binary" }
  | { kind: "date" }
  /** `number` up to 32 bits, `bigint` beyond. */
  | { kind: "int"; bits: 8 | 16 | 32 | 64 | 128; signed: boolean }
  | { kind: "float"; bits: 32 | 64 }
  /** Value: the unscaled bigint. */
  | { kind: "decimal"; precision: number; scale: number }
  /** Value: microseconds since the epoch as bigint; `zoned` ones are moments, the others wall-clock readings. */
  | { kind: "timestamp"; zoned: boolean }
  | { kind: "list"; item: ValueType }
  /** Value: an array in the order of `fields`. */
  | { kind: "struct"; fields: readonly { name: string; type: ValueType }[] }
  /** Value: an array of [key, value]. */
  | { kind: "map"; key: ValueType; value: ValueType };

/** A value in the form its ValueType says: dates are days since the epoch, binary is bytes, null is null. */
export type Value = null | boolean | number | bigint | string | Uint8Array | readonly Value[];

/** `sql` is DuckDB's name of the type. */
export type Column = { name: string; sql: string; type: ValueType };

export type Result = {
  columns: readonly Column[];
  /** Chunks of rows in order; read once. Ending early is fine. */
  chunks: AsyncIterable<Value[][]>;
};

/** Lists of texts by the names of the parameters that they are. */
type Lists = Readonly<Record<string, readonly string[]>>;

export type StreamOptions = {
  /** Refuses whatever is not exactly one SELECT. */
  selectOnly?: boolean;
  /** There are few rows, which may be in memory all at once: that saves ways to another thread. Not for `selectOnly`, nor with `lists`. */
  isSmall?: boolean;
  lists?: Lists;
};

/**
 * Runs one statement and hands its rows on as they come. The engine has one connection: read the result to its end, or drop it,
 * before the next statement. An abort of `signal` interrupts the statement and rejects with the signal's reason.
 */
export async function stream(
  engine: Engine,
  sql: string,
  signal: AbortSignal,
  options: StreamOptions = {},
): Promise<Result> {
  const { result, chunks } = await streamChunks(engine, sql, signal, options);
  const readers = result.columnTypes().map(readerOf);
  async function* rows(): AsyncIterable<Value[][]> {
    for await (const chunk of chunks) {
      const columns = readers.map((read, index) => chunk.getColumnValues(index).map(nullable(read)));
      yield Array.from({ length: chunk.rowCount }, (_, row) => columns.map((column) => column[row] ?? null));
    }
  }
  const columns = result.columnNames().map((name, index) => ({
    name,
    sql: String(result.columnType(index)),
    type: valueType(result.columnType(index)),
  }));
  return { columns, chunks: rows() };
}

/** The same, in DuckDB's own form: for readers inside engine/ that look into columns as they lie in memory. */
export async function streamChunks(
  engine: Engine,
  sql: string,
  signal: AbortSignal,
  options: StreamOptions = {},
): Promise<{ result: DuckDBResult; chunks: AsyncIterable<DuckDBDataChunk> }> {
  const { connection } = engine;
  const { lists = {} } = options;
  const guarded = <T>(work: () => Promise<T>) => interruptible(connection, signal, work);
  const isAtOnce = options.isSmall && !options.selectOnly && Object.keys(lists).length === 0;
  if (isAtOnce) {
    const result = await guarded(() => connection.run(sql));
    return { result, chunks: chunksOf(result) };
  }
  const result = await guarded(() =>
    options.selectOnly ? streamSelect(connection, sql, lists) : streamPrepared(connection, sql, lists),
  );
  /** Why a statement ended in the middle: streaming ends without a word then, so it is run once more and not streamed. */
  async function failure(): Promise<unknown> {
    try {
      const prepared = await connection.prepare(sql);
      bindLists(prepared, lists);
      await prepared.run();
      return new Error("the statement failed in the middle, and did not when it was run again");
    } catch (error) {
      signal.throwIfAborted();
      return error;
    }
  }
  async function* chunks(): AsyncIterable<DuckDBDataChunk> {
    let isRunning = true;
    const next = () =>
      guarded(() => result.fetchChunk()).catch((error: unknown) => {
        isRunning = false;
        throw error;
      });
    try {
      for (;;) {
        const chunk = await next();
        isRunning = chunk !== null && chunk.rowCount > 0;
        if (chunk === null || !isRunning) {
          if (result.returnType === ResultReturnType.INVALID) throw await guarded(failure);
          return;
        }
        yield chunk;
      }
    } finally {
      // What a statement holds is freed by the next one; else only when its objects here are collected.
      if (isRunning) await connection.run("SELECT 1");
    }
  }
  return { result, chunks: chunks() };
}

async function* chunksOf(result: DuckDBMaterializedResult): AsyncIterable<DuckDBDataChunk> {
  for (let index = 0; index < result.chunkCount; index++) yield result.getChunk(index);
}

/** As the connection's own `stream`, which first looks for several statements: a way to another thread and back. */
async function streamPrepared(
  connection: DuckDBConnection,
  sql: string,
  lists: Lists,
): Promise<DuckDBResult> {
  const prepared = await connection.prepare(sql);
  try {
    bindLists(prepared, lists);
    return await prepared.stream();
  } finally {
    prepared.destroySync();
  }
}

async function streamSelect(connection: DuckDBConnection, sql: string, lists: Lists): Promise<DuckDBResult> {
  const statements = await connection.extractStatements(sql);
  const prepared = statements.count === 1 ? await statements.prepare(0) : undefined;
  if (prepared?.statementType !== StatementType.SELECT) {
    throw new LabError("SQL_REFUSED", "only one SELECT can be run here");
  }
  bindLists(prepared, lists);
  return prepared.stream();
}

function bindLists(prepared: DuckDBPreparedStatement, lists: Lists): void {
  for (const [name, texts] of Object.entries(lists))
    prepared.bindList(prepared.parameterIndex(name), texts, LIST(VARCHAR));
}

function valueType(type: DuckDBType): ValueType {
  const int = INTS[type.typeId];
  if (int !== undefined) return { kind: "int", ...int };
  switch (type.typeId) {
    case DuckDBTypeId.SQLNULL:
      return { kind: "null" };
    case DuckDBTypeId.BOOLEAN:
      return { kind: "boolean" };
    case DuckDBTypeId.FLOAT:
      return { kind: "float", bits: 32 };
    case DuckDBTypeId.DOUBLE:
      return { kind: "float", bits: 64 };
    case DuckDBTypeId.DECIMAL: {
      const { width, scale } = type as DuckDBDecimalType;
      return { kind: "decimal", precision: width, scale };
    }
    case DuckDBTypeId.BLOB:
      return { kind: "binary" };
    case DuckDBTypeId.DATE:
      return { kind: "date" };
    case DuckDBTypeId.TIMESTAMP_TZ:
      return { kind: "timestamp", zoned: true };
    case DuckDBTypeId.TIMESTAMP:
    case DuckDBTypeId.TIMESTAMP_S:
    case DuckDBTypeId.TIMESTAMP_MS:
      return { kind: "timestamp", zoned: false };
    case DuckDBTypeId.LIST:
      return { kind: "list", item: valueType((type as DuckDBListType).valueType) };
    case DuckDBTypeId.ARRAY:
      return { kind: "list", item: valueType((type as DuckDBArrayType).valueType) };
    case DuckDBTypeId.STRUCT: {
      const { entryNames, entryTypes } = type as DuckDBStructType;
      return {
        kind: "struct",
        fields: entryNames.map((name, index) => ({ name, type: valueType(entryTypes[index]!) })),
      };
    }
    case DuckDBTypeId.MAP: {
      const { keyType, valueType: inner } = type as DuckDBMapType;
      return { kind: "map", key: valueType(keyType), value: valueType(inner) };
    }
    // What no Delta column can hold (TIME, INTERVAL, UUID, ENUM, BIT, UNION and the like) is handed on as DuckDB prints it.
    default:
      return { kind: "text" };
  }
}

const INTS: Readonly<Record<number, { bits: 8 | 16 | 32 | 64 | 128; signed: boolean }>> = {
  [DuckDBTypeId.TINYINT]: { bits: 8, signed: true },
  [DuckDBTypeId.SMALLINT]: { bits: 16, signed: true },
  [DuckDBTypeId.INTEGER]: { bits: 32, signed: true },
  [DuckDBTypeId.BIGINT]: { bits: 64, signed: true },
  [DuckDBTypeId.HUGEINT]: { bits: 128, signed: true },
  [DuckDBTypeId.UTINYINT]: { bits: 8, signed: false },
  [DuckDBTypeId.USMALLINT]: { bits: 16, signed: false },
  [DuckDBTypeId.UINTEGER]: { bits: 32, signed: false },
  [DuckDBTypeId.UBIGINT]: { bits: 64, signed: false },
  [DuckDBTypeId.UHUGEINT]: { bits: 128, signed: false },
};

type Reader = (value: DuckDBValue) => Value;

function nullable(read: Reader): Reader {
  return (value) => (value === null || value === undefined ? null : read(value));
}

function readerOf(type: DuckDBType): Reader {
  switch (type.typeId) {
    case DuckDBTypeId.DECIMAL:
      return (value) => (value as DuckDBDecimalValue).value;
    case DuckDBTypeId.BLOB:
      return (value) => (value as DuckDBBlobValue).bytes;
    case DuckDBTypeId.DATE:
      return (value) => (value as DuckDBDateValue).days;
    case DuckDBTypeId.TIMESTAMP_TZ:
    case DuckDBTypeId.TIMESTAMP:
      return (value) => (value as DuckDBTimestampTZValue | DuckDBTimestampValue).micros;
    case DuckDBTypeId.TIMESTAMP_S:
      return (value) => (value as DuckDBTimestampSecondsValue).seconds * 1_000_000n;
    case DuckDBTypeId.TIMESTAMP_MS:
      return (value) => (value as DuckDBTimestampMillisecondsValue).millis * 1000n;
    case DuckDBTypeId.LIST:
    case DuckDBTypeId.ARRAY: {
      const read = nullable(readerOf((type as DuckDBListType | DuckDBArrayType).valueType));
      return (value) => (value as DuckDBListValue | DuckDBArrayValue).items.map(read);
    }
    case DuckDBTypeId.STRUCT: {
      const { entryNames, entryTypes } = type as DuckDBStructType;
      // DuckDB's package keeps the fields in an object, which takes this name for its prototype.
      if (entryNames.includes("__proto__"))
        throw new LabError("UNSUPPORTED_FEATURE", "a struct field named __proto__ cannot be read here", {
          hint: "leave it out: name the other fields of the struct in the query",
          details: { feature: "__proto__" },
        });
      const reads = entryTypes.map((entry) => nullable(readerOf(entry)));
      return (value) => {
        const { entries } = value as DuckDBStructValue;
        return entryNames.map((name, index) => reads[index]!(entries[name] ?? null));
      };
    }
    case DuckDBTypeId.MAP: {
      const { keyType, valueType: inner } = type as DuckDBMapType;
      const [readKey, readValue] = [nullable(readerOf(keyType)), nullable(readerOf(inner))];
      return (value) =>
        (value as DuckDBMapValue).entries.map((entry) => [readKey(entry.key), readValue(entry.value)]);
    }
    case DuckDBTypeId.BOOLEAN:
    case DuckDBTypeId.FLOAT:
    case DuckDBTypeId.DOUBLE:
    case DuckDBTypeId.VARCHAR:
    case DuckDBTypeId.SQLNULL:
      return (value) => value as Value;
    default:
      return INTS[type.typeId] === undefined ? String : (value) => value as Value;
  }
}
