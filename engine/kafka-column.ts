/** The `_kafka` column: where a row comes from (contracts.md, "Tables"). */

import type { StructField, StructType } from "../delta/types.ts";

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

/** `schema` without `_kafka`. */
export function withoutKafka(schema: StructType): StructType {
  return { type: "struct", fields: schema.fields.filter((field) => field.name !== KAFKA_FIELD.name) };
}
