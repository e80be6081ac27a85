/** Logical types: the column that each becomes and how its values read; null where the annotation does not fit, and then says nothing. */

import type { DataType } from "../delta/types.ts";
import { malformed, outOfRange } from "./avro-fault.ts";
import type { AvroInput } from "./avro-input.ts";
import type { JsonOutput } from "./avro-output.ts";
import type { AnnotatedType, AvroType } from "./avro-schema.ts";
import { clockText, dateText, durationText, timestampText, uuidText } from "./avro-time.ts";

export type ReadValue = (input: AvroInput, output: JsonOutput) => void;
export type ValuePlan = { column: DataType; read: ReadValue };

const MOST_PRECISION = 38;
/** Beyond, digits alone would be the work of an attacker. */
const MOST_DIGITS = 1000;

export function logicalPlan({ logical, underlyingType }: AnnotatedType): ValuePlan | null {
  const base = underlyingType.typeName;
  switch (logical.logicalType) {
    case "decimal":
      return decimalPlan(logical, underlyingType);
    case "date":
      return base === "int" ? { column: "date", read: quoted((input) => dateText(input.int())) } : null;
    case "time-millis":
      return base === "int" ? text((input) => clockText(input.int(), 3)) : null;
    case "time-micros":
      return base === "long" ? text((input) => clockText(input.long(), 6)) : null;
    case "uuid":
      return fixedSize(underlyingType) === 16
        ? text((input) => uuidText(input.bytes().toString("hex", input.skip(16), input.position())))
        : null;
    case "duration":
      return fixedSize(underlyingType) === 12 ? text(readDuration) : null;
  }
  if (base !== "long") return null;
  switch (logical.logicalType) {
    case "timestamp-millis":
      return { column: "timestamp", read: quoted((input) => `${timestampText(input.long(), 3)}Z`) };
    case "timestamp-micros":
      return { column: "timestamp", read: quoted((input) => `${timestampText(input.long(), 6)}Z`) };
    case "timestamp-nanos":
      return text((input) => `${timestampText(input.long(), 9)}Z`);
    case "local-timestamp-millis":
      return text((input) => timestampText(input.long(), 3));
    case "local-timestamp-micros":
      return text((input) => timestampText(input.long(), 6));
    case "local-timestamp-nanos":
      return text((input) => timestampText(input.long(), 9));
  }
  return null;
}

/** The size of a fixed; undefined for every other type. */
export function fixedSize(type: AvroType): number | undefined {
  return type.typeName === "fixed" ? (type as unknown as { size: number }).size : undefined;
}

/** `read` gives text that needs no escape. */
function quoted(read: (input: AvroInput) => string): ReadValue {
  return (input, output) => output.ascii(`"${read(input)}"`);
}

function text(read: (input: AvroInput) => string): ValuePlan {
  return { column: "string", read: quoted(read) };
}

function readDuration(input: AvroInput): string {
  const from = input.skip(12);
  const bytes = input.bytes();
  return durationText(bytes.readUInt32LE(from), bytes.readUInt32LE(from + 4), bytes.readUInt32LE(from + 8));
}

function decimalPlan(logical: Readonly<Record<string, unknown>>, type: AvroType): ValuePlan | null {
  const size = fixedSize(type);
  if (size === undefined && type.typeName !== "bytes") return null;
  const precision = logical.precision as number;
  const scale = (logical.scale ?? 0) as number;
  const isWhole = Number.isInteger(precision) && Number.isInteger(scale);
  if (!isWhole || scale < 0 || precision < Math.max(1, scale) || precision > MOST_DIGITS) return null;
  const mostBytes = Math.floor((precision * Math.log2(10) + 1) / 8) + 1;

  const read = (input: AvroInput): string => {
    const length = size ?? input.length();
    if (length === 0) throw malformed("a decimal has no bytes");
    const start = input.skip(length);
    const unscaled = twosComplement(input.bytes(), start, length, mostBytes);
    if (unscaled === null) throw outOfRange(`the value does not fit decimal(${precision},${scale})`);
    return withPoint(unscaled, scale);
  };
  return precision <= MOST_PRECISION
    ? { column: `decimal(${precision},${scale})`, read: (input, output) => output.ascii(read(input)) }
    : text(read);
}

/** Digits of a big-endian number; null where it has more bytes than `mostBytes`, those not counted that only repeat the sign. */
function twosComplement(bytes: Buffer, start: number, length: number, mostBytes: number): string | null {
  if (length <= 6) return String(bytes.readIntBE(start, length));
  const end = start + length;
  const padding = bytes[start]! >= 0x80 ? 0xff : 0;
  let from = start;
  while (from < end - 1 && bytes[from] === padding && (bytes[from + 1]! ^ padding) < 0x80) from++;
  if (end - from > mostBytes) return null;
  return BigInt.asIntN((end - from) * 8, BigInt(`0x${bytes.toString("hex", from, end)}`)).toString();
}

function withPoint(unscaled: string, scale: number): string {
  if (scale === 0) return unscaled;
  const sign = unscaled.startsWith("-") ? "-" : "";
  const digits = unscaled.slice(sign.length).padStart(scale + 1, "0");
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}
