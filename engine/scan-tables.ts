/** Helper tables of a scan: what the log says of each file, row by row. */

import { LabError } from "../core/errors.ts";
import { type MappingMode, physicalName } from "./column-mapping.ts";
import type { Engine } from "./instance.ts";
import type { RelationOptions, ScanFile } from "./scan.ts";
import { sqlType } from "./sql-types.ts";

/** They live here, out of the way of the names of tables. */
export const SCAN_SCHEMA = "lab_scan";

/**
 * One row a file: its place in the list (`i`) and its partition values (`p0`, `p1`, ...), typed. Serialized values follow the protocol's
 * "Partition Value Serialization": null and the empty text are NULL for every type, timestamps may lack a zone and are then UTC,
 * binary is text whose UTF-8 bytes count. CORRUPT_LOG for a value that does not fit its column.
 */
export async function createPartitionTable(
  engine: Engine,
  name: string,
  options: {
    table: RelationOptions["table"];
    files: readonly ScanFile[];
    mode: MappingMode;
    signal: AbortSignal;
  },
): Promise<void> {
  const { table, files, mode, signal } = options;
  const fields = table.partitionColumns.map((column) => {
    const field = table.schema.fields.find((candidate) => candidate.name === column);
    if (field !== undefined) return field;
    throw new LabError("CORRUPT_LOG", `partition column ${column} is not in the schema`, {
      details: { column },
    });
  });
  const texts = `${name}_text`;
  const textColumns = fields.map((_, index) => `t${index} VARCHAR`).join(", ");
  await engine.run(`CREATE TABLE ${texts} (i UBIGINT, ${textColumns})`, { signal });
  await append(engine, texts, (appender) => {
    for (const [index, { add }] of files.entries()) {
      appender.appendUBigInt(BigInt(index));
      for (const field of fields) {
        const name = physicalName(field, mode);
        // A column may be named like something that every object has.
        const value = Object.hasOwn(add.partitionValues, name) ? add.partitionValues[name] : null;
        if (value === null || value === undefined || value === "") appender.appendNull();
        else appender.appendVarchar(value);
      }
      appender.endRow();
    }
  });
  const typed = fields.map((field, index) => {
    const value = field.type === "binary" ? `encode(t${index})` : `CAST(t${index} AS ${sqlType(field.type)})`;
    return `${value} AS p${index}`;
  });
  try {
    await engine.run(`CREATE TABLE ${name} AS SELECT i, ${typed.join(", ")} FROM ${texts}`, { signal });
  } catch (error) {
    signal.throwIfAborted();
    const message = `a partition value does not fit its column: ${(error as Error).message}`;
    throw new LabError("CORRUPT_LOG", message, { cause: error });
  }
  await engine.run(`DROP TABLE ${texts}`, { signal });
}

/** One row a row of the files: its file's place in the list (`i`) and its position in the file (`r`). */
export async function createPositionTable(
  engine: Engine,
  name: string,
  files: readonly (Float64Array | undefined)[],
  signal: AbortSignal,
): Promise<void> {
  await engine.run(`CREATE TABLE ${name} (i UBIGINT, r BIGINT)`, { signal });
  await append(engine, name, (appender) => {
    for (const [index, positions] of files.entries()) {
      for (const position of positions ?? []) {
        appender.appendUBigInt(BigInt(index));
        appender.appendBigInt(BigInt(position));
        appender.endRow();
      }
    }
  });
}

type Appender = Awaited<ReturnType<Engine["connection"]["createAppender"]>>;

async function append(engine: Engine, name: string, write: (appender: Appender) => void): Promise<void> {
  const [schema, table] = name.split(".") as [string, string];
  const appender = await engine.connection.createAppender(table, schema);
  try {
    write(appender);
  } finally {
    appender.closeSync();
  }
}
