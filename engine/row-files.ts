/** Rows as Parquet files, one for each combination of route and partition values, with the protocol's statistics. */

import { randomUUID } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import type { StructField, StructType } from "../delta/types.ts";
import type { EncodedFile } from "./encoder.ts";
import { type ColumnTexts, statsOfFile } from "./file-stats.ts";
import { type Engine, quoteName, quoteText, type Row } from "./instance.ts";
import { requireOwnNames } from "./own-names.ts";

export type WriteOptions = {
  engine: Engine;
  /** The rows as one item of a FROM clause, without an alias, with the schema's columns at least. */
  rows: string;
  /** The same rows, or as many as show every combination of partition values, where that is cheaper to read. */
  keys: string;
  schema: StructType;
  partitionColumns: readonly string[];
  /** A column of text beside those of the schema, quoted: files are split by it first, and it is not written. */
  route?: string | undefined;
  /** See `EncodePlan`. */
  configuration: Readonly<Record<string, string>>;
  /** Files go here under fresh names. */
  stagingDir: string;
  signal: AbortSignal;
};

const ROWS = '"lab rows"';

/** Level 1 is a third cheaper than the default 3 and gives files of the same size here. */
const FORMAT = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, RETURN_STATS";

/**
 * Writes the rows; there must be some where there are no partition columns. UNSUPPORTED_FEATURE for a binary one, and where no column would be in a
 * file.
 */
export async function writeRowFiles(options: WriteOptions): Promise<EncodedFile[]> {
  const { engine, schema, partitionColumns, stagingDir, signal } = options;
  requireOwnNames(schema);
  const columns = schema.fields
    .filter((field) => !partitionColumns.includes(field.name) && field.type !== "void")
    .map((field) => columnOf(field))
    .join(", ");
  if (columns === "")
    throw new LabError("UNSUPPORTED_FEATURE", "rows cannot be written: no column would be in a file", {
      hint: "add a column that is neither a partition column nor void",
      details: { feature: "tables of partition columns alone" },
    });
  const { combinations, matches } = await findCombinations(options);
  const describe = (row: Row, file: string, combination: number): EncodedFile => {
    const rows = Number(row.count);
    const stats = statsOfFile(rows, columnTexts(row.column_statistics), options);
    return {
      file,
      ...combinations[combination]!,
      rows,
      size: Number(row.file_size_bytes),
      stats,
    };
  };

  if (combinations.length === 0) return [];
  if (combinations.length === 1) {
    const file = join(stagingDir, `${randomUUID()}.parquet`);
    const copy = `COPY (SELECT ${columns} FROM ${options.rows} AS ${ROWS}) TO ${quoteText(file)} (${FORMAT})`;
    try {
      return (await engine.rows(copy, { signal })).map((row) => describe(row, file, 0));
    } catch (error) {
      await rm(file, { force: true });
      throw error;
    }
  }

  // Files are split by the number of a combination, never by the values themselves: those may hold anything.
  const folder = join(stagingDir, randomUUID());
  await mkdir(folder);
  try {
    const written = await engine.rows(
      `COPY (SELECT ${columns}, "lab combination" FROM ${options.rows} AS ${ROWS} JOIN combinations ON ${matches})
       TO ${quoteText(folder)} (${FORMAT}, PARTITION_BY ("lab combination"))`,
      { signal },
    );
    const files: EncodedFile[] = [];
    for (const row of written) {
      const [{ value }] = row.partition_keys as [{ value: string }];
      const file = join(stagingDir, `${randomUUID()}.parquet`);
      await rename(row.filename as string, file);
      files.push(describe(row, file, Number(value)));
    }
    return files;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The partition values that occur among the rows, and how a row finds its place in them as table `combinations`. */
async function findCombinations(options: WriteOptions) {
  const { engine, schema, partitionColumns, route, signal } = options;
  const fields = partitionColumns.map((name) => schema.fields.find((field) => field.name === name)!);
  const texts = fields.map(partitionText);
  if (route !== undefined) texts.push(`${ROWS}.${route}`);
  if (texts.length === 0) {
    return { combinations: [{ partitionValues: {} }], matches: "true" };
  }
  const keys = texts.map((text, i) => `${text} AS ${key(i)}`).join(", ");
  await engine.run(
    `CREATE OR REPLACE TEMP TABLE combinations AS
     SELECT (row_number() OVER ())::INTEGER - 1 AS "lab combination", * FROM (SELECT DISTINCT ${keys} FROM ${options.keys} AS ${ROWS})`,
    { signal },
  );
  const rows = await engine.rows('SELECT * FROM combinations ORDER BY "lab combination"', { signal });
  const combinations = rows.map((row): Pick<EncodedFile, "partitionValues" | "route"> => {
    const keyOf = (i: number) => row[`lab key ${i}`] as string | null;
    const partitionValues = Object.fromEntries(fields.map((field, i) => [field.name, keyOf(i)]));
    return route === undefined ? { partitionValues } : { partitionValues, route: keyOf(fields.length) };
  });
  const matches = texts.map((text, i) => `${text} IS NOT DISTINCT FROM ${key(i)}`);
  return { combinations, matches: matches.join(" AND ") };
}

/** Names with a space: no column of a table has one. */
const key = (i: number) => `"lab key ${i}"`;

/** With the relation before it: a column may be called `rowid`, which every table of DuckDB has. */
const columnOf = ({ name }: StructField) => `${ROWS}.${quoteName(name)}`;

/** A partition value as the log writes it: text, null also for the empty text. */
function partitionText(field: StructField): string {
  const column = columnOf(field);
  const text = `CAST(${column} AS VARCHAR)`;
  switch (field.type) {
    case "string":
      return `nullif(${column}, '')`;
    case "timestamp":
      return `strftime(${column}, '%Y-%m-%dT%H:%M:%S.%fZ')`;
    case "timestamp_ntz":
      return `strftime(${column}, '%Y-%m-%d %H:%M:%S.%f')`;
    case "float":
    case "double":
      return `CASE ${text} WHEN 'nan' THEN 'NaN' WHEN 'inf' THEN 'Infinity' WHEN '-inf' THEN '-Infinity' ELSE ${text} END`;
    case "binary":
      throw new LabError(
        "UNSUPPORTED_FEATURE",
        `rows cannot be written by partition column ${field.name}: it is binary`,
        {
          hint: "partition by a column of text",
          details: { column: field.name },
        },
      );
    default:
      return text;
  }
}

/** A MAP comes as a list of its entries. */
function columnTexts(statistics: Row[string] | undefined): ColumnTexts {
  const columns = statistics as unknown as { key: string; value: { key: string; value: string }[] }[];
  return new Map(
    columns.map(({ key, value }) => [key, new Map(value.map((entry) => [entry.key, entry.value]))]),
  );
}
