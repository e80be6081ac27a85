/** A table's schema as vectors to fill: those of its files, those of its partition columns, and the walk over messages that fills them. */

import type { StructType } from "../delta/types.ts";
import { KAFKA_FIELD, withoutKafka } from "../engine/kafka-column.ts";
import { createJsonBuilder, type JsonBuilder } from "./json-builder.ts";
import { LeafBuilder } from "./leaf-builder.ts";
import { type ParquetSchema, parquetSchema } from "./parquet-schema.ts";

export type TableBuilder = {
  readonly schema: StructType;
  readonly parquet: ParquetSchema;
  /** The leaves of a file, in the order of `parquet`. */
  readonly vectors: readonly LeafBuilder[];
  /** Of the partition columns by name. */
  readonly partitions: ReadonlyMap<string, LeafBuilder>;
  /** Of column `_kafka`; none where the schema has it not. */
  readonly kafka: readonly LeafBuilder[];
  /** Fills all others. */
  readonly messages: JsonBuilder;
  /** Lets the memory of the vectors go. */
  release(): void;
};

/** For a schema that `isPlain`. Messages with fields that it lacks are doubtful, or with `ignoreUnknown` are taken without them. */
export function createTableBuilder(
  schema: StructType,
  partitionColumns: readonly string[],
  options: { ignoreUnknown: boolean },
): TableBuilder {
  const parquet = parquetSchema(schema, partitionColumns);
  const vectors = parquet.leaves.map((leaf) => new LeafBuilder(leaf));
  const partitions = new Map<string, LeafBuilder>();
  const columns = new Map<string, readonly LeafBuilder[]>();
  for (const field of schema.fields) {
    if (partitionColumns.includes(field.name)) {
      const [leaf] = parquetSchema({ type: "struct", fields: [field] }, []).leaves;
      const vector = new LeafBuilder(leaf!);
      partitions.set(field.name, vector);
      columns.set(field.name, [vector]);
    } else {
      const ofColumn = vectors.filter(({ leaf }) => leaf.parquetPath[0] === field.name);
      columns.set(field.name, ofColumn);
    }
  }
  const ofMessages = withoutKafka(schema);
  const leaves = ofMessages.fields.flatMap(({ name }) => columns.get(name)!);
  return {
    schema,
    parquet,
    vectors,
    partitions,
    kafka: columns.get(KAFKA_FIELD.name) ?? [],
    messages: createJsonBuilder(ofMessages, leaves, options),
    release() {
      for (const vector of [...vectors, ...partitions.values()]) vector.release();
    },
  };
}
