/** Helper tables of a scan: what the log says of each file, row by row. */

import { LabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { parseValue } from "../delta/partition-value.ts";
import type { DataType, StructField } from "../delta/types.ts";
import { type MappingMode, physicalName } from "./column-mapping.ts";
import { type Engine, quoteName, quoteText } from "./instance.ts";
import type { RelationOptions, ScanFile } from "./scan.ts";
import { sqlType } from "./sql-types.ts";

/** They are temporary, so that they go with their engine; the dot keeps them out of the way of the names of tables. */
const PREFIX = "lab_scan.";

/**
 * Partition values of so few files are looked up in a list, which keeps the rows in the order of the files. With more a join is
 * faster, and order is not promised.
 */
const MAX_LOOKED_UP = 64;

/** How a scan `f` finds the partition values of its rows: what FROM takes further, and the value of each partition column. */
export type PartitionValuesOf = { join: string; valueOf(index: number): string };

/**
 * Serialized values follow the protocol's "Partition Value Serialization": null and the empty text are NULL for every type, timestamps
 * may lack a zone and are then UTC, binary is text whose UTF-8 bytes count. CORRUPT_LOG for a value that does not fit its column.
 */
export async function partitionValuesOf(
  engine: Engine,
  scan: number,
  options: {
    table: RelationOptions["table"];
    files: readonly ScanFile[];
    mode: MappingMode;
    signal: AbortSignal;
  },
): Promise<PartitionValuesOf> {
  const { table, files, mode, signal } = options;
  const fields = table.partitionColumns.map((column) => {
    const field = table.schema.fields.find((candidate) => candidate.name === column);
    if (field !== undefined) return field;
    throw new LabError("CORRUPT_LOG", `partition column ${column} is not in the schema`, {
      details: { column },
    });
  });
  if (fields.length === 0) return { join: "", valueOf: () => "NULL" };
  const all = files.map(({ add }) => textsOf(add, fields, mode));
  const isOne = all.every((texts) => texts.every((text, index) => text === all[0]![index]));
  const typed = (index: number, text: string) => {
    const { type } = fields[index]!;
    return type === "binary" ? `encode(${text})` : `CAST(${text} AS ${sqlType(type)})`;
  };
  const run = async (sql: string) => {
    try {
      await engine.run(sql, { signal });
    } catch (error) {
      signal.throwIfAborted();
      const message = `a partition value does not fit its column: ${(error as Error).message}`;
      throw new LabError("CORRUPT_LOG", message, { cause: error });
    }
  };
  if (isOne || all.length <= MAX_LOOKED_UP) {
    const values = (isOne ? all.slice(0, 1) : all).map((texts) => {
      const entries = texts.map((text, index) => `p${index}: ${typed(index, textConstant(text))}`);
      return `{${entries.join(", ")}}`;
    });
    const list = `${PREFIX}parts_${scan}`;
    await run(`SET VARIABLE ${quoteName(list)} = [${values.join(", ")}]`);
    const place = isOne ? "1" : "CAST(f.file_index AS BIGINT) + 1";
    return { join: "", valueOf: (index) => `getvariable(${quoteText(list)})[${place}].p${index}` };
  }
  const [texts, parts] = [`${PREFIX}texts_${scan}`, `${PREFIX}parts_${scan}`];
  const textColumns = fields.map((_, index) => `t${index} VARCHAR`);
  await engine.run(`CREATE TEMP TABLE ${quoteName(texts)} (i UBIGINT, ${textColumns.join(", ")})`, {
    signal,
  });
  await append(engine, texts, (appender) => {
    for (const [place, values] of all.entries()) {
      appender.appendUBigInt(BigInt(place));
      for (const value of values) {
        if (value === null) appender.appendNull();
        else appender.appendVarchar(value);
      }
      appender.endRow();
    }
  });
  const columns = fields.map((_, index) => `${typed(index, `t${index}`)} AS p${index}`);
  await run(
    `CREATE TEMP TABLE ${quoteName(parts)} AS SELECT i, ${columns.join(", ")} FROM ${quoteName(texts)}`,
  );
  await engine.run(`DROP TABLE ${quoteName(texts)}`, { signal });
  return { join: ` JOIN ${quoteName(parts)} AS p ON p.i = f.file_index`, valueOf: (index) => `p.p${index}` };
}

/**
 * The value of each partition column as SQL of a scan `f` over these files: a constant, or one of a list. Undefined where a join does better, and
 * where a value is none of its column's, of which only `partitionValuesOf` complains.
 */
export function partitionConstants(
  fields: readonly StructField[],
  files: readonly ScanFile[],
  mode: MappingMode,
): ReadonlyMap<StructField, string> | undefined {
  const found = new Map<StructField, string>();
  for (const field of fields) {
    const texts = files.map(({ add }) => textsOf(add, [field], mode)[0]!);
    const distinct = new Set(texts);
    const isOne = distinct.size === 1;
    if (!isOne && files.length > MAX_LOOKED_UP) return undefined;
    for (const text of distinct) if (text !== null && !isSurely(field.type, text)) return undefined;
    const constants = (isOne ? [...distinct] : texts).map(
      (text) => `CAST(${textConstant(text)} AS ${sqlType(field.type)})`,
    );
    found.set(field, isOne ? constants[0]! : `[${constants.join(", ")}][CAST(f.file_index AS BIGINT) + 1]`);
  }
  return found;
}

/** Bits of whole numbers. */
const WHOLE: Readonly<Record<string, bigint>> = { byte: 8n, short: 16n, integer: 32n, long: 64n };
const TEMPORAL = new Set<DataType>(["date", "timestamp", "timestamp_ntz"]);

/** Whether DuckDB takes a text for a value of the type, without being asked; only ever too few. */
function isSurely(type: DataType, text: string): boolean {
  if (type === "string") return true;
  if (type === "boolean") return text === "true" || text === "false";
  if (TEMPORAL.has(type)) return /^[1-9]\d{3}-/.test(text) && parseValue(type, text) !== undefined;
  const bits = typeof type === "string" ? WHOLE[type] : undefined;
  if (bits === undefined || !/^-?\d{1,19}$/.test(text)) return false;
  const limit = 2n ** (bits - 1n);
  return BigInt(text) >= -limit && BigInt(text) < limit;
}

/** Null where the value is NULL. A column may be named like something that every object has. */
function textsOf(
  { partitionValues }: Add,
  fields: readonly StructField[],
  mode: MappingMode,
): (string | null)[] {
  return fields.map((field) => {
    const name = physicalName(field, mode);
    return (Object.hasOwn(partitionValues, name) ? partitionValues[name] : null) || null;
  });
}

/** A statement cannot hold the character 0. */
function textConstant(text: string | null): string {
  return text === null ? "NULL" : `(${text.split("\0").map(quoteText).join(" || chr(0) || ")})`;
}

/** Makes a table with one row a row of the files: its file's place in the list (`i`) and its position in the file (`r`). Its quoted name. */
export async function createPositionTable(
  engine: Engine,
  name: string,
  files: readonly (Float64Array | undefined)[],
  signal: AbortSignal,
): Promise<string> {
  const table = PREFIX + name;
  await engine.run(`CREATE TEMP TABLE ${quoteName(table)} (i UBIGINT, r BIGINT)`, { signal });
  await append(engine, table, (appender) => {
    for (const [index, positions] of files.entries()) {
      for (const position of positions ?? []) {
        appender.appendUBigInt(BigInt(index));
        appender.appendBigInt(BigInt(position));
        appender.endRow();
      }
    }
  });
  return quoteName(table);
}

type Appender = Awaited<ReturnType<Engine["connection"]["createAppender"]>>;

async function append(engine: Engine, table: string, write: (appender: Appender) => void): Promise<void> {
  const appender = await engine.connection.createAppender(table, "main", "temp");
  try {
    write(appender);
  } finally {
    appender.closeSync();
  }
}
