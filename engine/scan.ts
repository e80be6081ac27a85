/** A version of a table as one SQL relation over exactly its files: what every reader of rows goes through. */

import { LabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import type { Snapshot } from "../delta/table.ts";
import type { StructField } from "../delta/types.ts";
import { type Engine, quoteName, quoteText, textList } from "./instance.ts";
import { sqlType } from "./sql-types.ts";

/** A live file and where its bytes are in the local file system. */
export type ScanFile = { add: Add; file: string };

/** Files to scan, as `locateFiles` finds them; those of a remote store stay in the cache until `close`. */
export type DataFiles = {
  files: readonly ScanFile[];
  /** Turns an error of a scan into DATA_FILE_MISSING where one of the files is gone; any other is given back. */
  explain(error: unknown): Promise<unknown>;
  close(): Promise<void>;
};

export type RelationOptions = {
  /** Name of the view that is made, in the default schema. */
  name: string;
  /** What the files are read as; a snapshot serves. */
  table: Pick<Snapshot, "schema" | "partitionColumns" | "metadata" | "protocol">;
  data: DataFiles;
  signal: AbortSignal;
};

/** Helper objects live here, out of the way of the names of tables. */
const SCHEMA = "lab_scan";
/**
 * Partition values of so few files are looked up in a list, which keeps the rows in the order of the files. With more a join is
 * faster, and order is not promised.
 */
const MAX_LOOKED_UP = 64;
let relations = 0;

/**
 * Makes the view `name` over the files of `data`: columns and types of the table's schema, in its order; what a file lacks is NULL; partition
 * columns come from the log, never from a path. One scan reads all files, whatever their number and their values.
 * UNSUPPORTED_FEATURE names what the table needs and is not read here, DATA_FILE_MISSING a file that is not there.
 */
export async function createRelation(engine: Engine, options: RelationOptions): Promise<void> {
  const { name, table, signal } = options;
  const { files } = options.data;
  refuseUnread(table, files);
  const columns = table.schema.fields.map((field, index) => ({
    field,
    /** The column inside the scan: never the name of one of DuckDB's own virtual columns. */
    inner: `c${index}`,
    partition: table.partitionColumns.indexOf(field.name),
  }));
  const view = `CREATE OR REPLACE VIEW ${quoteName(name)} AS SELECT `;
  if (columns.length === 0) throw unsupported("tables without columns");
  if (files.length === 0) {
    const empty = columns.map(({ field }) => `${nullOf(field)} AS ${quoteName(field.name)}`);
    await engine.run(`${view}${empty.join(", ")} WHERE false`, { signal });
    return;
  }
  const id = ++relations;
  await engine.run(`CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`, { signal });
  const list = `${SCHEMA}_files_${id}`;
  await engine.run(`SET VARIABLE ${list} = ${textList(files.map(({ file }) => literalPath(file)))}`, {
    signal,
  });
  const inFiles = columns.filter(({ partition, field }) => partition < 0 && field.type !== "void");
  const scan = `read_parquet(getvariable('${list}'), schema = ${readSchema(inFiles)}, hive_partitioning = false)`;
  let from = `${scan} AS f`;
  const isLookedUp = files.length <= MAX_LOOKED_UP;
  if (table.partitionColumns.length > 0) {
    const parts = `${SCHEMA}.parts_${id}`;
    await createPartitionTable(engine, parts, options);
    if (isLookedUp) {
      await engine.run(
        `SET VARIABLE ${parts.replace(".", "_")} = (SELECT list(p ORDER BY i) FROM ${parts} AS p)`,
        {
          signal,
        },
      );
    } else from += ` JOIN ${parts} AS p ON p.i = f.file_index`;
  }
  const partitionValue = (index: number) =>
    isLookedUp
      ? `getvariable('${SCHEMA}_parts_${id}')[CAST(f.file_index AS BIGINT) + 1].p${index}`
      : `p.p${index}`;
  const select = columns.map(({ field, inner, partition }) => {
    const value =
      partition >= 0 ? partitionValue(partition) : field.type === "void" ? nullOf(field) : `f.${inner}`;
    return `${value} AS ${quoteName(field.name)}`;
  });
  try {
    await engine.run(`${view}${select.join(", ")} FROM ${from}`, { signal });
  } catch (error) {
    throw await options.data.explain(error);
  }
}

/** What `allowedPaths` of an engine must hold for it to read these files: each as it is, and as a scan spells it. */
export function allowedPathsOf(data: DataFiles): string[] {
  return [...new Set(data.files.flatMap(({ file }) => [file, literalPath(file)]))];
}

/** A path as `read_parquet` takes it literally: the characters of patterns stand for themselves. */
export function literalPath(path: string): string {
  return path.replace(/[*?[]/g, "[$&]");
}

/**
 * The `schema` argument: each column by its name in the files, read as the table's type. Files match names exactly first, then
 * ignoring case, at every level; what is missing is NULL. It must not be empty, so a table without such columns gets one that
 * no file has.
 */
function readSchema(columns: readonly { field: StructField; inner: string }[]): string {
  const entry = (name: string, inner: string, type: string) =>
    `${quoteText(name)}: {name: ${quoteText(inner)}, type: ${quoteText(type)}, default_value: NULL}`;
  const entries = columns.map(({ field, inner }) => entry(field.name, inner, sqlType(field.type)));
  return `MAP {${entries.length > 0 ? entries.join(", ") : entry("lab_scan nothing", "nothing", "INTEGER")}}`;
}

function nullOf(field: StructField): string {
  return `CAST(NULL AS ${sqlType(field.type)})`;
}

/**
 * One row a file: its place in the list and its partition values, typed. Serialized values follow the checklist, section 5: null and
 * the empty text are NULL for every type, timestamps may lack a zone and are then UTC, binary is text whose UTF-8 bytes count.
 */
async function createPartitionTable(engine: Engine, name: string, options: RelationOptions): Promise<void> {
  const { table, signal } = options;
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
  const [schema, bare] = texts.split(".") as [string, string];
  const appender = await engine.connection.createAppender(bare, schema);
  try {
    options.data.files.forEach(({ add }, index) => {
      appender.appendUBigInt(BigInt(index));
      for (const field of fields) {
        const value = add.partitionValues[field.name];
        if (value === null || value === undefined || value === "") appender.appendNull();
        else appender.appendVarchar(value);
      }
      appender.endRow();
    });
  } finally {
    appender.closeSync();
  }
  const typed = fields.map((field, index) => {
    const value = field.type === "binary" ? `encode(t${index})` : `CAST(t${index} AS ${sqlType(field.type)})`;
    return `${value} AS p${index}`;
  });
  try {
    await engine.run(`CREATE TABLE ${name} AS SELECT i, ${typed.join(", ")} FROM ${texts}`, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw new LabError(
      "CORRUPT_LOG",
      `a partition value does not fit its column: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
  await engine.run(`DROP TABLE ${texts}`, { signal });
}

/** Features whose tables would give wrong rows if read without knowing them. */
function refuseUnread(table: RelationOptions["table"], files: readonly ScanFile[]): void {
  const mode = table.metadata.configuration["delta.columnMapping.mode"] ?? "none";
  if (mode !== "none" && table.protocol.minReaderVersion >= 2) throw unsupported("columnMapping");
  if (files.some(({ add }) => add.deletionVector !== undefined)) throw unsupported("deletionVectors");
}

function unsupported(feature: string): LabError {
  return new LabError("UNSUPPORTED_FEATURE", `the table uses ${feature}, which is not read here`, {
    hint: "read it with an engine that knows the feature, such as Spark",
    details: { feature },
  });
}
