/** A schema as the walk over JSON bytes wants it: names as bytes, types as kinds, digits that surely fit. */

import { decimalOf } from "../delta/schema.ts";
import type { DataType, StructType } from "../delta/types.ts";

/** Digits that surely fit, whatever they are. */
export const SAFE_DIGITS: Readonly<Record<string, number>> = { byte: 2, short: 4, integer: 9, long: 18 };

type Kind =
  | "string"
  | "integer"
  | "double"
  | "decimal"
  | "boolean"
  | "timestamp"
  | "timestamp_ntz"
  | "date"
  | "struct"
  | "array"
  | "map"
  | "never";

export type Node = {
  kind: Kind;
  /** Most digits of a number: before the point for a decimal. */
  digits: number;
  scale: number;
  /** A float overflows where a double does not. */
  isFloat: boolean;
  fields: Field[];
  required: number;
  /** Of an array's elements or a map's values. */
  element: Node | null;
  isElementNullable: boolean;
};

export type Field = {
  name: Uint8Array;
  node: Node;
  isNullable: boolean;
  /** The object in which the field was met last: a second time in the same one is a doubled key. */
  metIn: number;
  /** The field that followed last time: producers keep an order. */
  follower: Field | null;
};

/** What no valid UTF-8 has. */
const UNMET = Buffer.from([0xff]);

/** The bytes by which a field is met. A name that JSON must write with an escape is met nowhere: its messages are for the exact way. */
export function metBytes(name: string): Uint8Array {
  return JSON.stringify(name) === `"${name}"` ? Buffer.from(name) : UNMET;
}

/** The node of a message of `type`; each call makes one of its own, since a walk keeps notes in it. */
export function structNode(type: StructType): Node {
  const fields = type.fields.map((field) => ({
    name: metBytes(field.name),
    node: typeNode(field.type),
    isNullable: field.nullable,
    metIn: 0,
    follower: null as Field | null,
  }));
  for (const [i, field] of fields.entries()) field.follower = fields[i + 1] ?? null;
  return node("struct", { fields, required: fields.filter((field) => !field.isNullable).length });
}

function typeNode(type: DataType): Node {
  if (typeof type === "object") {
    if (type.type === "struct") return structNode(type);
    if (type.type === "array")
      return node("array", { element: typeNode(type.elementType), isElementNullable: type.containsNull });
    if (type.keyType !== "string") return node("never");
    return node("map", { element: typeNode(type.valueType), isElementNullable: type.valueContainsNull });
  }
  const digits = SAFE_DIGITS[type];
  if (digits !== undefined) return node("integer", { digits });
  const decimal = decimalOf(type);
  if (decimal) return node("decimal", { digits: decimal.precision - decimal.scale, scale: decimal.scale });
  if (type === "string") return node("string");
  if (type === "double" || type === "float") return node("double", { isFloat: type === "float" });
  if (type === "boolean") return node("boolean");
  if (type === "timestamp") return node("timestamp");
  if (type === "timestamp_ntz") return node("timestamp_ntz");
  if (type === "date") return node("date");
  return node("never");
}

function node(kind: Kind, rest: Partial<Node> = {}): Node {
  return {
    kind,
    digits: 0,
    scale: 0,
    isFloat: false,
    fields: [],
    required: 0,
    element: null,
    isElementNullable: true,
    ...rest,
  };
}
