/** Which plans become columns here. All others are for DuckDB. */

import { constraintsOf } from "../delta/constraints.ts";
import { isStruct } from "../delta/schema.ts";
import type { DataType, StructField } from "../delta/types.ts";
import type { EncodePlan } from "../engine/encoder.ts";
import { KAFKA_FIELD } from "../engine/kafka-column.ts";
import { HELPERS } from "../engine/own-names.ts";
import { kafkaMembers } from "./kafka-columns.ts";
import { canPartBy } from "./partition-rows.ts";

/**
 * Whether messages become rows of the plan's schema without anything being worked out: JSON, each field a column, nothing asked of rows but that
 * they have no nulls where they must not.
 */
export function isPlain(plan: EncodePlan): boolean {
  const { schema, partitionColumns, configuration = {} } = plan;
  return (
    plan.format === "json" &&
    plan.transform === undefined &&
    plan.route === undefined &&
    (plan.written ?? []).length === 0 &&
    plan.derived.every(({ kind, column }) => kind !== "bucket" && partitionColumns.includes(column)) &&
    schema.fields.some(({ type }) => type !== "void") &&
    schema.fields.every((field) => isPlainColumn(field, plan)) &&
    partitionColumns.every((name) => schema.fields.some((field) => field.name === name)) &&
    !hasConditions({ configuration, schema, partitionColumns })
  );
}

/** Whether rows are asked for more than what a look at each message's nulls tells: a partition column also stores the empty text as null. */
export function hasConditions({
  configuration,
  schema,
  partitionColumns,
}: Required<Pick<EncodePlan, "configuration" | "schema" | "partitionColumns">>): boolean {
  return constraintsOf({ configuration: { ...configuration } }, schema).some(
    ({ kind, path }) => kind !== "notNull" || partitionColumns.includes(path[0]!),
  );
}

function isPlainColumn(field: StructField, { metadata, partitionColumns }: EncodePlan): boolean {
  if (HELPERS.test(field.name)) return false;
  const isPartition = partitionColumns.includes(field.name);
  if (field.name === KAFKA_FIELD.name) return metadata && !isPartition && kafkaMembers(field) !== undefined;
  if (isPartition) return canPartBy(field.type);
  return field.type === "void" || isPlainType(field.type);
}

/** What a column of a file and a field of JSON can both be. */
function isPlainType(type: DataType): boolean {
  if (typeof type === "string") return type !== "void" && type !== "variant";
  if (isStruct(type)) return type.fields.length > 0 && type.fields.every((field) => isPlainType(field.type));
  if (type.type === "array") return isPlainType(type.elementType);
  return type.keyType === "string" && isPlainType(type.valueType);
}
