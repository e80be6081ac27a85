/** A JSON Schema made ready: it tells what is wrong with a value, and what columns it promises. Nothing is fetched for it. */

import { createRequire } from "node:module";
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { LabError } from "../core/errors.ts";
import type { StructType } from "../delta/types.ts";
import { columnsOfSchema, type ResolveRef } from "./json-schema-columns.ts";
import type { SchemaReference } from "./registry.ts";

export type CompiledSchema = {
  /** Where a value is not as the schema says, and which rule it breaks; undefined where it is. May throw RangeError for deep nesting. */
  violation(value: unknown): string | undefined;
  columns: StructType | null;
};

/** Unknown keywords are for others; names of Object's own are no fields of a message. */
const OPTIONS: Options = { strict: false, allErrors: false, ownProperties: true, logger: false };
const DRAFT_6 = "http://json-schema.org/draft-06/schema";

/** SCHEMA_INVALID with the reason where it cannot be used: no JSON, a draft that is not known, a reference that is not among those given. */
export function compileJsonSchema(text: string, references: readonly SchemaReference[]): CompiledSchema {
  const schema = parse(text, "the schema");
  const documents = new Map<string, unknown>();
  collect(references, schema, documents);
  try {
    const validate = validatorOf(schema, documents);
    const root = isObject(schema) ? schema : {};
    return {
      violation: (value) => (validate(value) ? undefined : describe(validate.errors?.at(-1), value)),
      columns: columnsOfSchema(schema, root, resolverOf(root, documents)),
    };
  } catch (error) {
    throw invalid((error as Error).message, error);
  }
}

function validatorOf(schema: unknown, documents: ReadonlyMap<string, unknown>): ValidateFunction {
  const ajv = ajvFor(schema);
  for (const [name, document] of documents)
    if (!(name in ajv.schemas) && !(name in ajv.refs)) ajv.addSchema(document as object, name);
  const validate = ajv.compile(schema as object);
  // It would answer with a promise, which says yes to anything.
  if ("$async" in validate) throw new Error("$async is no JSON Schema");
  return validate;
}

function ajvFor(schema: unknown): Ajv {
  const draft = isObject(schema) && typeof schema.$schema === "string" ? schema.$schema : "";
  const ajv = draft.includes("2020-12")
    ? new Ajv2020(OPTIONS)
    : draft.includes("2019-09")
      ? new Ajv2019(OPTIONS)
      : new Ajv(OPTIONS);
  if (draft.startsWith(DRAFT_6))
    ajv.addMetaSchema(createRequire(import.meta.url)("ajv/dist/refs/json-schema-draft-06.json"));
  addFormats.default(ajv);
  // Ajv compares each element with each other: a message of many would hold everything up.
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    validate: (isWanted: boolean, items: unknown[]) => !isWanted || isUnique(items),
    error: { message: "must NOT have duplicate items" },
  });
  return ajv;
}

function isUnique(items: readonly unknown[]): boolean {
  return new Set(items.map((item) => JSON.stringify(item, inOrder))).size === items.length;
}

/** Objects are the same whatever the order of their fields. */
function inOrder(_name: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return { fields: Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)) };
}

/** Each by the name it is referred to by, and by what that name means beside the `$id` of who refers to it. */
function collect(
  references: readonly SchemaReference[],
  referring: unknown,
  into: Map<string, unknown>,
): void {
  const base = isObject(referring) && typeof referring.$id === "string" ? referring.$id : undefined;
  for (const { name, text, references: more } of references) {
    const document = into.get(name) ?? parse(text, `its reference ${name}`);
    into.set(name, document);
    if (base !== undefined && URL.canParse(name, base)) into.set(new URL(name, base).href, document);
    collect(more, document, into);
  }
}

/** By document and JSON pointer; anchors are not looked for. */
function resolverOf(root: object, documents: ReadonlyMap<string, unknown>): ResolveRef {
  const known = new Map(documents);
  for (const document of [root, ...documents.values()])
    if (isObject(document) && typeof document.$id === "string")
      known.set(document.$id.replace(/#$/, ""), document);
  return (ref, from) => {
    const [name = "", pointer = ""] = ref.split("#", 2);
    const base = isObject(from) && typeof from.$id === "string" ? from.$id : undefined;
    const absolute = base !== undefined && URL.canParse(name, base) ? new URL(name, base).href : name;
    const document = name === "" ? from : (known.get(name) ?? known.get(absolute));
    const schema = pointer === "" ? document : atPointer(document, pointer);
    return isObject(document) && schema !== undefined ? { schema, from: document } : undefined;
  };
}

function atPointer(document: unknown, pointer: string): unknown {
  if (!pointer.startsWith("/")) return undefined;
  return segmentsOf(decodeURIComponent(pointer)).reduce<unknown>(
    (at, name) =>
      typeof at === "object" && at !== null && Object.hasOwn(at, name)
        ? (at as Record<string, unknown>)[name]
        : undefined,
    document,
  );
}

/** `items[0].id: must be integer (#/properties/items/items/properties/id/type)` */
function describe(error: ErrorObject | undefined, value: unknown): string {
  const { instancePath = "", message = "does not fit", schemaPath = "", params = {} } = error ?? {};
  let at: unknown = value;
  let path = "";
  for (const name of segmentsOf(instancePath)) {
    path += Array.isArray(at) ? `[${name}]` : `${path === "" ? "" : "."}${name}`;
    at = (at as Record<string, unknown> | undefined)?.[name];
  }
  const name = params.additionalProperty ?? params.unevaluatedProperty;
  const which = name === undefined ? "" : `: ${name}`;
  return `${path === "" ? "the message" : path}: ${message}${which} (${schemaPath})`;
}

function segmentsOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid(`${what} is not JSON: ${(error as Error).message}`, error);
  }
}

function invalid(message: string, cause: unknown): LabError {
  return new LabError("SCHEMA_INVALID", message, { cause });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
