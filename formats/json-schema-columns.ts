/** What columns a JSON Schema promises. Pure. */

import type { DataType, StructField, StructType } from "../delta/types.ts";

/** Finds what a `$ref` means where it stands; undefined where nothing is known by it. */
export type ResolveRef = (ref: string, from: object) => { schema: unknown; from: object } | undefined;

/**
 * What a schema says of a value. `any` says nothing, `null` that it is null, `odd` what no column can be promised for: kinds that do not
 * go together, places in an array, itself inside itself.
 */
type Shape =
  | { kind: "any" | "null" | "odd" }
  | { kind: "scalar"; type: Scalar }
  | { kind: "struct"; fields: ReadonlyMap<string, Shape> }
  | { kind: "map" | "array"; inner: Shape };
type Scalar = "string" | "timestamp" | "date" | "binary" | "long" | "double" | "boolean";
type JsonObject = Readonly<Record<string, unknown>>;
type Join = (a: Shape, b: Shape) => Shape;

const ANY: Shape = { kind: "any" };
const NULL: Shape = { kind: "null" };
const ODD: Shape = { kind: "odd" };
const TEXTS: readonly Scalar[] = ["string", "timestamp", "date", "binary"];
const NUMBERS: readonly Scalar[] = ["double", "long"];
/** Schemas that are used in many places are walked in each; who has more of them gets no columns promised. */
const MOST_SCHEMAS = 10_000;
const FORBIDDEN_IN_NAMES = /[ ,;{}()\n\t=\0]|\p{Surrogate}/u;

/**
 * The columns for messages of `schema`, which `document` holds; null where it does not say that they are objects with fields. Fields that
 * it tells no type of are left out: messages tell.
 */
export function columnsOfSchema(schema: unknown, document: object, resolve: ResolveRef): StructType | null {
  let walked = 0;

  function shapeOf(of: unknown, from: object, open: readonly object[]): Shape {
    if (typeof of !== "object" || of === null || Array.isArray(of)) return ANY;
    if (open.includes(of) || ++walked > MOST_SCHEMAS) return ODD;
    const here = of as JsonObject;
    const within = [...open, of];
    const inner = (each: unknown) => shapeOf(each, from, within);
    const shapes = [ownShape(here, inner)];
    if (typeof here.$ref === "string") {
      const target = resolve(here.$ref, from);
      shapes.push(target ? shapeOf(target.schema, target.from, within) : ODD);
    }
    if (Array.isArray(here.allOf)) shapes.push(...here.allOf.map(inner));
    for (const choices of [here.anyOf, here.oneOf])
      if (Array.isArray(choices) && choices.length > 0) shapes.push(choices.map(inner).reduce(either));
    return shapes.reduce(both);
  }

  const shape = shapeOf(schema, document, []);
  const type = walked > MOST_SCHEMAS ? undefined : typeOf(shape);
  return typeof type === "object" && type.type === "struct" ? type : null;
}

/** By `type`, or what else tells it. */
function ownShape(schema: JsonObject, inner: (schema: unknown) => Shape): Shape {
  const { type } = schema;
  if (typeof type === "string") return shapeOfType(type, schema, inner);
  if (Array.isArray(type) && type.length > 0)
    return type.map((each) => shapeOfType(each, schema, inner)).reduce(either);
  const values = "const" in schema ? [schema.const] : schema.enum;
  if (Array.isArray(values) && values.length > 0) return values.map(shapeOfValue).reduce(either);
  if (schema.properties) return shapeOfType("object", schema, inner);
  return ANY;
}

function shapeOfType(type: unknown, schema: JsonObject, inner: (schema: unknown) => Shape): Shape {
  switch (type) {
    case "null":
      return NULL;
    case "boolean":
      return scalar("boolean");
    case "integer":
      return scalar("long");
    case "number":
      return scalar("double");
    case "string":
      if (schema.format === "date-time") return scalar("timestamp");
      if (schema.format === "date") return scalar("date");
      return scalar(schema.contentEncoding === "base64" ? "binary" : "string");
    case "array":
      if (schema.prefixItems || Array.isArray(schema.items)) return { kind: "array", inner: ODD };
      return { kind: "array", inner: inner(schema.items) };
    case "object":
      return shapeOfObject(schema, inner);
    default:
      return ODD;
  }
}

/** Any names and one kind of values is a map; without either it is a struct of nothing yet. */
function shapeOfObject(schema: JsonObject, inner: (schema: unknown) => Shape): Shape {
  if (isObject(schema.properties)) {
    const fields = Object.entries(schema.properties).map(([name, each]) => [name, inner(each)] as const);
    return { kind: "struct", fields: new Map(fields) };
  }
  const values = isObject(schema.patternProperties) ? Object.values(schema.patternProperties) : [];
  if (isObject(schema.additionalProperties)) values.push(schema.additionalProperties);
  if (values.length > 0) return { kind: "map", inner: values.map(inner).reduce(either) };
  return { kind: "struct", fields: new Map() };
}

function shapeOfValue(value: unknown): Shape {
  if (value === null) return NULL;
  if (typeof value === "string") return scalar("string");
  if (typeof value === "boolean") return scalar("boolean");
  if (typeof value === "number") return scalar(Number.isInteger(value) ? "long" : "double");
  return ODD;
}

/** Of a value that is as `a` says and as `b` says. */
const both: Join = (a, b) => {
  if (a.kind === "any") return b;
  if (b.kind === "any") return a;
  if (a.kind === "scalar" && b.kind === "scalar") {
    // A text of a format is a text, a whole number is a number: the narrower one counts.
    const isSame = a.type === b.type || isOf(NUMBERS, a, b) || (isOf(TEXTS, a, b) && isOneOf("string", a, b));
    return isSame ? (a.type === "string" || a.type === "double" ? b : a) : ODD;
  }
  if (a.kind === "struct" && b.kind === "map") return a.fields.size > 0 ? a : b;
  if (a.kind === "map" && b.kind === "struct") return both(b, a);
  return joined(a, b, both);
};

/** Of a value that is as `a` says or as `b` says. */
const either: Join = (a, b) => {
  if (a.kind === "null") return b;
  if (b.kind === "null") return a;
  if (a.kind === "any" || b.kind === "any") return ANY;
  if (a.kind === "scalar" && b.kind === "scalar") {
    if (a.type === b.type) return a;
    if (isOf(NUMBERS, a, b)) return scalar("double");
    return isOf(TEXTS, a, b) ? scalar("string") : ODD;
  }
  return joined(a, b, either);
};

/** Shapes that hold others, and kinds that do not go together. */
function joined(a: Shape, b: Shape, join: Join): Shape {
  if (a.kind === "struct" && b.kind === "struct") {
    const fields = new Map(a.fields);
    for (const [name, shape] of b.fields) {
      const known = fields.get(name);
      fields.set(name, known ? join(known, shape) : shape);
    }
    return { kind: "struct", fields };
  }
  const isSame = (a.kind === "map" || a.kind === "array") && a.kind === b.kind;
  if (isSame) return { kind: a.kind, inner: join(a.inner, b.inner) };
  return a.kind === "null" && b.kind === "null" ? NULL : ODD;
}

/** Undefined where no column can be promised. */
function typeOf(shape: Shape): DataType | undefined {
  if (shape.kind === "scalar") return shape.type;
  if (shape.kind === "struct") return structOf(shape.fields);
  if (shape.kind !== "map" && shape.kind !== "array") return undefined;
  const type = typeOf(shape.inner);
  if (type === undefined) return undefined;
  if (shape.kind === "array") return { type: "array", elementType: type, containsNull: true };
  return { type: "map", keyType: "string", valueType: type, valueContainsNull: true };
}

function structOf(shapes: ReadonlyMap<string, Shape>): StructType | undefined {
  const fields: StructField[] = [];
  const taken = new Set<string>();
  for (const [name, shape] of shapes) {
    const type = typeOf(shape);
    const isColumn = name !== "" && !FORBIDDEN_IN_NAMES.test(name) && !taken.has(name.toLowerCase());
    if (type === undefined || !isColumn) continue;
    taken.add(name.toLowerCase());
    fields.push({ name, type, nullable: true, metadata: {} });
  }
  return fields.length > 0 ? { type: "struct", fields } : undefined;
}

function scalar(type: Scalar): Shape {
  return { kind: "scalar", type };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isOf(kinds: readonly Scalar[], a: { type: Scalar }, b: { type: Scalar }): boolean {
  return kinds.includes(a.type) && kinds.includes(b.type);
}

function isOneOf(type: Scalar, a: { type: Scalar }, b: { type: Scalar }): boolean {
  return a.type === type || b.type === type;
}
