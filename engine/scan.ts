/** A version of a table as one SQL relation over exactly its files: what every reader of rows goes through. */

import { LabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { placesOf } from "../delta/schema-places.ts";
import type { Snapshot } from "../delta/table.ts";
import type { StructField } from "../delta/types.ts";
import {
  fieldId,
  logicalValue,
  type MappingMode,
  mappingMode,
  physicalName,
  physicalType,
} from "./column-mapping.ts";
import { type Engine, quoteName, quoteText, textList } from "./instance.ts";
import { spellingsOf } from "./nested-ids.ts";
import { createPositionTable, partitionValuesOf } from "./scan-tables.ts";
import { sqlType } from "./sql-types.ts";

/** A live file and where its bytes are in the local file system. */
export type ScanFile = {
  add: Add;
  file: string;
  /** Positions of rows that its deletion vector takes out. */
  deleted?: Float64Array;
  /** Positions of the only rows that count; all files of a relation have them, or none. */
  only?: Float64Array;
};

/** Files to scan, as `locateFiles` finds them; those of a remote store stay in the cache until `close`. */
export type DataFiles = {
  files: readonly ScanFile[];
  /** Turns an error of a scan into one that names the file which is gone or damaged; any other is given back. */
  explain(error: unknown): Promise<unknown>;
  close(): Promise<void>;
};

export type RelationOptions = {
  /** Name of the view that is made; it is the engine's own. */
  name: string;
  /** What the files are read as; a snapshot serves. */
  table: Pick<Snapshot, "schema" | "partitionColumns" | "metadata" | "protocol">;
  data: DataFiles;
  /** The view has two columns more, for writers: `"lab file"`, the row's file by its place in `data`, and `"lab row"`, its position there. */
  withPlaces?: boolean;
  signal: AbortSignal;
};

/** Where a row came from; names with a space are no names of columns that are written here. */
export const FILE_PLACE = '"lab file"';
export const ROW_PLACE = '"lab row"';

let scansMade = 0;

/** A column of the table and how it comes out of the scan. */
type ScanColumn = {
  field: StructField;
  /** Its name inside the scan: never that of one of DuckDB's own virtual columns. */
  inner: string;
  /** Place among the partition columns; -1 for none. */
  partition: number;
};

/**
 * Makes the temporary view `name` over the files of `data`: columns and types of the table's schema, in its order; what a file lacks is NULL;
 * partition columns come from the log, never from a path; rows of deletion vectors are left out. One scan reads all files, whatever their
 * number and their values. UNSUPPORTED_FEATURE names what the table needs and is not read here, DATA_FILE_MISSING a file that is not there.
 */
export async function createRelation(engine: Engine, options: RelationOptions): Promise<void> {
  const { name, table, signal } = options;
  const { files } = options.data;
  const columns = table.schema.fields.map((field, index) => ({
    field,
    inner: `c${index}`,
    partition: table.partitionColumns.indexOf(field.name),
  }));
  if (columns.length === 0) throw unsupported("tables without columns");
  if (files.length === 0) {
    const empty = columns.map(({ field }) => `${nullOf(field)} AS ${quoteName(field.name)}`);
    if (options.withPlaces) empty.push(`0::BIGINT AS ${FILE_PLACE}`, `0::BIGINT AS ${ROW_PLACE}`);
    const view = `CREATE OR REPLACE TEMP VIEW ${quoteName(name)} AS SELECT ${empty.join(", ")} WHERE false`;
    await engine.run(view, { signal });
    return;
  }
  const pathOf = ({ file }: ScanFile) => literalPath(file);
  try {
    const spellings = await spellingsOf(engine, table, files, { pathOf, signal });
    if (options.withPlaces && spellings.length > 1)
      throw unsupported("files that name nested fields in several ways");
    const scans: string[] = [];
    for (const spelling of spellings) {
      const spelled = columns.map((column, index) => ({ ...column, field: spelling.fields[index]! }));
      scans.push(await scanOf(engine, { ...options, columns: spelled, files: spelling.files }));
    }
    const view = `CREATE OR REPLACE TEMP VIEW ${quoteName(name)} AS ${scans.join(" UNION ALL ")}`;
    await engine.run(view, { signal });
  } catch (error) {
    throw await options.data.explain(error);
  }
}

/** The SELECT over files that name everything alike. */
async function scanOf(
  engine: Engine,
  options: RelationOptions & { columns: readonly ScanColumn[]; files: readonly ScanFile[] },
): Promise<string> {
  const { table, columns, files, signal } = options;
  const id = ++scansMade;
  const mode = mappingMode(table);
  const list = `lab_scan_files_${id}`;
  const paths = textList(files.map(({ file }) => literalPath(file)));
  await engine.run(`SET VARIABLE ${list} = ${paths}`, { signal });
  const inFiles = columns.filter(({ partition, field }) => partition < 0 && field.type !== "void");
  const schema = mode === "id" ? schemaById(inFiles) : schemaByName(inFiles, mode);
  const partitions = await partitionValuesOf(engine, id, { table, files, mode, signal });
  let from = `read_parquet(getvariable('${list}'), schema = ${schema}, ${scanFlags(table)}) AS f${partitions.join}`;
  if (files.some(({ deleted }) => deleted !== undefined)) {
    const positions = files.map((file) => file.deleted);
    const deleted = await createPositionTable(engine, `deleted_${id}`, positions, signal);
    from += ` ANTI JOIN ${deleted} AS d ON d.i = f.file_index AND d.r = f.file_row_number`;
  }
  if (files.some(({ only }) => only !== undefined)) {
    const positions = files.map((file) => file.only);
    const only = await createPositionTable(engine, `only_${id}`, positions, signal);
    from += ` SEMI JOIN ${only} AS o ON o.i = f.file_index AND o.r = f.file_row_number`;
  }
  const select = columns.map(({ field, inner, partition }) => {
    const value = partition >= 0 ? partitions.valueOf(partition) : valueInScan(inner, field, mode);
    return `${value} AS ${quoteName(field.name)}`;
  });
  if (options.withPlaces)
    select.push(`CAST(f.file_index AS BIGINT) AS ${FILE_PLACE}`, `f.file_row_number AS ${ROW_PLACE}`);
  return `SELECT ${select.join(", ")} FROM ${from}`;
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
 * Further arguments of the scan. Bounds in the footers of other writers leave NaN out: without `can_have_nan` its rows would be passed over. Old
 * writers of texts do not say in the file that they are: read as bytes, all but ASCII would come out as escapes. That they are can be said
 * of a whole scan only, so not where the table has bytes, too.
 */
export function scanFlags({ schema }: Pick<Snapshot, "schema">): string {
  const flags = "hive_partitioning = false, can_have_nan = true";
  for (const { type } of placesOf(schema)) if (type === "binary") return flags;
  return `${flags}, binary_as_string = true`;
}

/**
 * The `schema` argument: each column by its name in the files, read as the table's type. Files match names exactly first, then
 * ignoring case, at every level; what is missing is NULL. It must not be empty, so a table without such columns gets one that
 * no file has.
 */
export function schemaByName(
  columns: readonly Pick<ScanColumn, "field" | "inner">[],
  mode: MappingMode,
): string {
  const entries = columns.map(({ field, inner }) =>
    entry(quoteText(physicalName(field, mode)), inner, sqlType(physicalType(field.type, mode))),
  );
  return `MAP {${entries.length > 0 ? entries.join(", ") : entry("'lab_scan nothing'", "nothing", "INTEGER")}}`;
}

/** The same by field id; inside a column fields are found by the names that the files give them (`nested-ids.ts`). */
function schemaById(columns: readonly ScanColumn[]): string {
  const entries = columns.map(({ field, inner }) => {
    const id = fieldId(field);
    if (id !== undefined) return entry(String(id), inner, sqlType(physicalType(field.type, "id")));
    throw new LabError("CORRUPT_LOG", `column ${field.name} has no id, and the table maps columns by id`);
  });
  return `MAP {${entries.length > 0 ? entries.join(", ") : entry("2147483647", "nothing", "INTEGER")}}`;
}

function entry(key: string, inner: string, type: string): string {
  return `${key}: {name: ${quoteText(inner)}, type: ${quoteText(type)}, default_value: NULL}`;
}

/** A column that is no partition column, from the scan `f` in which it is called `inner`. */
export function valueInScan(inner: string, field: StructField, mode: MappingMode): string {
  return field.type === "void" ? nullOf(field) : logicalValue(`f.${inner}`, field.type, mode);
}

function nullOf(field: StructField): string {
  return `CAST(NULL AS ${sqlType(field.type)})`;
}

function unsupported(feature: string): LabError {
  return new LabError("UNSUPPORTED_FEATURE", `${feature} are not read here`, {
    hint: "read the table with an engine that does, such as Spark",
    details: { feature },
  });
}
