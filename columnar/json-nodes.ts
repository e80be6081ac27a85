/** A schema as the walk over JSON bytes wants it: names as bytes, types as kinds, and at each leaf the vector that its values go to. */

import { decimalOf } from "../delta/schema.ts";
import type { DataType, StructType } from "../delta/types.ts";
import { metBytes, SAFE_DIGITS } from "../engine/json-shape.ts";
import type { LeafBuilder } from "./leaf-builder.ts";

export type Kind =
  | "string"
  | "integer"
  | "double"
  | "decimal"
  | "boolean"
  | "timestamp"
  | "date"
  | "struct"
  | "array"
  | "map"
  /** Nothing but null is taken. */
  | "never";

/** All nodes have the same shape; levels are Dremel's, as in `Leaf`. */
export type Node = {
  kind: Kind;
  isNullable: boolean;
  /** Level of entries below it where it is null or absent. */
  nullLevel: number;
  /** Of an array's elements and a map's entries behind the first; 0 for others. */
  repetition: number;
  /** Of a whole number or in front of a decimal's point. */
  digits: number;
  scale: number;
  /** Of a double that is a float. */
  isFloat: boolean;
  /** Of a timestamp. */
  hasZone: boolean;
  /** Where a scalar's values go; in a map those of the keys. */
  leaf: LeafBuilder | null;
  /** All leaves below it and its own. */
  leaves: LeafBuilder[];
  fields: Field[];
  /** An array's elements or a map's values. */
  element: Node | null;
};

export type Field = {
  /** With its closing quote. */
  name: Uint8Array;
  /** `"name":` in words of four bytes; the last one is zero where the name has ended. */
  words: Int32Array;
  /** The bytes of the last word that count. */
  lastMask: number;
  /** Bytes of `"name":`. */
  length: number;
  node: Node;
  /** The object in which the field was met last: a second time in the same one is a doubled key. */
  metIn: number;
  /** The field that followed last time: producers keep an order. */
  follower: Field | null;
};

/** Gives the leaf of the next scalar in schema order; voids have none. */
export type NextLeaf = () => LeafBuilder;

/** The node of a message of `schema`; each call makes one of its own, since a walk keeps notes in it. */
export function messageNode(schema: StructType, nextLeaf: NextLeaf): Node {
  return typeNode(schema, { isNullable: false, level: 0, depth: 0 }, nextLeaf);
}

/** `level`: of definition, around the node; `depth`: arrays and maps around it. */
type Place = { isNullable: boolean; level: number; depth: number };

function typeNode(type: DataType, { isNullable, level, depth }: Place, nextLeaf: NextLeaf): Node {
  const own: Node = {
    kind: "never",
    isNullable,
    nullLevel: level,
    repetition: 0,
    digits: 0,
    scale: 0,
    isFloat: false,
    hasZone: false,
    leaf: null,
    leaves: [],
    fields: [],
    element: null,
  };
  const inside = isNullable ? level + 1 : level;
  if (typeof type === "string") {
    const scalar = scalarOf(type);
    if (scalar === undefined) return own;
    const leaf = nextLeaf();
    return { ...own, ...scalar, leaf, leaves: [leaf] };
  }
  if (type.type === "struct") {
    const fields = type.fields.map(({ name, type, nullable }): Field => {
      const node = typeNode(type, { isNullable: nullable, level: inside, depth }, nextLeaf);
      return { ...nameOf(name), node, metIn: 0, follower: null };
    });
    for (const [i, field] of fields.entries()) field.follower = fields[i + 1] ?? null;
    return { ...own, kind: "struct", fields, leaves: fields.flatMap(({ node }) => node.leaves) };
  }
  // An element has one level more than its array: that one tells an empty array.
  const ofElements = { level: inside + 1, depth: depth + 1 };
  const repetition = depth + 1;
  if (type.type === "array") {
    const element = typeNode(type.elementType, { isNullable: type.containsNull, ...ofElements }, nextLeaf);
    return { ...own, kind: "array", repetition, element, leaves: element.leaves };
  }
  const leaf = nextLeaf();
  const element = typeNode(type.valueType, { isNullable: type.valueContainsNull, ...ofElements }, nextLeaf);
  return { ...own, kind: "map", repetition, leaf, element, leaves: [leaf, ...element.leaves] };
}

function nameOf(text: string): Omit<Field, "node" | "metIn" | "follower"> {
  const name = Buffer.concat([metBytes(text), Buffer.from('"')]);
  const whole = Buffer.concat([Buffer.from('"'), name, Buffer.from(":\0\0\0")]);
  const length = name.length + 2;
  const words = Int32Array.from({ length: (length + 3) >> 2 }, (_, i) => whole.readInt32LE(i * 4));
  return { name, words, length, lastMask: (-1 >>> ((words.length * 4 - length) * 8)) | 0 };
}

/** Undefined for a void, which has no leaf. */
function scalarOf(type: Extract<DataType, string>): Partial<Node> | undefined {
  const digits = SAFE_DIGITS[type];
  if (digits !== undefined) return { kind: "integer", digits };
  const decimal = decimalOf(type);
  if (decimal) return { kind: "decimal", digits: decimal.precision - decimal.scale, scale: decimal.scale };
  switch (type) {
    case "double":
    case "float":
      return { kind: "double", isFloat: type === "float" };
    case "timestamp":
    case "timestamp_ntz":
      return { kind: "timestamp", hasZone: type === "timestamp" };
    case "string":
    case "boolean":
    case "date":
      return { kind: type };
    case "void":
      return undefined;
    default:
      return {};
  }
}
