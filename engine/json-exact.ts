/** The slow and exact way of one JSON message: a letter that names the path at fault, or the message rewritten so that DuckDB reads it exactly. */

import { isUtf8 } from "node:buffer";
import { decimalOf } from "../delta/schema.ts";
import type { DataType, StructType } from "../delta/types.ts";
import type { BadRecord, LetterStage } from "./encoder.ts";
import { exactDecimal, plainDecimal } from "./json-number.ts";
import { JsonNumber, type JsonObject, type JsonValue, parseJsonExactly } from "./json-parse.ts";
import { isoDate, isoTimestamp } from "./json-time.ts";

/** Why a record is a letter, without its place in the batch. */
export type Fault = Omit<BadRecord, "index">;

export type Parsed = { kind: "object"; object: JsonObject } | { kind: "fault"; fault: Fault };
/** `hasUnknown`: a field was left out because the schema lacks it. */
export type Fitted = { kind: "row"; json: string; hasUnknown: boolean } | { kind: "fault"; fault: Fault };

const RANGES: Readonly<Record<string, bigint>> = { byte: 7n, short: 15n, integer: 31n, long: 63n };
const NOT_BASE64 = /[^A-Za-z0-9+/]/;
/** Half of a pair: a whole one is another character to a pattern with `u`. */
const LONE_SURROGATE = /\p{Surrogate}/u;
const FORBIDDEN_IN_NAMES = /[ ,;{}()\n\t=\0]/;

/** The object a message holds, of doubled keys the last; a decode fault where there is none. */
export function parseMessage(value: Uint8Array | null): Parsed {
  const fault = (code: string, message: string): Parsed => ({
    kind: "fault",
    fault: { stage: "decode", code, message },
  });
  if (value === null) return fault("NULL_VALUE", "the value is null (a tombstone), not a JSON object");
  if (value.length === 0) return fault("EMPTY_VALUE", "the value is empty, not a JSON object");
  if (!isUtf8(value)) return fault("INVALID_UTF8", "the value is not UTF-8 text");
  const text = Buffer.from(value.buffer, value.byteOffset, value.length).toString("utf8");
  let json: JsonValue;
  try {
    json = parseJsonExactly(text);
  } catch (error) {
    const isMarked = text.startsWith("\ufeff");
    return fault(
      "MALFORMED_JSON",
      isMarked ? "the value begins with a byte order mark" : (error as Error).message,
    );
  }
  if (!isObject(json)) return fault("NOT_AN_OBJECT", `the value is ${describe(json)}, not a JSON object`);
  if (Object.hasOwn(json, "_kafka"))
    return {
      kind: "fault",
      fault: { stage: "schema", code: "RESERVED_FIELD", message: "a field is named _kafka" },
    };
  return { kind: "object", object: json };
}

/**
 * The message as JSON that DuckDB reads exactly as `schema` says, or a schema fault. Fields that the schema lacks are left out with
 * `ignoreUnknown` and are a fault otherwise.
 */
export function fitMessage(
  object: JsonObject,
  schema: StructType,
  options: { ignoreUnknown: boolean },
): Fitted {
  let hasUnknown = false;

  function fitStruct(value: JsonObject, type: StructType, path: string): string {
    const names = new Set(type.fields.map((field) => field.name));
    for (const name of Object.keys(value)) {
      if (names.has(name)) continue;
      hasUnknown = true;
      if (!options.ignoreUnknown) throw unknownField(name, join(path, name), names);
    }
    const members: string[] = [];
    for (const field of type.fields) {
      const member = Object.hasOwn(value, field.name) ? value[field.name]! : null;
      const here = join(path, field.name);
      if (member !== null) members.push(`${JSON.stringify(field.name)}:${fit(member, field.type, here)}`);
      else if (!field.nullable)
        throw new Misfit("NULL_NOT_ALLOWED", here, "is absent or null and must not be");
    }
    return `{${members.join(",")}}`;
  }

  function fitElement(value: JsonValue, type: DataType, isNullable: boolean, path: string): string {
    if (value !== null) return fit(value, type, path);
    if (isNullable) return "null";
    throw new Misfit("NULL_NOT_ALLOWED", path, "is null and must not be");
  }

  function fit(value: Exclude<JsonValue, null>, type: DataType, path: string): string {
    if (typeof type === "string") return fitScalar(value, type, path);
    if (type.type === "array") {
      if (!Array.isArray(value)) throw wrongType(value, "array", path);
      const elements = value.map((element, i) =>
        fitElement(element, type.elementType, type.containsNull, `${path}[${i}]`),
      );
      return `[${elements.join(",")}]`;
    }
    if (!isObject(value)) throw wrongType(value, type.type, path);
    if (type.type === "struct") return fitStruct(value, type, path);
    const entries = Object.entries(value).map(([key, element]) => {
      const fitted = fitElement(element, type.valueType, type.valueContainsNull, join(path, key));
      return `${wellFormed(key, path)}:${fitted}`;
    });
    return `{${entries.join(",")}}`;
  }

  try {
    return { kind: "row", json: fitStruct(object, schema, ""), hasUnknown };
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    return { kind: "fault", fault: { stage: error.stage, code: error.code, message: error.message } };
  }
}

/** A name that Delta can give to a column (without column mapping). */
export function isColumnName(name: string): boolean {
  return name !== "" && !FORBIDDEN_IN_NAMES.test(name) && !LONE_SURROGATE.test(name);
}

function isObject(value: JsonValue): value is JsonObject {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
  );
}

/** A value that does not fit; never leaves this file. */
class Misfit extends Error {
  readonly stage: LetterStage;
  readonly code: string;
  constructor(code: string, path: string, what: string, stage: LetterStage = "schema") {
    super(`${path}: ${what}`);
    this.code = code;
    this.stage = stage;
  }
}

function fitScalar(value: Exclude<JsonValue, null>, type: string, path: string): string {
  const bits = RANGES[type];
  if (bits !== undefined) return fitInteger(value, type, bits, path);
  const decimal = decimalOf(type as DataType);
  if (decimal) {
    if (!(value instanceof JsonNumber)) throw wrongType(value, type, path);
    const plain = plainDecimal(exactDecimal(value.text), decimal.precision, decimal.scale);
    if (plain === undefined)
      throw new Misfit("OUT_OF_RANGE", path, `${brief(value.text)} does not fit ${type}`);
    return JSON.stringify(plain);
  }
  switch (type) {
    case "string":
      if (typeof value === "string") return wellFormed(value, path);
      if (typeof value === "boolean") return `"${value}"`;
      if (value instanceof JsonNumber) return JSON.stringify(value.text);
      break;
    case "double":
    case "float":
      if (value instanceof JsonNumber) return fitDouble(value.text, type, path);
      break;
    case "boolean":
      if (typeof value === "boolean") return String(value);
      break;
    case "timestamp":
    case "timestamp_ntz":
    case "date": {
      if (typeof value !== "string") break;
      const iso = type === "date" ? isoDate(value) : isoTimestamp(value, { zone: type === "timestamp" });
      if (iso.kind === "fault")
        throw new Misfit("BAD_TIME", path, `${brief(JSON.stringify(value))} ${iso.reason}`);
      return JSON.stringify(iso.text);
    }
    case "binary":
      if (typeof value !== "string") break;
      if (!isBase64(value)) throw new Misfit("BAD_BASE64", path, "is not base64 text");
      return JSON.stringify(value);
  }
  throw wrongType(value, type, path);
}

function fitInteger(value: Exclude<JsonValue, null>, type: string, bits: bigint, path: string): string {
  if (!(value instanceof JsonNumber)) throw wrongType(value, type, path);
  const exact = exactDecimal(value.text);
  if (exact.exponent < 0)
    throw new Misfit("NOT_AN_INTEGER", path, `${brief(value.text)} has a fraction, ${type} has none`);
  const plain = plainDecimal(exact, 20, 0);
  const integer = plain === undefined ? undefined : BigInt(plain);
  if (integer === undefined || integer < -(1n << bits) || integer >= 1n << bits)
    throw new Misfit("OUT_OF_RANGE", path, `${brief(value.text)} does not fit ${type}`);
  return integer.toString();
}

function fitDouble(digits: string, type: string, path: string): string {
  const number = Number(digits);
  if (!Number.isFinite(type === "float" ? Math.fround(number) : number))
    throw new Misfit("OUT_OF_RANGE", path, `${brief(digits)} does not fit ${type}`);
  // With an exponent it is a real number to DuckDB's reader, whatever its size, and keeps its sign when it is zero.
  return Object.is(number, -0) ? "-0.0" : number.toExponential();
}

/** Groups of four, the last one filled up with "=". Looked for is what is none: an expression for all of it fills the stack at some millions. */
function isBase64(text: string): boolean {
  const end = text.search(NOT_BASE64);
  const filling = end < 0 ? "" : text.slice(end);
  return text.length % 4 === 0 && (filling === "" || filling === "=" || filling === "==");
}

function wellFormed(text: string, path: string): string {
  if (!LONE_SURROGATE.test(text)) return JSON.stringify(text);
  throw new Misfit("INVALID_UTF8", path, "holds half of a surrogate pair, which is no character", "decode");
}

function unknownField(name: string, path: string, names: ReadonlySet<string>): Misfit {
  const twin = [...names].find((known) => known.toLowerCase() === name.toLowerCase());
  if (twin !== undefined)
    return new Misfit("UNKNOWN_FIELD", path, `differs from the column ${twin} by case only`);
  if (!isColumnName(name))
    return new Misfit("UNKNOWN_FIELD", path, "is unknown, and no column can have that name");
  return new Misfit("UNKNOWN_FIELD", path, "is not in the schema");
}

function wrongType(value: JsonValue, wanted: string, path: string): Misfit {
  return new Misfit("WRONG_TYPE", path, `expected ${wanted}, got ${describe(value)}`);
}

function describe(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value instanceof JsonNumber) return `the number ${brief(value.text)}`;
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? `the string ${brief(JSON.stringify(value))}` : String(value);
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function brief(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}
