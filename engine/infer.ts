/** The schema that messages suggest, and what unknown fields add to one. The rules stand in docs/formats.md. */

import { decimalOf } from "../delta/schema.ts";
import type { DataType, StructField, StructType } from "../delta/types.ts";
import { isColumnName } from "./json-exact.ts";
import { exactDecimal } from "./json-number.ts";
import { JsonNumber, type JsonObject, type JsonValue } from "./json-parse.ts";
import { isoTimestamp } from "./json-time.ts";

/** What was seen at one path of many messages. Grows by `observe`, is read by `inferStruct` and `inferAdditions`. */
export type Observed = {
  kinds: Set<"number" | "boolean" | "string" | "object" | "array">;
  hasFraction: boolean;
  /** Largest number of digits of a whole number. */
  digits: number;
  /** A whole number beyond int64, or beyond what a double carries. */
  isBeyondLong: boolean;
  isBeyondDouble: boolean;
  isEveryTextATime: boolean;
  /** Some text is a time; not looked for once another was none. */
  isSomeTextATime: boolean;
  fields: Map<string, Observed>;
  element: Observed | undefined;
};

/** In the metadata of a column that became text because messages differed: what they had. */
export const MIXED_KEY = "lab.mixed";

const MAX_LONG = 2n ** 63n - 1n;
const MAX_EXACT_DOUBLE = 2n ** 53n;
const MAX_DECIMAL_DIGITS = 38;

export function nothingObserved(): Observed {
  return {
    kinds: new Set(),
    hasFraction: false,
    digits: 0,
    isBeyondLong: false,
    isBeyondDouble: false,
    isEveryTextATime: true,
    isSomeTextATime: false,
    fields: new Map(),
    element: undefined,
  };
}

/** Adds one value to what was seen; null says nothing. */
export function observe(seen: Observed, value: JsonValue): void {
  if (value === null) return;
  if (value instanceof JsonNumber) {
    observeNumber(seen, value.text);
  } else if (typeof value === "boolean") {
    seen.kinds.add("boolean");
  } else if (typeof value === "string") {
    seen.kinds.add("string");
    seen.isEveryTextATime &&= isoTimestamp(value, { zone: true }).kind === "time";
    seen.isSomeTextATime ||= seen.isEveryTextATime;
  } else if (Array.isArray(value)) {
    seen.kinds.add("array");
    seen.element ??= nothingObserved();
    for (const element of value) observe(seen.element, element);
  } else {
    observeObject(seen, value);
  }
}

/** The columns for messages that were observed as objects; null where no field can be a column. */
export function inferStruct(seen: Observed): StructType | null {
  const fields = nameable(seen).map(([name, field]) => inferred(name, inferType(field), field));
  return fields.length === 0 ? null : { type: "struct", fields };
}

/**
 * As `inferStruct`, but void where nothing that was seen settles a type. A value that such a type holds as it is would change nothing of what is
 * inferred, but for whole numbers of more than 15 digits, where a fraction is met later.
 */
export function settledStruct(seen: Observed): StructType {
  const fields = nameable(seen).map(([name, field]) => nullable(name, settledType(field)));
  return { type: "struct", fields };
}

function settledType(seen: Observed): DataType {
  const [kind] = seen.kinds;
  if (kind === undefined) return "void";
  if (seen.kinds.size > 1) return "string";
  if (kind === "array") return { type: "array", elementType: settledType(seen.element!), containsNull: true };
  return kind === "object" ? settledStruct(seen) : inferType(seen);
}

/**
 * What `seen` adds to `schema`, as a schema to merge into it: only fields that are new, at any depth, under the known names around
 * them. A new field that `hints` names gets the type it has there, if all that was seen fits it. Null where nothing is new.
 */
export function inferAdditions(schema: StructType, seen: Observed, hints?: StructType): StructType | null {
  const hinted = new Map(hints?.fields.map((field) => [field.name, field.type]));
  const known = new Map(schema.fields.map((field) => [field.name.toLowerCase(), field]));
  const fields: StructField[] = [];
  for (const [name, observed] of nameable(seen)) {
    const field = known.get(name.toLowerCase());
    if (field === undefined)
      fields.push(inferred(name, widened(inferType(observed), hinted.get(name), observed), observed));
    else if (field.name === name) {
      const type = additionsTo(field.type, observed);
      if (type !== null) fields.push({ ...field, type });
    }
  }
  return fields.length === 0 ? null : { type: "struct", fields };
}

/** `hint` where it holds all that was seen as `inferred`, too. */
function widened(inferred: DataType, hint: DataType | undefined, seen: Observed): DataType {
  if (hint === undefined || seen.kinds.size === 0) return hint ?? inferred;
  const isNumber = inferred === "long" && (hint === "double" || decimalOf(hint) !== undefined);
  const isText = hint === "string" && typeof inferred === "string";
  return isNumber || isText ? hint : inferred;
}

function additionsTo(type: DataType, seen: Observed): DataType | null {
  if (typeof type === "string") return null;
  if (type.type === "struct") return inferAdditions(type, seen);
  if (type.type === "array") {
    const elementType = seen.element && additionsTo(type.elementType, seen.element);
    return elementType ? { ...type, elementType } : null;
  }
  const values = nothingObserved();
  for (const field of seen.fields.values()) mergeObserved(values, field);
  const valueType = additionsTo(type.valueType, values);
  return valueType ? { ...type, valueType } : null;
}

function inferType(seen: Observed): DataType {
  if (seen.kinds.size !== 1) return "string";
  const [kind] = seen.kinds;
  switch (kind) {
    case "boolean":
      return "boolean";
    case "number":
      return inferNumber(seen);
    case "array":
      return { type: "array", elementType: inferType(seen.element!), containsNull: true };
    case "object":
      return (
        inferStruct(seen) ?? {
          type: "map",
          keyType: "string",
          valueType: "string",
          valueContainsNull: true,
        }
      );
    default:
      return seen.isEveryTextATime ? "timestamp" : "string";
  }
}

function inferNumber(seen: Observed): DataType {
  if (seen.hasFraction) return seen.isBeyondDouble ? "string" : "double";
  if (!seen.isBeyondLong) return "long";
  return seen.digits <= MAX_DECIMAL_DIGITS ? `decimal(${MAX_DECIMAL_DIGITS},0)` : "string";
}

function observeNumber(seen: Observed, json: string): void {
  seen.kinds.add("number");
  if (/[.eE]/.test(json)) {
    seen.hasFraction = true;
    seen.isBeyondDouble ||= !Number.isFinite(Number(json));
    return;
  }
  const { digits, exponent } = exactDecimal(json);
  seen.digits = Math.max(seen.digits, digits.length + exponent);
  if (json.length < 16) return;
  const whole = BigInt(json);
  const size = whole < 0n ? -whole : whole;
  seen.isBeyondLong ||= whole > MAX_LONG || whole < -MAX_LONG - 1n;
  seen.isBeyondDouble ||= size > MAX_EXACT_DOUBLE;
}

function observeObject(seen: Observed, value: JsonObject): void {
  seen.kinds.add("object");
  for (const name of Object.keys(value)) {
    let field = seen.fields.get(name);
    if (field === undefined) {
      field = nothingObserved();
      seen.fields.set(name, field);
    }
    observe(field, value[name]!);
  }
}

/** Fields that can be columns; of names that differ by case only, the first. */
function nameable(seen: Observed): [string, Observed][] {
  const taken = new Set<string>();
  return [...seen.fields].filter(([name]) => {
    const folded = name.toLowerCase();
    if (!isColumnName(name) || taken.has(folded)) return false;
    taken.add(folded);
    return true;
  });
}

function mergeObserved(into: Observed, from: Observed): void {
  for (const kind of from.kinds) into.kinds.add(kind);
  into.hasFraction ||= from.hasFraction;
  into.digits = Math.max(into.digits, from.digits);
  into.isBeyondLong ||= from.isBeyondLong;
  into.isBeyondDouble ||= from.isBeyondDouble;
  into.isEveryTextATime &&= from.isEveryTextATime;
  into.isSomeTextATime ||= from.isSomeTextATime;
  if (from.element !== undefined) {
    into.element ??= nothingObserved();
    mergeObserved(into.element, from.element);
  }
  for (const [name, field] of from.fields) {
    const known = into.fields.get(name) ?? nothingObserved();
    mergeObserved(known, field);
    into.fields.set(name, known);
  }
}

/** The field, marked where it is text because no other type holds all that was seen; `mixed-columns.ts` says what that was. */
function inferred(
  name: string,
  type: DataType,
  { kinds, isEveryTextATime, isSomeTextATime }: Observed,
): StructField {
  const isMixed = kinds.size > 1 || (isSomeTextATime && !isEveryTextATime);
  const metadata = type === "string" && isMixed ? { [MIXED_KEY]: "" } : {};
  return { ...nullable(name, type), metadata };
}

function nullable(name: string, type: DataType): StructField {
  return { name, type, nullable: true, metadata: {} };
}
