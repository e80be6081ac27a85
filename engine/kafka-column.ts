/** The `_kafka` column: where a row comes from (contracts.md, "Tables"). */

import { isStruct } from "../delta/schema.ts";
import type { StructField, StructType } from "../delta/types.ts";
import { quoteName } from "./instance.ts";
import { sqlType } from "./sql-types.ts";

const nullable = (name: string, type: StructField["type"]): StructField => ({
  name,
  type,
  nullable: true,
  metadata: {},
});

/** The column as a schema has it; always the last one. */
export const KAFKA_FIELD: StructField = nullable("_kafka", {
  type: "struct",
  fields: [
    nullable("topic", "string"),
    nullable("partition", "integer"),
    nullable("offset", "long"),
    nullable("timestamp", "timestamp"),
    nullable("timestamp_type", "string"),
    nullable("key", "binary"),
    nullable("headers", {
      type: "array",
      elementType: { type: "struct", fields: [nullable("key", "string"), nullable("value", "binary")] },
      containsNull: true,
    }),
    nullable("generation", "integer"),
  ],
});

/** The value's bytes as they came, for a stream that keeps them; always the last field. */
const RAW_FIELD = nullable("value", "binary");

/** The column of a table whose stream keeps the values' bytes, or does not. */
export function kafkaField(keepRaw: boolean): StructField {
  return keepRaw ? withRaw(KAFKA_FIELD) : KAFKA_FIELD;
}

/** `schema` with a place for the values' bytes in its `_kafka`; the same object where there is one, or no `_kafka`. */
export function withRawValue(schema: StructType): StructType {
  const fields = schema.fields.map((field) => (field.name === KAFKA_FIELD.name ? withRaw(field) : field));
  return fields.some((field, i) => field !== schema.fields[i]) ? { type: "struct", fields } : schema;
}

function withRaw(field: StructField): StructField {
  const { type } = field;
  if (!isStruct(type) || type.fields.some(({ name }) => name.toLowerCase() === RAW_FIELD.name)) return field;
  return { ...field, type: { type: "struct", fields: [...type.fields, RAW_FIELD] } };
}

/** The column as SQL in the form that a table has: `members` are its fields by name; those that the table lacks are left out. */
export function kafkaStruct(field: StructField, members: ReadonlyMap<string, string>): string {
  const fields = isStruct(field.type) ? field.type.fields : [];
  const packed = fields.map(
    ({ name, type }) => `${quoteName(name)} := ${members.get(name) ?? `CAST(NULL AS ${sqlType(type)})`}`,
  );
  return `struct_pack(${packed.join(", ")})`;
}

/** `schema` without `_kafka`. */
export function withoutKafka(schema: StructType): StructType {
  return { type: "struct", fields: schema.fields.filter((field) => field.name !== KAFKA_FIELD.name) };
}
