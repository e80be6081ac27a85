/** Rows of data files as entries of keys: how a key is hashed, and how `_cdc` is read, in DuckDB's SQL. */

import { LabError } from "../../core/errors.ts";
import type { Snapshot } from "../../delta/table.ts";
import { type Engine, quoteName } from "../../engine/instance.ts";
import { numberChunks } from "../../engine/number-chunks.ts";
import { FILE_PLACE, ROW_PLACE } from "../../engine/scan.ts";
import { sqlType } from "../../engine/sql-types.ts";
import { CDC_FIELD } from "./cdc-field.ts";
import { FLAGS, type KeyHash, type KeyTable, ROW_COLUMNS } from "./key-table.ts";

/** The key of a table as rows are met by it. */
export type KeyShape = {
  columns: readonly string[];
  /** Of the columns, as they are hashed. */
  types: readonly string[];
  /** Of them those that are texts in the names of partitions, where an empty one is NULL (PROTOCOL.md, "Partition Value Serialization"). */
  partitioned: readonly string[];
};

/** SCHEMA_MISMATCH where the table lacks one of the columns: its rows would have no key. */
export function keyShapeOf(snapshot: Snapshot, columns: readonly string[]): KeyShape {
  const types = columns.map((name) => keyType(snapshot, name));
  // The text of a key, which is what is hashed, is one of its type.
  const partitioned = columns.filter(
    (name, i) => types[i] === "VARCHAR" && snapshot.partitionColumns.includes(name),
  );
  return { columns, types, partitioned };
}

/** They stand beside the columns of any table, and so have names that none of these has. */
const [SOURCE, SOURCE_NUMBER] = ['"lab src"', '"lab src number"'];

/** Puts the rows of relation `from`, which has places as data files do, into `keys`. */
export async function putRows(
  session: Engine,
  keys: KeyTable,
  rows: { from: string; firstFile: number; key: KeyShape; hasCdc: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { from, firstFile, key, hasCdc } = rows;
  const src = `${CDC_FIELD.name}.src`;
  await session.run(
    `CREATE OR REPLACE TEMP TABLE sources AS SELECT src AS ${SOURCE}, row_number() OVER () - 1 AS ${SOURCE_NUMBER}
     FROM (SELECT DISTINCT ${hasCdc ? src : "NULL::VARCHAR"} AS src FROM ${from}) AS told WHERE told.src IS NOT NULL`,
    { signal },
  );
  const sources = await session.rows(`SELECT ${SOURCE} AS src FROM sources ORDER BY ${SOURCE_NUMBER}`, {
    signal,
  });
  const names = sources.map((row) => row.src as string);
  const columns = ROW_COLUMNS.map((name) => `coalesce(${rowColumns(key, hasCdc)[name]}, 0)::BIGINT`);
  const joined = hasCdc ? `${from} LEFT JOIN sources ON ${SOURCE} = ${src}` : from;
  for await (const { rows: count, columns: chunk } of numberChunks(
    session,
    `SELECT ${columns.join(", ")} FROM ${joined}`,
    signal,
  ))
    keys.putAll({ rows: count, columns: chunk, firstFile, sources: names });
  if (!hasCdc) return;
  const [one, other] = hashesOf(key, { isStaged: false });
  const unknown = await session.rows(
    `SELECT ${one} AS a, ${other} AS b, ${FILE_PLACE} AS file, ${ROW_PLACE} AS "row", ${CDC_FIELD.name}.missing AS missing
     FROM ${from} WHERE len(${CDC_FIELD.name}.missing) > 0`,
    { signal },
  );
  for (const { a, b, file, row, missing } of unknown) {
    const at = { file: firstFile + Number(file), row: Number(row) };
    keys.setMissing(hashOf(a as bigint, b as bigint), at, missing as string[]);
  }
}

/**
 * Two hashes of a key as SQL: of the texts of its values, and of these in one piece, each told apart from its neighbour by its length. Texts in
 * the types of the table, where values fit them: a batch may bring a wider type (`isStaged`). Both zeros of a double are one.
 */
export function hashesOf(
  { columns, types }: KeyShape,
  { isStaged }: { isStaged: boolean },
): [string, string] {
  const texts = columns.map((column, i) => {
    const name = quoteName(column);
    const type = types[i]!;
    const narrow = `TRY_CAST(${name} AS ${type})`;
    const cases = [
      ...(REALS.has(type) ? [`WHEN ${name} = 0 THEN '0.0'`] : []),
      ...(isStaged ? [`WHEN ${narrow} = ${name} THEN ${narrow}::VARCHAR`] : []),
    ];
    return cases.length === 0 ? `${name}::VARCHAR` : `CASE ${cases.join(" ")} ELSE ${name}::VARCHAR END`;
  });
  const piece = texts.map((text) => `len(${text}) || ':' || ${text}`).join(" || ");
  return [`(hash(${texts.join(", ")}) >> 1)::BIGINT`, `(hash(${piece}) >> 1)::BIGINT`];
}

const REALS: ReadonlySet<string> = new Set(["FLOAT", "DOUBLE"]);

function keyType({ schema }: Snapshot, name: string): string {
  const field = schema.fields.find((one) => one.name === name);
  if (field !== undefined) return sqlType(field.type);
  throw new LabError("SCHEMA_MISMATCH", `the table has no column ${name}, which is of the key`, {
    hint: `its columns are ${schema.fields.map((one) => one.name).join(", ")}: say with key which of them tell rows apart`,
    details: { column: name },
  });
}

function hashOf(one: bigint, other: bigint): KeyHash {
  return [Number(one & 0xffff_ffffn), Number(one >> 32n), Number(other & 0xffff_ffffn), Number(other >> 32n)];
}

/** Columns of a relation as `KeyRows` has them. */
function rowColumns(key: KeyShape, hasCdc: boolean): Record<(typeof ROW_COLUMNS)[number], string> {
  const [hash1, hash2] = hashesOf(key, { isStaged: false });
  const cdc = (name: string) => (hasCdc ? `${CDC_FIELD.name}.${quoteName(name)}` : "NULL");
  const flag = (condition: string, value: number) =>
    hasCdc ? `CASE WHEN ${condition} THEN ${value} ELSE 0 END` : "0";
  return {
    file: FILE_PLACE,
    row: ROW_PLACE,
    hash1,
    hash2,
    hi: cdc("hi"),
    lo: cdc("lo"),
    sub: cdc("sub"),
    time: hasCdc ? `epoch_us(${cdc("ts")})` : "0",
    offset: cdc("offset"),
    place: `coalesce(${cdc("partition")}, 0)::BIGINT + coalesce(${cdc("generation")}, 0)::BIGINT * 4294967296`,
    flags: [
      flag(`${cdc("offset")} IS NOT NULL`, FLAGS.hasOrder),
      flag(`${cdc("src")} IS NOT NULL`, FLAGS.hasPosition),
      flag(`${cdc("ts")} IS NOT NULL`, FLAGS.hasTime),
      flag(cdc("snapshot"), FLAGS.isSnapshot),
      flag(cdc("deleted"), FLAGS.isDeleted),
    ].join(" + "),
    source: hasCdc ? SOURCE_NUMBER : "0",
  };
}
