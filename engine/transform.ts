/** A transform at work: what columns it yields, and its rows, message by message where one of them fails. */

import { LabError } from "../core/errors.ts";
import { decimalOf } from "../delta/schema.ts";
import { mergeSchemas } from "../delta/schema-merge.ts";
import { commonType, type Widen, withTypeChanges } from "../delta/type-widening.ts";
import type { DataType, StructField, StructType } from "../delta/types.ts";
import { orDerived } from "./derived-columns.ts";
import { deltaType } from "./duckdb-types.ts";
import type { BadRecord } from "./encoder.ts";
import { type Engine, quoteName } from "./instance.ts";
import { KAFKA_FIELD, kafkaField, kafkaStruct, withoutKafka } from "./kafka-column.ts";
import type { Origins } from "./origins.ts";
import type { Derived } from "./partitioning.ts";
import { INDEX_FIELD } from "./row-index.ts";
import { sqlType } from "./sql-types.ts";
import { checkRowLocal, refused } from "./transform-check.ts";

/** The place of a message in the batch: it rides in `_kafka`, and beside the columns of `rows`, under a name that no column can have. */
export const PLACE = '"lab place"';

export type Transform = {
  /** What is run. */
  sql: string;
  isUnnesting: boolean;
  /** What it yields, without `_kafka`. */
  columns: readonly StructField[];
};

/** A column of messages as SQL. */
export type InputColumn = { field: StructField; sql: string };

/**
 * (Re)makes `messages`, which transforms read: `columns` over `from`, `_kafka` last. INTERNAL where they are not `count` rows: a
 * message would get another's origin.
 */
export async function loadMessages(
  engine: Engine,
  messages: { columns: readonly InputColumn[]; origins: Origins; from: string; count: number },
  signal: AbortSignal,
): Promise<void> {
  const { origins, from, count } = messages;
  const columns = messages.columns
    .filter(({ field }) => field.type !== "void")
    .map(({ field, sql }) => `CAST(${sql} AS ${sqlType(field.type)}) AS ${quoteName(field.name)}`);
  const members = [...origins.members].map(([name, sql]) => `${quoteName(name)} := ${sql}`);
  members.push(`${PLACE} := origin.place`);
  columns.push(`struct_pack(${members.join(", ")}) AS ${quoteName(KAFKA_FIELD.name)}`);
  await engine.run(
    `CREATE OR REPLACE TEMP TABLE all_messages AS SELECT ${columns.join(", ")} FROM ${from};
     CREATE OR REPLACE TEMP VIEW messages AS SELECT * FROM all_messages`,
    { signal },
  );
  const [made] = await engine.rows("SELECT count(*) AS count FROM all_messages", { signal });
  if (Number(made!.count) !== count)
    throw new LabError("INTERNAL", `${count} messages became ${made!.count} rows before the transform`);
}

/** Checks `sql` against `messages` as it stands. TRANSFORM_REFUSED where it is not row-local or yields what no table can hold. */
export async function prepareTransform(
  engine: Engine,
  sql: string,
  input: StructType,
  signal: AbortSignal,
): Promise<Transform> {
  const names = input.fields.map((field) => field.name);
  const checked = await checkRowLocal(engine, sql, names, signal);
  let result: Awaited<ReturnType<typeof engine.connection.runAndReadAll>>;
  let expected: string;
  try {
    result = await engine.connection.runAndReadAll(`FROM (${checked.sql}) LIMIT 0`);
    expected = String(
      (await engine.connection.runAndReadAll("SELECT _kafka FROM messages LIMIT 0")).columnType(0),
    );
  } catch (error) {
    signal.throwIfAborted();
    throw refused(firstLine(error));
  }
  const yielded = await engine.rows(`DESCRIBE ${checked.sql}`, { signal });
  const taken = new Set<string>();
  const columns: StructField[] = [];
  let hasKafka = false;
  for (const [i, { column_name }] of yielded.entries()) {
    const name = column_name as string;
    const type = result.columnType(i);
    if (taken.has(name.toLowerCase()))
      throw refused(
        `it yields two columns named ${name}: say * EXCLUDE (${name}), or * REPLACE (... AS ${name})`,
      );
    taken.add(name.toLowerCase());
    if (name === KAFKA_FIELD.name) {
      if (String(type) !== expected) throw refused("it changes _kafka");
      hasKafka = true;
      continue;
    }
    const delta = deltaType(type);
    if (delta === undefined || delta === "timestamp_ntz")
      throw refused(`column ${name} is ${type}, which the table cannot hold: CAST it, times to TIMESTAMPTZ`);
    columns.push({ name, type: delta, nullable: true, metadata: {} });
  }
  if (!hasKafka) throw refused("its result lacks _kafka");
  return { sql: checked.sql, isUnnesting: checked.isUnnesting, columns };
}

/** How the rows are to look. */
export type TransformTarget = {
  schema: StructType;
  metadata: boolean;
  keepRaw: boolean;
  derived: readonly Derived[];
  /** See `EncodePlan`. */
  widen?: Widen | undefined;
};

/**
 * (Re)makes the table `rows` from `messages`, in the types of `target.schema`. A message whose rows cannot be made is a letter and none of
 * its rows stays. `end` is behind the last message's place.
 */
export async function applyTransform(
  engine: Engine,
  transform: Transform,
  target: TransformTarget,
  end: number,
  signal: AbortSignal,
): Promise<BadRecord[]> {
  const select = `SELECT ${targetColumns(transform, target).join(", ")}, r._kafka.${PLACE} AS ${PLACE} FROM (${transform.sql}) AS r`;
  await engine.run(`CREATE OR REPLACE TEMP TABLE rows AS ${select} LIMIT 0`, { signal });
  const bad: BadRecord[] = [];

  /** By their places: a message may have a column called `rowid`, too. */
  async function insert(start: number, behind: number): Promise<void> {
    const range =
      behind - start === end ? "" : ` WHERE _kafka.${PLACE} >= ${start} AND _kafka.${PLACE} < ${behind}`;
    try {
      await engine.run(`CREATE OR REPLACE TEMP VIEW messages AS SELECT * FROM all_messages${range}`, {
        signal,
      });
      await engine.run(`INSERT INTO rows ${select}`, { signal });
    } catch (error) {
      if (!isAboutAValue(error)) throw error;
      if (behind - start === 1) {
        bad.push({ index: start, stage: "transform", code: "TRANSFORM_FAILED", message: firstLine(error) });
        return;
      }
      const middle = start + ((behind - start) >> 1);
      await insert(start, middle);
      await insert(middle, behind);
    }
  }

  await insert(0, end);
  if (transform.isUnnesting && target.schema.fields.some((field) => field.name === INDEX_FIELD.name))
    await engine.run(
      `CREATE OR REPLACE TEMP TABLE rows AS SELECT * EXCLUDE "lab row" REPLACE (
         ("lab row" - min("lab row") OVER (PARTITION BY ${PLACE}))::INTEGER AS ${quoteName(INDEX_FIELD.name)})
       FROM (SELECT *, row_number() OVER () AS "lab row" FROM rows)`,
      { signal },
    );
  return bad;
}

/** How many rows each message has in `rows`, by its place in the batch; those without any are absent. */
export async function rowsByPlace(engine: Engine, signal: AbortSignal): Promise<Map<number, number>> {
  const counted = await engine.rows(
    `SELECT ${PLACE} AS place, count(*) AS rows FROM rows GROUP BY ${PLACE}`,
    {
      signal,
    },
  );
  return new Map(counted.map(({ place, rows }) => [place as number, Number(rows)]));
}

function targetColumns(transform: Transform, target: TransformTarget): string[] {
  const yielded = new Map(transform.columns.map((column) => [column.name.toLowerCase(), column]));
  return target.schema.fields
    .filter((field) => field.type !== "void")
    .map((field) => `${targetValue(field, yielded, target)} AS ${quoteName(field.name)}`);
}

function targetValue(
  field: StructField,
  yielded: ReadonlyMap<string, StructField>,
  target: TransformTarget,
): string {
  if (field.name === KAFKA_FIELD.name && target.metadata) {
    const names = (kafkaField(target.keepRaw).type as StructType).fields.map(({ name }) => name);
    return kafkaStruct(field, new Map(names.map((name) => [name, `r._kafka.${quoteName(name)}`])));
  }
  const column = (wanted: StructField) => typedValue(wanted, yielded.get(wanted.name.toLowerCase()));
  const time = `make_timestamp(epoch_us(r._kafka."timestamp"))`;
  return orDerived(field, column(field), { ...target, time, column });
}

function typedValue(field: StructField, yielded: StructField | undefined): string {
  const type = sqlType(field.type);
  const value = yielded === undefined ? "NULL" : `r.${quoteName(yielded.name)}`;
  return yielded !== undefined && sqlType(yielded.type) === type ? value : `CAST(${value} AS ${type})`;
}

/**
 * The table's schema with what the transform yields: new columns are added where `isGrowing`, else left out. Values may widen
 * without loss on the way into a table's column, and the column itself where the table lets it; for anything else the transform says CAST
 * itself, or SCHEMA_MISMATCH says so.
 */
export function mergeYield(transform: Transform, target: TransformTarget, isGrowing: boolean): StructType {
  const known = withoutKafka(target.schema);
  const columns = [...transform.columns];
  if (transform.isUnnesting && target.metadata) columns.push(INDEX_FIELD);
  const fields = [...known.fields];
  const places = new Map(fields.map((field, place) => [field.name.toLowerCase(), place]));
  const grown = columns.filter(({ name, type }) => {
    const place = places.get(name.toLowerCase());
    if (place === undefined || typeof type !== "string") return isGrowing;
    const field = fields[place]!;
    if (takes(field.type, type)) return false;
    const wider = isGrowing ? commonType(field.type, type) : undefined;
    if (wider !== undefined && target.widen?.(field.name, field.type, wider)) {
      fields[place] = { ...field, type: wider };
      return false;
    }
    throw new LabError(
      "SCHEMA_MISMATCH",
      `the transform yields ${name} as ${type}, and the table's column is ${describeType(field.type)}`,
      { hint: `say CAST(... AS ${sqlType(field.type)}) in the transform`, details: { column: name } },
    );
  });
  const isWidened = fields.some((field, place) => field !== known.fields[place]);
  const wide: StructType = isWidened ? withTypeChanges(known, { type: "struct", fields }) : known;
  const merged = mergeSchemas(wide, { type: "struct", fields: grown });
  if (merged === known) return target.schema;
  const kafka = target.schema.fields.filter((field) => field.name === KAFKA_FIELD.name);
  return { type: "struct", fields: [...merged.fields, ...kafka] };
}

/** Whether values of type `from` may be cast into a column of type `to`. */
function takes(to: DataType, from: DataType): boolean {
  if (from === to) return true;
  if (typeof from !== "string" || typeof to !== "string") return false;
  if (WIDENINGS[from]?.includes(to)) return true;
  const [target, source] = [decimalOf(to), decimalOf(from)];
  return target !== undefined && (source === undefined ? INTEGERS.has(from) : source.scale <= target.scale);
}

const INTEGERS = new Set<string>(["byte", "short", "integer", "long"]);
/** What does not fit at run time, as a long in a short decimal, makes a letter. */
const WIDENINGS: Readonly<Record<string, readonly string[]>> = {
  byte: ["short", "integer", "long", "float", "double"],
  short: ["integer", "long", "float", "double"],
  integer: ["long", "double"],
  float: ["double"],
};

function describeType(type: DataType): string {
  return typeof type === "string" ? type : type.type;
}

/** Whether a statement failed for what a row holds. */
export function isAboutAValue(error: unknown): boolean {
  return /^(Conversion|Invalid Input|Out of Range) Error/.test((error as Error).message);
}

export function firstLine(error: unknown): string {
  return (error as Error).message.split("\n")[0]!;
}
