/** Avro schemas from their text, read by avsc; and what identifies one. */

import avsc from "avsc";

export type AvroType = avsc.Type;

/** A schema and the texts that define types it names; the shape of what a registry gives. */
export type AvroText = { text: string; references: readonly AvroText[] };

export type ParseOptions = {
  /** The text that defines a type by its full name, where neither `text` nor its references do. */
  find?: (fullName: string) => string | undefined;
  /** Names of types must be Avro's, since they are part of the fingerprint; otherwise - and the like in them count as _. */
  exactNames?: boolean;
};

/** A type with a known `logicalType`, its further attributes kept; avsc drops them from plain types. */
export class AnnotatedType extends avsc.types.LogicalType {
  readonly logical: Readonly<Record<string, unknown>>;
  constructor(schema: avsc.Schema, options?: unknown) {
    super(schema, options);
    this.logical = schema as unknown as Record<string, unknown>;
  }
}

const LOGICAL = [
  "decimal",
  "date",
  "time-millis",
  "time-micros",
  "timestamp-millis",
  "timestamp-micros",
  "timestamp-nanos",
  "local-timestamp-millis",
  "local-timestamp-micros",
  "local-timestamp-nanos",
  "uuid",
  "duration",
];
const PRIMITIVES = new Set(["null", "boolean", "int", "long", "float", "double", "bytes", "string"]);
const COMPLEX = new Set(["record", "error", "enum", "fixed", "array", "map"]);

/** Throws an Error that says what is wrong where the text is no Avro schema. */
export function parseAvroSchema(schema: AvroText, options: ParseOptions = {}): AvroType {
  const { find, exactNames = false } = options;
  const registry: Record<string, AvroType> = Object.create(null);
  const logicalTypes = Object.assign(
    Object.create(null),
    Object.fromEntries(LOGICAL.map((name) => [name, AnnotatedType])),
  );

  function define(text: string): AvroType {
    return avsc.Type.forSchema(JSON.parse(text) as avsc.Schema, {
      registry,
      logicalTypes,
      // No branch is ambiguous then: nothing is decided by a value's JavaScript type here.
      wrapUnions: true,
      omitRecordMethods: true,
      typeHook,
    });
  }

  function typeHook(schema: avsc.Schema, options: Partial<avsc.ForSchemaOptions>): AvroType | undefined {
    if (typeof schema === "string") {
      const legal = legalName(schema);
      if (legal !== schema && !exactNames) return avsc.Type.forSchema(legal, options);
      const name = fullName(schema, options.namespace);
      const text = name in registry || PRIMITIVES.has(schema) ? undefined : find?.(name);
      return text === undefined ? undefined : define(text);
    }
    const node = schema as Record<string, unknown>;
    // What is for readers with another schema, and some writers' libraries let pass when it is wrong.
    for (const part of [node, ...(Array.isArray(node.fields) ? node.fields : [])]) {
      delete part?.default;
      delete part?.aliases;
      delete part?.order;
    }
    if (!exactNames)
      for (const key of ["name", "namespace"])
        if (typeof node[key] === "string") node[key] = legalName(node[key]);
    // {"type": {...}} and {"type": "Name"} say no more than what they hold.
    const isWrapper =
      !Array.isArray(schema) &&
      (typeof node.type === "object" || (typeof node.type === "string" && !isBuiltIn(node.type)));
    return isWrapper ? avsc.Type.forSchema(node.type as avsc.Schema, options) : undefined;
  }

  const defined = new Set<string>();
  function defineReferences(references: readonly AvroText[]): void {
    for (const reference of references) {
      // Two may refer to a third.
      if (defined.has(reference.text)) continue;
      defined.add(reference.text);
      defineReferences(reference.references);
      define(reference.text);
    }
  }

  defineReferences(schema.references);
  return define(schema.text);
}

/** The schema with nothing but what matters to readers ("Parsing Canonical Form for Schemas"). */
export function canonicalForm(type: AvroType): string {
  return JSON.stringify(type.schema());
}

/** The full name of the type that a text defines, undefined where it has none; throws for what is not JSON. */
export function definedName(text: string): string | undefined {
  const schema = JSON.parse(text) as { name?: unknown; namespace?: unknown } | null;
  if (typeof schema?.name !== "string") return undefined;
  return fullName(schema.name, typeof schema.namespace === "string" ? schema.namespace : undefined);
}

function fullName(name: string, namespace: string | undefined): string {
  if (name.includes(".")) return name.replace(/^\./, "");
  return namespace ? `${namespace}.${name}` : name;
}

/** Other libraries let a namespace be called `my-company`. */
function legalName(name: string): string {
  return name.replace(/[^A-Za-z0-9_.]/g, "_").replace(/(^|\.)(?=\d)/g, "$1_");
}

function isBuiltIn(name: string): boolean {
  return PRIMITIVES.has(name) || COMPLEX.has(name);
}
