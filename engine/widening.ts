/** Wider types for values that a table's columns have no room for, where the table lets them change. */

import { decimalOf } from "../delta/schema.ts";
import type { Snapshot } from "../delta/table.ts";
import { type Widen, widenOf } from "../delta/type-widening.ts";
import type { DataType, PrimitiveType, StructType } from "../delta/types.ts";
import { exactDecimal } from "./json-number.ts";
import { JsonNumber, type JsonObject, type JsonValue } from "./json-parse.ts";
import { derivedOf, hasStableText } from "./partitioning.ts";

/** What columns of a table may become while rows are added; undefined where nothing may change. Values stay in the buckets they are in. */
export function wideningFor(
  table: Pick<Snapshot, "protocol" | "metadata" | "schema" | "partitionColumns">,
): Widen | undefined {
  const widen = widenOf(table.protocol, table.metadata, table.schema);
  if (widen === undefined) return undefined;
  const derived = derivedOf(table.schema, table.partitionColumns);
  const bucketed = new Set(derived.flatMap((one) => (one.kind === "bucket" ? [one.of] : [])));
  return (column, from, to) => widen(column, from, to) && (!bucketed.has(column) || hasStableText(to));
}

/**
 * `schema` with the types that the numbers of a message need: a longer integer, a double for what a float cannot reach, a decimal with more digits. Whole
 * numbers never become doubles or decimals by what one message says, as the protocol's own engine has it. The same object where
 * nothing changes; whether the message fits then is another question.
 */
export function widenedFor(schema: StructType, object: JsonObject, widen: Widen): StructType {
  const fields = schema.fields.map((field) => {
    const value = Object.hasOwn(object, field.name) ? object[field.name]! : null;
    const type = widened(field.type, value, (from, to) => widen(field.name, from, to));
    return type === field.type ? field : { ...field, type };
  });
  return fields.some((field, i) => field !== schema.fields[i]) ? { type: "struct", fields } : schema;
}

function widened(type: DataType, value: JsonValue, may: (from: DataType, to: DataType) => boolean): DataType {
  if (value === null) return type;
  if (typeof type === "string") {
    const wider = value instanceof JsonNumber ? typeFor(value.text, type) : type;
    return wider !== type && may(type, wider) ? wider : type;
  }
  if (type.type === "array") {
    if (!Array.isArray(value)) return type;
    const elementType = value.reduce<DataType>(
      (grown, element) => widened(grown, element, may),
      type.elementType,
    );
    return elementType === type.elementType ? type : { ...type, elementType };
  }
  if (typeof value !== "object" || Array.isArray(value) || value instanceof JsonNumber) return type;
  if (type.type === "struct") return widenedFor(type, value, (_field, from, to) => may(from, to));
  const valueType = Object.values(value).reduce<DataType>(
    (grown, element: JsonValue) => widened(grown, element, may),
    type.valueType,
  );
  return valueType === type.valueType ? type : { ...type, valueType };
}

const INTEGERS = ["byte", "short", "integer", "long"] as const;

/** The narrowest type of the same kind as `type` that holds a number and all that `type` holds; `type` where there is none. */
function typeFor(json: string, type: PrimitiveType): PrimitiveType {
  if (type === "float")
    return Number.isFinite(Number(json)) && !Number.isFinite(Math.fround(Number(json))) ? "double" : type;
  const { digits, exponent, isNegative } = exactDecimal(json);
  const whole = Math.max(0, digits.length + exponent);
  const rank = INTEGERS.indexOf(type as (typeof INTEGERS)[number]);
  if (rank >= 0) {
    if (exponent < 0 || whole > 19) return type;
    const size = BigInt(digits) * 10n ** BigInt(exponent) - (isNegative ? 1n : 0n);
    return INTEGERS.find((_, i) => i >= rank && size < 1n << BigInt(8 * 2 ** i - 1)) ?? type;
  }
  const decimal = decimalOf(type);
  if (decimal === undefined) return type;
  const scale = Math.max(decimal.scale, -exponent);
  const precision = scale + Math.max(decimal.precision - decimal.scale, whole);
  return precision <= 38 ? `decimal(${precision},${scale})` : type;
}
