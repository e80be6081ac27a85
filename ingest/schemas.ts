/** The schemas of the tables that the ingester makes (contracts.md, "Tables"). */

import type { DataType, StructField, StructType } from "../delta/types.ts";
import { KAFKA_FIELD, kafkaField } from "../engine/kafka-column.ts";
import { derivedFields, parsePartitioning } from "../engine/partitioning.ts";

const field = (name: string, type: DataType): StructField => ({ name, type, nullable: true, metadata: {} });

const headers: DataType = {
  type: "array",
  elementType: { type: "struct", fields: [field("key", "string"), field("value", "binary")] },
  containsNull: true,
};

/** Columns of a dead-letter table. */
export const letterSchema: StructType = {
  type: "struct",
  fields: [
    field("topic", "string"),
    field("partition", "integer"),
    field("offset", "long"),
    field("timestamp", "timestamp"),
    field("key", "binary"),
    field("value", "binary"),
    field("headers", headers),
    field("stage", "string"),
    field("error_code", "string"),
    field("error_message", "string"),
    field("attempt", "integer"),
    field("ingested_at", "timestamp"),
  ],
};

export function hasKafkaColumn(schema: StructType): boolean {
  return schema.fields.some((column) => column.name === KAFKA_FIELD.name);
}

/** Where rows say of which topic they are: in our own column, or where kafka-delta-ingest's documentation puts it. */
export function topicColumn({ fields }: StructType): string | null {
  for (const path of [
    [KAFKA_FIELD.name, "topic"],
    ["meta", "kafka", "topic"],
  ]) {
    let type: DataType | undefined = { type: "struct", fields };
    for (const name of path)
      type =
        typeof type === "object" && type.type === "struct"
          ? type.fields.find((one) => one.name === name)?.type
          : undefined;
    if (type === "string") return path.map((name) => `"${name}"`).join(".");
  }
  return null;
}

/**
 * The schema of a table that is made from message columns: what it is partitioned by is added where it is derived and nothing else gives
 * it; `_kafka` comes last.
 */
export function tableSchema(
  columns: readonly StructField[],
  partitionBy: readonly string[],
  metadata: boolean,
  keepRaw = false,
): StructType {
  const fields = [...columns, ...derivedFields(columns, parsePartitioning(partitionBy).derived)];
  return { type: "struct", fields: metadata ? [...fields, kafkaField(keepRaw)] : fields };
}
