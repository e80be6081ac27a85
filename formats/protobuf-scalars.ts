/** Protobuf's scalars: how each is read into JSON, exactly, and what column holds it. */

import { isUtf8 } from "node:buffer";
import type { Reader } from "protobufjs";
import type { DataType } from "../delta/types.ts";
import { Misread } from "./protobuf-misread.ts";

export type Scalar = {
  wire: number;
  type: DataType;
  /** JSON of the default, which a field without presence has when it does not come. */
  absent: string;
  read(reader: Reader, fullName: string): string;
};

const [VARINT, FIXED64, DELIMITED, FIXED32] = [0, 1, 2, 5];

const number = (
  type: DataType,
  wire: number,
  read: (reader: Reader) => number | { toString(): string },
): Scalar => ({ wire, type, absent: "0", read: (reader) => read(reader).toString() });

export const SCALARS: Readonly<Record<string, Scalar>> = {
  int32: number("integer", VARINT, (reader) => reader.int32()),
  sint32: number("integer", VARINT, (reader) => reader.sint32()),
  sfixed32: number("integer", FIXED32, (reader) => reader.sfixed32()),
  uint32: number("long", VARINT, (reader) => reader.uint32()),
  fixed32: number("long", FIXED32, (reader) => reader.fixed32()),
  int64: number("long", VARINT, (reader) => reader.int64()),
  sint64: number("long", VARINT, (reader) => reader.sint64()),
  sfixed64: number("long", FIXED64, (reader) => reader.sfixed64()),
  uint64: number("decimal(20,0)", VARINT, (reader) => reader.uint64()),
  fixed64: number("decimal(20,0)", FIXED64, (reader) => reader.fixed64()),
  float: real("float", FIXED32, (reader) => reader.float()),
  double: real("double", FIXED64, (reader) => reader.double()),
  bool: {
    wire: VARINT,
    type: "boolean",
    absent: "false",
    read: (reader) => (reader.bool() ? "true" : "false"),
  },
  string: { wire: DELIMITED, type: "string", absent: '""', read: readText },
  bytes: {
    wire: DELIMITED,
    type: "binary",
    absent: '""',
    read: (reader) => `"${asBuffer(reader.bytes()).toString("base64")}"`,
  },
};

/** Reads a number as the name it has; one that has none as its digits. */
export function enumRead(names: Readonly<Record<number, string>>): Scalar["read"] {
  return (reader) => {
    const value = reader.int32();
    return JSON.stringify(names[value] ?? String(value));
  };
}

function real(type: DataType, wire: number, read: (reader: Reader) => number): Scalar {
  return {
    wire,
    type,
    absent: "0.0",
    read(reader, fullName) {
      const value = read(reader);
      if (!Number.isFinite(value)) throw new Misread("NOT_FINITE", `${fullName} is ${value}`);
      return realText(value);
    },
  };
}

/** With a fraction or an exponent always: where no column is promised, whole digits would suggest a whole number. */
function realText(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  const text = String(value);
  return Number.isInteger(value) && !text.includes("e") ? `${text}.0` : text;
}

function readText(reader: Reader, fullName: string): string {
  const bytes = reader.bytes();
  if (!isUtf8(bytes)) throw new Misread("INVALID_UTF8", `${fullName} is not UTF-8 text`);
  return JSON.stringify(asBuffer(bytes).toString("utf8"));
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
