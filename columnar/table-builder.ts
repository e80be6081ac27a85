/** A table's schema as vectors to fill: those of its files, those of its partition columns, and the walk over messages that fills them. */

import type { StructType } from "../delta/types.ts";
import { KAFKA_FIELD, withoutKafka } from "../engine/kafka-column.ts";
import type { Columns } from "./columns.ts";
import { messageNode } from "./json-nodes.ts";
import { createJsonWalk, type JsonWalk } from "./json-walk.ts";
import { LeafVector } from "./leaf-vector.ts";
import { type ParquetSchema, parquetSchema } from "./parquet-schema.ts";

export type TableBuilder = {
  readonly schema: StructType;
  readonly parquet: ParquetSchema;
  /** The leaves of a file, in the order of `parquet`. */
  readonly vectors: readonly LeafVector[];
  /** Of the same kinds as `vectors`, for the rows of one partition at a time. */
  readonly parts: readonly LeafVector[];
  /** Of the partition columns by name. */
  readonly partitions: ReadonlyMap<string, LeafVector>;
  /** Of column `_kafka`; none where the schema has it not. */
  readonly kafka: readonly LeafVector[];
  /** Fills all others. */
  readonly messages: JsonWalk;
  /** Lets the memory of the vectors go. */
  release(): void;
  /** Lets all of it go: it is used no more. */
  close(): void;
};

/** For a schema that `isPlain`. Messages with fields that it lacks are doubtful, or with `ignoreUnknown` are taken without them. */
export function createTableBuilder(
  columns: Columns,
  schema: StructType,
  partitionColumns: readonly string[],
  options: { ignoreUnknown: boolean },
): TableBuilder {
  const parquet = parquetSchema(schema, partitionColumns);
  const vectors = parquet.leaves.map((leaf) => new LeafVector(columns, leaf));
  const parts = parquet.leaves.map((leaf) => new LeafVector(columns, leaf));
  const partitions = new Map<string, LeafVector>();
  const leavesOf = new Map<string, readonly LeafVector[]>();
  for (const field of schema.fields) {
    if (partitionColumns.includes(field.name)) {
      const [leaf] = parquetSchema({ type: "struct", fields: [field] }, []).leaves;
      const vector = new LeafVector(columns, leaf!);
      partitions.set(field.name, vector);
      leavesOf.set(field.name, [vector]);
    } else {
      const ofColumn = vectors.filter(({ leaf }) => leaf.parquetPath[0] === field.name);
      leavesOf.set(field.name, ofColumn);
    }
  }
  const ofMessages = withoutKafka(schema);
  const leaves = ofMessages.fields.flatMap(({ name }) => leavesOf.get(name)!).values();
  const root = messageNode(ofMessages, () => leaves.next().value!);
  const messages = createJsonWalk(columns, root, options);
  const all = [...vectors, ...parts, ...partitions.values()];
  return {
    schema,
    parquet,
    vectors,
    parts,
    partitions,
    kafka: leavesOf.get(KAFKA_FIELD.name) ?? [],
    messages,
    release() {
      for (const vector of all) vector.release();
    },
    close() {
      messages.close();
      for (const vector of all) vector.close();
    },
  };
}
