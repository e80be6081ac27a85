/** Messages of formats `text` and `bytes`: key and value as they are. */

import { isUtf8 } from "node:buffer";
import { LabError } from "../core/errors.ts";
import type { DataType, StructField, StructType } from "../delta/types.ts";
import type { BadRecord, EncodePlan } from "./encoder.ts";
import type { Source } from "./json-source.ts";
import type { RawBatch } from "./raw-batch.ts";

export const TEXT_SCHEMA: StructType = keyAndValue("string");
export const BYTES_SCHEMA: StructType = keyAndValue("binary");

/** The columns that a format gives whatever its messages hold; undefined where they tell. */
export function plainSchema(format: EncodePlan["format"]): StructType | undefined {
  return { json: undefined, text: TEXT_SCHEMA, bytes: BYTES_SCHEMA }[format];
}

/**
 * Every message is a row but those whose key or value is not UTF-8 where `format` or the column of `schema` wants text, or null where
 * it takes none. SCHEMA_MISMATCH where `key` or `value` is of another type than text or bytes.
 */
export function readPlain(batch: RawBatch, schema: StructType, format: "text" | "bytes"): Source {
  const places = new Uint32Array(batch.length);
  const bad: BadRecord[] = [];
  const columns = schema.fields.filter(({ name, type }) => isGiven(name) && type !== "void");
  for (const { name, type } of columns) if (!isPlainType(type)) throw mismatch(name, type, format);
  const rules = (["key", "value"] as const).map((name) => {
    const column = columns.find((field) => field.name === name);
    return {
      name,
      isRequired: column?.nullable === false,
      isText: format === "text" || column?.type === "string",
    };
  });
  let rows = 0;
  for (let index = 0; index < batch.length; index++) {
    let problem: Omit<BadRecord, "index"> | undefined;
    for (const rule of rules) problem ??= problemOf(rule, batch[rule.name](index));
    if (problem === undefined) places[rows++] = index;
    else bad.push({ index, ...problem });
  }
  return {
    schema,
    places: places.subarray(0, rows),
    bad,
    from: "origins AS origin",
    column: ({ name, type }) => {
      if (!isGiven(name)) return "NULL";
      return type === "string" ? `decode(origin."${name}")` : `origin."${name}"`;
    },
    mayHave: ({ name }) => isGiven(name),
  };
}

function problemOf(
  { name, isRequired, isText }: { name: string; isRequired: boolean; isText: boolean },
  bytes: Uint8Array | null,
): Omit<BadRecord, "index"> | undefined {
  if (bytes === null) {
    if (!isRequired) return undefined;
    return { stage: "schema", code: "NULL_NOT_ALLOWED", message: `${name}: is null and must not be` };
  }
  if (!isText || isUtf8(bytes)) return undefined;
  return { stage: "decode", code: "INVALID_UTF8", message: `the ${name} is not UTF-8 text` };
}

function isGiven(name: string): boolean {
  return name === "key" || name === "value";
}

function isPlainType(type: DataType): boolean {
  return type === "string" || type === "binary";
}

function mismatch(name: string, type: DataType, format: string): LabError {
  const found = typeof type === "string" ? type : type.type;
  return new LabError(
    "SCHEMA_MISMATCH",
    `messages of format ${format} have text or bytes as ${name}, and the table's column is ${found}`,
    {
      hint: "use the format that the table was made for, or write to a new table",
      details: { column: name },
    },
  );
}

function keyAndValue(type: DataType): StructType {
  const field = (name: string): StructField => ({ name, type, nullable: true, metadata: {} });
  return { type: "struct", fields: [field("key"), field("value")] };
}
