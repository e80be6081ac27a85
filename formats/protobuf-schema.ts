/** Protobuf schemas as texts or descriptors: their messages by name or place, every name they use resolved. */

import protobuf from "protobufjs";
import "protobufjs/ext/descriptor.js";
import { createRequire } from "node:module";
import type { Root, Type } from "protobufjs";
import { LabError } from "../core/errors.ts";
import type { SchemaReference } from "./registry.ts";

/** A `.proto` file and those it imports, by the paths it imports them by. */
export type ProtoFile = { text: string; references: readonly SchemaReference[] };

export type ProtoSchema = {
  /** With or without package: one that is the only one of its name; without a name the only one. SCHEMA_INVALID where there is none. */
  byName(name?: string): Type;
  /** By its place in the file, then among the messages inside, as registries count. SCHEMA_NOT_FOUND where there is none. */
  byIndexes(indexes: readonly number[]): Type;
};

type Nested = Record<string, protobuf.INamespace>;

/** The `.json` of each stands in protobufjs; what it calls common comes with its code. */
const PACKAGED = ["api", "descriptor", "source_context", "type"];
/** What Confluent's registry lets schemas import without a reference. */
const DECIMAL = `syntax = "proto3"; package confluent.type;
  message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }`;
const BUILT_IN = new Map([["confluent/type/decimal.proto", DECIMAL]]);

/**
 * The schema that `file` says. Google's well-known files need not be given. Imports that are nowhere are let be as long as nothing but
 * options comes from them. SCHEMA_INVALID otherwise, and for anything that is no Protobuf.
 */
export function readProtoFile(file: ProtoFile): ProtoSchema {
  const root = new protobuf.Root();
  const given = new Map(BUILT_IN);
  collect(file.references, given);
  const missing: string[] = [];
  let googles: Nested = {};
  const done = new Set<string>();

  function include(path: string): void {
    if (done.has(path)) return;
    done.add(path);
    const known = googleFile(path);
    const text = given.get(path);
    if (known) googles = together(googles, known);
    else if (text !== undefined) parse(text, path, root).forEach(include);
    else missing.push(path);
  }

  try {
    parse(file.text, "the schema", root).forEach(include);
    root.addJSON(googles);
    root.resolveAll();
  } catch (error) {
    const lacks = missing.length === 0 ? "" : ` (imported, but not given: ${missing.join(", ")})`;
    throw invalid(`${(error as Error).message}${lacks}`, error);
  }
  // By itself again: beside what it imports, its messages would not stand in order.
  const alone = new protobuf.Root();
  parse(file.text, "the schema", alone);
  return schemaOf(root, messagesOf(alone));
}

/** The schema of a `FileDescriptorSet` as `protoc --include_imports -o` writes it; only by name. SCHEMA_INVALID for other bytes. */
export function readDescriptorSet(bytes: Uint8Array): ProtoSchema {
  try {
    const root = protobuf.Root.fromDescriptor(bytes, { keepCase: true });
    return schemaOf(root, []);
  } catch (error) {
    throw invalid(`${(error as Error).message} in the descriptor set`, error);
  }
}

function schemaOf(root: Root, inOrder: readonly Type[]): ProtoSchema {
  return {
    byName(name) {
      const all = everyMessage(root);
      const own = inOrder.length > 0 ? inOrder : all.filter(({ fullName }) => !isGoogles(fullName));
      const wanted = name?.replace(/^\.?/, ".");
      const found = wanted === undefined ? own : all.filter(({ fullName }) => fullName.endsWith(wanted));
      const chosen = found.find(({ fullName }) => fullName === wanted) ?? (found.length === 1 && found[0]);
      if (chosen) return root.lookupType(chosen.fullName);
      const names = (found.length > 0 ? found : own).map(({ fullName }) => fullName.slice(1));
      const why = found.length > 0 ? `${found.length} messages${of(name)}` : `no message${of(name)}`;
      throw new LabError("SCHEMA_INVALID", `the Protobuf schema has ${why}`, {
        hint: `name one of ${names.slice(0, 10).join(", ")}`,
      });
    },
    byIndexes(indexes) {
      let among = inOrder;
      let found: Type | undefined;
      for (const index of indexes) {
        found = among[index];
        among = found ? nestedMessages(found) : [];
      }
      if (found) return root.lookupType(found.fullName);
      throw new LabError("SCHEMA_NOT_FOUND", `it has no message at the place ${indexes.join(", ")}`);
    },
  };
}

function of(name: string | undefined): string {
  return name === undefined ? "" : ` ${name}`;
}

function isGoogles(fullName: string): boolean {
  return fullName.startsWith(".google.protobuf.");
}

/** Adds the text of each to `into`, and of what each refers to. */
function collect(references: readonly SchemaReference[], into: Map<string, string>): void {
  for (const { name, text, references: more } of references) {
    into.set(name, text);
    collect(more, into);
  }
}

/** Adds what `text` declares to `root`; what it imports. */
function parse(text: string, path: string, root: Root): string[] {
  const { imports = [], weakImports = [] } = protobuf.parse(text, root, { keepCase: true });
  return [...imports, ...weakImports].filter((each) => each !== path);
}

/** What protobufjs has of a file of Google's. */
function googleFile(path: string): Nested | undefined {
  const common = protobuf.common.get(path)?.nested;
  if (common) return common as Nested;
  const name = /^google\/protobuf\/(.*)\.proto$/.exec(path)?.[1];
  if (name === undefined || !PACKAGED.includes(name)) return undefined;
  return createRequire(import.meta.url)(`protobufjs/google/protobuf/${name}.json`).nested;
}

/** Its files of Google's repeat each other's declarations. */
function together(a: Nested, b: Nested): Nested {
  const both: Nested = { ...b, ...a };
  for (const [name, { nested }] of Object.entries(a)) {
    const other = b[name]?.nested;
    if (nested && other) both[name] = { ...a[name], nested: together(nested as Nested, other as Nested) };
  }
  return both;
}

/** The first namespace below the root that holds messages is the file's package. */
function messagesOf(root: Root): Type[] {
  let here: protobuf.NamespaceBase = root;
  for (;;) {
    const messages = nestedMessages(here);
    const inner = here.nestedArray.find((each) => isPackage(each));
    if (messages.length > 0 || !inner) return messages;
    here = inner;
  }
}

function isPackage(each: protobuf.ReflectionObject): each is protobuf.Namespace {
  return (
    each instanceof protobuf.Namespace && !(each instanceof protobuf.Type || each instanceof protobuf.Service)
  );
}

function nestedMessages(of: protobuf.NamespaceBase): Type[] {
  return of.nestedArray.filter((each): each is Type => each instanceof protobuf.Type && !isGroup(each));
}

/** Registries count messages that are declared as such. */
function isGroup(type: Type): boolean {
  return (type as { group?: boolean }).group === true;
}

function everyMessage(of: protobuf.NamespaceBase): Type[] {
  return of.nestedArray.flatMap((each) => {
    if (each instanceof protobuf.Type) return [each, ...everyMessage(each)];
    return each instanceof protobuf.Namespace ? everyMessage(each) : [];
  });
}

function invalid(message: string, cause: unknown): LabError {
  return new LabError("SCHEMA_INVALID", message, { cause });
}
