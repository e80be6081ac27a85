/** A schema as the walk over JSON bytes wants it: types as kinds, and at each leaf the vector that its values go to. */

import { decimalOf } from "../delta/schema.ts";
import type { DataType, PrimitiveType, StructType } from "../delta/types.ts";
import { metBytes, SAFE_DIGITS } from "../engine/json-shape.ts";
import type { Address, Columns } from "./columns.ts";
import type { LeafVector } from "./leaf-vector.ts";

type Kind = keyof Columns["kinds"];

/** Levels are Dremel's, as in `Leaf`. */
export type Node = {
  kind: Kind;
  isNullable: boolean;
  /** Level of entries below it where it is null or absent. */
  nullLevel: number;
  /** Of an array's elements and a map's entries behind the first; 0 for others. */
  repetition: number;
  /** Of a whole number, or in front of a point: what has more is doubtful. */
  digits: number;
  scale: number;
  /** Of a double that is a float; of a timestamp that is one in a zone; of a string where only texts are plainly right. */
  flag: boolean;
  /** Where a scalar's values go; in a map those of the keys. */
  leaf: LeafVector | null;
  /** All leaves below it and its own. */
  leaves: LeafVector[];
  fields: { name: string; node: Node }[];
  /** An array's elements or a map's values. */
  element: Node | null;
};

/** Gives the leaf of the next scalar in schema order; voids have none. */
export type NextLeaf = (type: Exclude<PrimitiveType, "void">) => LeafVector;

/** What the grammar takes before the point of a double. */
const REAL_DIGITS = 18;

/** The node of a message of `schema`. */
export function messageNode(schema: StructType, nextLeaf: NextLeaf): Node {
  return typeNode(schema, { isNullable: false, level: 0, depth: 0 }, nextLeaf);
}

/** `level`: of definition, around the node; `depth`: arrays and maps around it. */
type Place = { isNullable: boolean; level: number; depth: number };

function typeNode(type: DataType, { isNullable, level, depth }: Place, nextLeaf: NextLeaf): Node {
  const own: Node = {
    kind: "NEVER",
    isNullable,
    nullLevel: level,
    repetition: 0,
    digits: 0,
    scale: 0,
    flag: false,
    leaf: null,
    leaves: [],
    fields: [],
    element: null,
  };
  const inside = isNullable ? level + 1 : level;
  if (typeof type === "string") {
    const scalar = scalarOf(type);
    if (scalar === undefined || type === "void") return own;
    const leaf = nextLeaf(type);
    return { ...own, ...scalar, leaf, leaves: [leaf] };
  }
  if (type.type === "struct") {
    const fields = type.fields.map(({ name, type, nullable }) => ({
      name,
      node: typeNode(type, { isNullable: nullable, level: inside, depth }, nextLeaf),
    }));
    return { ...own, kind: "STRUCT", fields, leaves: fields.flatMap(({ node }) => node.leaves) };
  }
  // An element has one level more than its array: that one tells an empty array.
  const ofElements = { level: inside + 1, depth: depth + 1 };
  const repetition = depth + 1;
  if (type.type === "array") {
    const element = typeNode(type.elementType, { isNullable: type.containsNull, ...ofElements }, nextLeaf);
    return { ...own, kind: "ARRAY", repetition, element, leaves: element.leaves };
  }
  const leaf = nextLeaf("string");
  const element = typeNode(type.valueType, { isNullable: type.valueContainsNull, ...ofElements }, nextLeaf);
  return { ...own, kind: "MAP", repetition, leaf, element, leaves: [leaf, ...element.leaves] };
}

/** Undefined for a void, which has no leaf. */
function scalarOf(type: Extract<DataType, string>): Partial<Node> | undefined {
  const digits = SAFE_DIGITS[type];
  if (digits !== undefined) return { kind: "INTEGER", digits };
  const decimal = decimalOf(type);
  if (decimal) return { kind: "DECIMAL", digits: decimal.precision - decimal.scale, scale: decimal.scale };
  switch (type) {
    case "double":
    case "float":
      return { kind: "REAL", digits: REAL_DIGITS, flag: type === "float" };
    case "timestamp":
    case "timestamp_ntz":
      return { kind: "TIMESTAMP", flag: type === "timestamp" };
    case "string":
      return { kind: "STRING" };
    case "boolean":
      return { kind: "TRUTH" };
    case "date":
      return { kind: "DATE" };
    case "void":
      return undefined;
    default:
      return {};
  }
}

/** The same tree in the module's memory. */
export function moduleNode(columns: Columns, node: Node): Address {
  const address = columns.newNode(
    columns.kinds[node.kind].value,
    node.isNullable ? 1 : 0,
    node.nullLevel,
    node.repetition,
    node.digits,
    node.scale,
    node.flag ? 1 : 0,
    node.leaf?.address ?? 0,
  );
  for (const { name, node: field } of node.fields) {
    const below = moduleNode(columns, field);
    const text = Buffer.concat([Buffer.from('"'), metBytes(name), Buffer.from('":')]);
    const at = columns.inputFor(text.length);
    new Uint8Array(columns.memory.buffer, at, text.length).set(text);
    columns.addField(address, at, text.length, below);
  }
  if (node.element) columns.setElement(address, moduleNode(columns, node.element));
  return address;
}
