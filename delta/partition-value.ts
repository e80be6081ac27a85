/** Partition values between their type and their text (PROTOCOL.md, "Partition Value Serialization"). */

import { LabError } from "../core/errors.ts";
import { decimalText } from "./decimal.ts";
import { decimalOf } from "./schema.ts";
import { dateText, parseDate, parseTimestamp, timestampText } from "./time-text.ts";
import type { DataType } from "./types.ts";

/**
 * byte, short, integer, float, double: number. long: bigint. decimal: plain text with all digits of its scale. date: days since the epoch as number.
 * timestamp, timestamp_ntz: microseconds since the epoch (of the wall clock) as bigint. binary: bytes.
 */
export type TypedValue = string | number | bigint | boolean | Uint8Array | null;

/** The text of a value for `add.partitionValues`; null for null and for the empty string. SCHEMA_MISMATCH for what has no text form. */
export function serializePartitionValue(type: DataType, value: TypedValue): string | null {
  if (value === null || value === "") return null;
  const text = render(type, value);
  if (text === undefined)
    throw new LabError(
      "SCHEMA_MISMATCH",
      `${describe(value)} cannot be a partition value of type ${describe(type)}`,
    );
  return text === "" ? null : text;
}

/** The typed value of a text of the log; "" is null for every type. CORRUPT_LOG where it is no value of the type. */
export function parsePartitionValue(type: DataType, text: string | null): TypedValue {
  if (text === null || text === "") return null;
  const isFloating = type === "float" || type === "double";
  // Infinity is `inf` where delta-rs wrote it.
  const value = parseValue(type, isFloating ? text.replace(/^(-?)inf$/, "$1Infinity") : text);
  if (value === undefined)
    throw new LabError(
      "CORRUPT_LOG",
      `partition value ${JSON.stringify(text)} is not of type ${describe(type)}`,
      {
        details: { text, type },
      },
    );
  return value;
}

function render(type: DataType, value: TypedValue): string | undefined {
  const decimal = decimalOf(type);
  if (decimal) return decimalText(String(value), decimal.scale);
  switch (type) {
    case "string":
      return typeof value === "string" ? value : undefined;
    case "byte":
    case "short":
    case "integer":
    case "long": {
      const isWhole = typeof value === "bigint" || Number.isSafeInteger(value);
      return isWhole ? String(value) : undefined;
    }
    case "float":
    case "double":
      return typeof value === "number" ? doubleText(value) : undefined;
    case "boolean":
      return typeof value === "boolean" ? String(value) : undefined;
    case "date":
      return typeof value === "number" ? dateText(value) : undefined;
    case "timestamp":
      return typeof value === "bigint" ? `${timestampText(value, "T")}Z` : undefined;
    case "timestamp_ntz":
      return typeof value === "bigint" ? timestampText(value, " ") : undefined;
    case "binary":
      return value instanceof Uint8Array ? utf8Text(value) : undefined;
  }
  return undefined;
}

/** The typed value of a text, where "" is a text like any other; undefined where it is no value of the type. */
export function parseValue(type: DataType, text: string): TypedValue | undefined {
  const decimal = decimalOf(type);
  if (decimal) return decimalText(text, decimal.scale);
  switch (type) {
    case "string":
      return text;
    case "byte":
    case "short":
    case "integer":
      return /^[+-]?\d+$/.test(text) ? Number(text) : undefined;
    case "long":
      return /^[+-]?\d+$/.test(text) ? BigInt(text.replace(/^\+/, "")) : undefined;
    case "float":
    case "double":
      return parseDouble(text);
    case "boolean":
      return text === "true" ? true : text === "false" ? false : undefined;
    case "date":
      return parseDate(text);
    case "timestamp":
    case "timestamp_ntz":
      return parseTimestamp(text);
    case "binary":
      return new Uint8Array(Buffer.from(text, "utf8"));
  }
  return undefined;
}

/** As Java prints it, which is what other engines write: a whole number keeps its `.0`. */
function doubleText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const text = Object.is(value, -0) ? "-0" : String(value).replace("e+", "E").replace("e", "E");
  if (!text.includes("E")) return text.includes(".") ? text : `${text}.0`;
  const [mantissa, exponent] = text.split("E") as [string, string];
  return `${mantissa.includes(".") ? mantissa : `${mantissa}.0`}E${exponent}`;
}

function parseDouble(text: string): number | undefined {
  if (text === "NaN") return Number.NaN;
  const value = Number(text);
  return Number.isNaN(value) || text.trim() === "" ? undefined : value;
}

/** Binary stands in the log as the characters of its UTF-8; other bytes cannot stand there at all. */
function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function describe(value: unknown): string {
  return typeof value === "string"
    ? value
    : (JSON.stringify(value, (_, item) => (typeof item === "bigint" ? String(item) : item)) ?? "");
}
