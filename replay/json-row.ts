/** Rows as the JSON text that a JSON stream reads into the same row again. */

import { LabError } from "../core/errors.ts";
import type { Value, ValueType } from "../engine/result.ts";

export type JsonColumn = { name: string; type: ValueType };

type Writer = (value: Value) => string;

/**
 * A writer of rows with these columns: longs and decimals digit for digit, times as ISO 8601, bytes as base64, NULL fields left out. A
 * map with keys that are no text is a list of pairs. NaN and infinities, which JSON cannot say, are text.
 */
export function jsonWriter(columns: readonly JsonColumn[]): (row: readonly Value[]) => string {
  const write = objectWriter(columns);
  return (row) => write(row as Value);
}

function objectWriter(fields: readonly JsonColumn[]): Writer {
  const parts = fields.map(({ name, type }) => ({
    label: `${JSON.stringify(name)}:`,
    write: writerOf(type),
  }));
  return (value) => {
    const row = value as readonly Value[];
    let text = "";
    for (const [at, { label, write }] of parts.entries()) {
      const one = row[at];
      if (one === null || one === undefined) continue;
      text += `${text === "" ? "" : ","}${label}${write(one)}`;
    }
    return `{${text}}`;
  };
}

function writerOf(type: ValueType): Writer {
  switch (type.kind) {
    case "null":
      return () => "null";
    case "boolean":
    case "int":
      return String;
    case "text":
      return (value) => JSON.stringify(value);
    case "float":
      return (value) => (Number.isFinite(value) ? floatText(value as number) : JSON.stringify(String(value)));
    case "decimal":
      return (value) => decimalText(value as bigint, type.scale);
    case "binary":
      return (value) => `"${bytesOf(value).toString("base64")}"`;
    case "date":
      return (value) => `"${isoOf(BigInt(value as number) * DAY_MICROS).slice(0, 10)}"`;
    case "timestamp":
      return (value) => `"${isoOf(value as bigint)}${type.zoned ? "Z" : ""}"`;
    case "list": {
      const write = orNull(writerOf(type.item));
      return (value) => `[${(value as readonly Value[]).map(write).join(",")}]`;
    }
    case "struct":
      return objectWriter(type.fields);
    case "map": {
      const [key, write] = [writerOf(type.key), orNull(writerOf(type.value))];
      const pairs = (value: Value) => value as readonly (readonly [Value, Value])[];
      if (type.key.kind !== "text")
        return (value) => `[${pairs(value).map(([k, v]) => `[${key(k)},${write(v)}]`)}]`;
      return (value) => `{${pairs(value).map(([k, v]) => `${key(k)}:${write(v)}`)}}`;
    }
  }
}

function orNull(write: Writer): Writer {
  return (value) => (value === null ? "null" : write(value));
}

/** -0 has a text of its own in JSON, which JavaScript does not give it. */
function floatText(value: number): string {
  return Object.is(value, -0) ? "-0.0" : String(value);
}

function decimalText(unscaled: bigint, scale: number): string {
  if (scale === 0) return String(unscaled);
  const sign = unscaled < 0n ? "-" : "";
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, "0");
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

const DAY_MICROS = 86_400_000_000n;
const SECOND_MICROS = 1_000_000n;

/** ISO 8601 up to microseconds, without a zone. */
function isoOf(micros: bigint): string {
  const rest = ((micros % SECOND_MICROS) + SECOND_MICROS) % SECOND_MICROS;
  const date = new Date(Number((micros - rest) / 1000n));
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() < 0 || date.getUTCFullYear() > 9999)
    throw new LabError("SCHEMA_MISMATCH", `a time of ${micros} microseconds since 1970 has no form in JSON`, {
      hint: "send only rows of the years 0 to 9999",
      details: { micros: String(micros) },
    });
  const fraction = rest === 0n ? "" : `.${String(rest).padStart(6, "0")}`;
  return `${date.toISOString().slice(0, 19)}${fraction}`;
}

function bytesOf(value: Value): Buffer {
  const bytes = value as Uint8Array;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
