/** What a table's schema says of where its rows come from, as SQL over a view of it. */

import { LabError } from "../core/errors.ts";
import { isStruct } from "../delta/schema.ts";
import type { StructField, StructType } from "../delta/types.ts";
import { quoteName } from "../engine/instance.ts";
import { KAFKA_FIELD } from "../engine/kafka-column.ts";
import { sqlType } from "../engine/sql-types.ts";

/** Numbers the rows of a message that became several. */
const INDEX_COLUMN = "_kafka_index";
/** In the metadata of a column that was derived, and that no message held (`partitionBy`). */
const DERIVED_KEY = "lab.derived";

export type Origin = {
  topic: string;
  partition: string;
  generation: string;
  offset: string;
  /** Microseconds since the epoch; NULL where the record's time could not be held. */
  micros: string;
  key: string;
  headers: string;
  /** Which of a message's rows; 0 where it has one. */
  index: string;
  /** The value as it came, in tables that have a place for it. */
  raw: string | undefined;
  /** The columns that a message gave, or a transform. */
  columns: readonly StructField[];
};

/** ORIGIN_MISSING where the table has no `_kafka`. */
export function originOf(schema: StructType, table: string): Origin {
  const column = schema.fields.find(({ name }) => name === KAFKA_FIELD.name);
  const members = column && isStruct(column.type) ? column.type.fields : [];
  const has = (name: string) => members.some((member) => member.name === name);
  if (column === undefined || !["topic", "partition", "offset"].every(has))
    throw new LabError(
      "ORIGIN_MISSING",
      `the rows of ${table} do not say which Kafka record they come from`,
      {
        hint: "it takes column _kafka, which lab ingest writes unless --metadata is off",
        details: { table },
      },
    );
  const known = isStruct(KAFKA_FIELD.type) ? KAFKA_FIELD.type.fields : [];
  const member = (name: string) => {
    const type = known.find((one) => one.name === name)!.type;
    return has(name) ? `${column.name}.${quoteName(name)}` : `CAST(NULL AS ${sqlType(type)})`;
  };
  const isIndexed = schema.fields.some(({ name }) => name === INDEX_COLUMN);
  return {
    topic: member("topic"),
    partition: member("partition"),
    generation: `coalesce(${member("generation")}, 0)`,
    offset: member("offset"),
    micros: `epoch_us(${member("timestamp")})`,
    key: member("key"),
    headers: member("headers"),
    index: isIndexed ? `coalesce(${INDEX_COLUMN}, 0)` : "0",
    raw: has("value") ? `${column.name}."value"` : undefined,
    columns: schema.fields.filter(
      ({ name, metadata }) =>
        name !== KAFKA_FIELD.name && name !== INDEX_COLUMN && metadata[DERIVED_KEY] === undefined,
    ),
  };
}
