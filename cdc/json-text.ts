/** Parsed JSON that kept its numbers' digits, looked into and written as text again. */

import { JsonNumber, type JsonObject, type JsonValue } from "../engine/json-parse.ts";

/** The text of a value; what `parseJsonExactly` gave comes back digit for digit. */
export function writeJson(value: JsonValue): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (value instanceof JsonNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeJson).join(",")}]`;
  const members = Object.keys(value).map((name) => `${JSON.stringify(name)}:${writeJson(value[name]!)}`);
  return `{${members.join(",")}}`;
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
  );
}

/** An object as `parseJsonExactly` makes them: without prototype. */
export function emptyObject(): JsonObject {
  return Object.create(null) as JsonObject;
}

/** The value at a path of names, such as `metadata.operation`; undefined where there is none. */
export function valueAt(object: JsonObject, path: string): JsonValue | undefined {
  let at: JsonValue | undefined = object;
  for (const name of path.split(".")) {
    if (!isJsonObject(at) || !Object.hasOwn(at, name)) return undefined;
    at = at[name];
  }
  return at;
}

/** A whole number, written as one or as the text of one, that a long holds; null otherwise. */
export function longOf(value: JsonValue | undefined): bigint | null {
  const text = value instanceof JsonNumber ? value.text : value;
  if (typeof text !== "string" || !/^-?\d{1,19}$/.test(text)) return null;
  const whole = BigInt(text);
  return BigInt.asIntN(64, whole) === whole ? whole : null;
}

export function textOf(value: JsonValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}
