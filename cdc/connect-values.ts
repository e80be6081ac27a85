/**
 * Values by the schema that Kafka Connect's JSON converter sends along: what JSON has no form for (decimals, dates, times) becomes what the
 * encoder reads, and columns get the types that the source promises. Layouts: Debezium's "Data types", Kafka's `Decimal`, `Date`, `Time`,
 * `Timestamp`.
 */

import type { DataType, StructField, StructType } from "../delta/types.ts";
import type { Fault } from "../engine/json-exact.ts";
import { JsonNumber, type JsonObject, type JsonValue } from "../engine/json-parse.ts";
import { emptyObject, isJsonObject, longOf, textOf } from "./json-text.ts";
import { dateOf, localTimeOf, type TimeUnit, timeOfDay } from "./source-time.ts";

/** The values of an object as `schema` says, or the first that is none of its type. Fields that it does not know stay as they are. */
export function convertRow(
  row: JsonObject,
  schema: JsonObject,
  isLeft: (value: JsonValue) => boolean,
): { row: JsonObject } | { bad: Fault } {
  const converted = emptyObject();
  const fields = fieldsOf(schema);
  try {
    for (const name of Object.keys(row)) {
      const field = fields.get(name);
      const value = row[name]!;
      converted[name] = field && !isLeft(value) ? convert(value, field, name) : value;
    }
    return { row: converted };
  } catch (error) {
    if (!(error instanceof Unconvertible)) throw error;
    return { bad: { stage: "schema", code: error.code, message: error.message } };
  }
}

/** The columns of a row's schema; those of a type that no column has are left to what messages suggest. */
export function promisedColumns(schema: JsonObject): StructType {
  const fields: StructField[] = [];
  for (const [name, field] of fieldsOf(schema)) {
    const type = typeOf(field);
    if (type !== null) fields.push({ name, type, nullable: true, metadata: {} });
  }
  return { type: "struct", fields };
}

/** The schema of one field of a struct's schema; null where there is none. */
export function fieldSchema(schema: JsonObject, name: string): JsonObject | null {
  return fieldsOf(schema).get(name) ?? null;
}

class Unconvertible extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

function fieldsOf({ fields }: JsonObject): Map<string, JsonObject> {
  const found = new Map<string, JsonObject>();
  for (const field of Array.isArray(fields) ? fields : [])
    if (isJsonObject(field) && typeof field.field === "string") found.set(field.field, field);
  return found;
}

/** Times without a zone, by the name of their type. */
const LOCAL_TIMES: Readonly<Record<string, TimeUnit>> = {
  "io.debezium.time.Timestamp": "ms",
  "io.debezium.time.MicroTimestamp": "us",
  "io.debezium.time.NanoTimestamp": "ns",
  "org.apache.kafka.connect.data.Timestamp": "ms",
};
const TIMES_OF_DAY: Readonly<Record<string, TimeUnit>> = {
  "io.debezium.time.Time": "ms",
  "io.debezium.time.MicroTime": "us",
  "io.debezium.time.NanoTime": "ns",
  "org.apache.kafka.connect.data.Time": "ms",
};
const DATES = new Set(["io.debezium.time.Date", "org.apache.kafka.connect.data.Date"]);
const DECIMAL = "org.apache.kafka.connect.data.Decimal";
const VARIABLE_DECIMAL = "io.debezium.data.VariableScaleDecimal";

function convert(value: JsonValue, schema: JsonObject, path: string): JsonValue {
  if (value === null) return null;
  const name = textOf(schema.name) ?? "";
  if (name === DECIMAL) return decimalOf(value, scaleOf(schema), path);
  if (name === VARIABLE_DECIMAL) {
    const scale = isJsonObject(value) ? longOf(value.scale) : null;
    return decimalOf(isJsonObject(value) ? value.value! : value, scale, path);
  }
  if (DATES.has(name)) return timed(value, path, dateOf);
  const local = LOCAL_TIMES[name];
  if (local) return timed(value, path, (count) => localTimeOf(count, local));
  const ofDay = TIMES_OF_DAY[name];
  if (ofDay) return timed(value, path, (count) => timeOfDay(count, ofDay));
  if (schema.type === "struct" && isJsonObject(value)) {
    const converted = emptyObject();
    const fields = fieldsOf(schema);
    for (const member of Object.keys(value)) {
      const field = fields.get(member);
      converted[member] = field ? convert(value[member]!, field, `${path}.${member}`) : value[member]!;
    }
    return converted;
  }
  if (schema.type === "array" && Array.isArray(value) && isJsonObject(schema.items)) {
    const { items } = schema;
    return value.map((item, i) => convert(item, items, `${path}[${i}]`));
  }
  return value;
}

function timed(value: JsonValue, path: string, text: (count: bigint) => string | null): JsonValue {
  const count = longOf(value);
  const found = count === null ? null : text(count);
  if (found !== null) return found;
  throw new Unconvertible("BAD_TIME", `${path}: ${brief(value)} is no time of the years 1900 to 2200`);
}

/** Base64 of the digits as a whole number, big-endian, in two's complement. */
function decimalOf(value: JsonValue, scale: bigint | null, path: string): JsonNumber {
  const bytes = typeof value === "string" ? Buffer.from(value, "base64") : Buffer.alloc(0);
  if (scale === null || bytes.length === 0 || bytes.toString("base64") !== value)
    throw new Unconvertible("WRONG_TYPE", `${path}: ${brief(value)} is no decimal in base64 with a scale`);
  const unscaled = BigInt.asIntN(8 * bytes.length, BigInt(`0x${bytes.toString("hex")}`));
  return new JsonNumber(scaled(unscaled, Number(scale)));
}

function scaled(unscaled: bigint, scale: number): string {
  if (scale <= 0) return (unscaled * 10n ** BigInt(-scale)).toString();
  const sign = unscaled < 0n ? "-" : "";
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, "0");
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function scaleOf({ parameters }: JsonObject): bigint | null {
  const scale = isJsonObject(parameters) ? longOf(parameters.scale) : null;
  return scale !== null && scale > -100n && scale < 100n ? scale : null;
}

const TYPES: Readonly<Record<string, DataType>> = {
  int8: "byte",
  int16: "short",
  int32: "integer",
  int64: "long",
  float: "float",
  float32: "float",
  double: "double",
  float64: "double",
  boolean: "boolean",
  string: "string",
  bytes: "binary",
};

/** Null for what only messages can tell. */
function typeOf(schema: JsonObject): DataType | null {
  const name = textOf(schema.name) ?? "";
  if (name === DECIMAL) return decimalType(schema);
  if (name === VARIABLE_DECIMAL) return null;
  if (DATES.has(name)) return "date";
  if (name === "io.debezium.time.ZonedTimestamp") return "timestamp";
  // A column of this type would ask for readers that know it; a table that has one takes the text.
  if (LOCAL_TIMES[name] ?? TIMES_OF_DAY[name]) return "string";
  if (schema.type === "struct") {
    const { fields } = promisedColumns(schema);
    return fields.length > 0 ? { type: "struct", fields } : null;
  }
  if (schema.type === "array" && isJsonObject(schema.items)) {
    const elementType = typeOf(schema.items);
    return elementType && { type: "array", elementType, containsNull: true };
  }
  return TYPES[textOf(schema.type) ?? ""] ?? null;
}

const MOST_DIGITS = 38n;

function decimalType(schema: JsonObject): DataType | null {
  const scale = scaleOf(schema);
  const precision = isJsonObject(schema.parameters)
    ? longOf(schema.parameters["connect.decimal.precision"])
    : null;
  const digits = precision ?? MOST_DIGITS;
  if (scale === null || scale < 0n || digits < 1n || digits > MOST_DIGITS || scale > digits) return null;
  return `decimal(${Number(digits)},${Number(scale)})`;
}

function brief(value: JsonValue): string {
  const text = value instanceof JsonNumber ? value.text : JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
