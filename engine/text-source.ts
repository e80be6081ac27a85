/** Messages of format `text`: key and value as they are, as far as they are text. */

import { isUtf8 } from "node:buffer";
import type { StructType } from "../delta/types.ts";
import type { BadRecord } from "./encoder.ts";
import type { Source } from "./json-source.ts";
import type { RawBatch } from "./raw-batch.ts";

export const TEXT_SCHEMA: StructType = {
  type: "struct",
  fields: [
    { name: "key", type: "string", nullable: true, metadata: {} },
    { name: "value", type: "string", nullable: true, metadata: {} },
  ],
};

/** Every message is a row but those whose key or value is not UTF-8, or null where `schema` wants text. */
export function readText(batch: RawBatch, schema: StructType): Source {
  const places = new Uint32Array(batch.length);
  const bad: BadRecord[] = [];
  const required = new Set(schema.fields.filter((field) => !field.nullable).map((field) => field.name));
  let rows = 0;
  for (let index = 0; index < batch.length; index++) {
    const problem =
      problemOf("key", batch.key(index), required) ?? problemOf("value", batch.value(index), required);
    if (problem === undefined) places[rows++] = index;
    else bad.push({ index, ...problem });
  }
  return {
    schema,
    places: places.subarray(0, rows),
    bad,
    from: "origins AS origin",
    column: ({ name }) => (name === "key" || name === "value" ? `decode(origin."${name}")` : "NULL"),
    mayHave: ({ name }) => name === "key" || name === "value",
  };
}

function problemOf(
  name: string,
  bytes: Uint8Array | null,
  required: ReadonlySet<string>,
): Omit<BadRecord, "index"> | undefined {
  if (bytes === null) {
    if (!required.has(name)) return undefined;
    return { stage: "schema", code: "NULL_NOT_ALLOWED", message: `${name}: is null and must not be` };
  }
  if (isUtf8(bytes)) return undefined;
  return { stage: "decode", code: "INVALID_UTF8", message: `the ${name} is not UTF-8 text` };
}
