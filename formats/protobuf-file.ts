/** Protobuf schemas in files: a `.proto` with those that it imports, or a descriptor set. */

import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import protobuf from "protobufjs";
import { LabError } from "../core/errors.ts";
import type { ProtobufSource } from "./protobuf.ts";
import type { SchemaReference } from "./registry.ts";

/**
 * What `path` declares. Imports are looked for in the file's folder and those above it, one of which is the root that their paths begin
 * at. A name that does not end with `.proto` is a descriptor set's. SCHEMA_NOT_FOUND, SCHEMA_INVALID where it cannot be read.
 */
export function readProtobufSource(path: string, message?: string): ProtobufSource {
  const named = message === undefined ? {} : { message };
  if (!path.endsWith(".proto")) return { ...named, descriptorSet: read(path) };
  const text = read(path).toString("utf8");
  return { ...named, file: { text, references: importsOf(text, path, new Set()) } };
}

/** Those that are not there are left out: perhaps nothing but options comes from them. Each is read once. */
function importsOf(text: string, path: string, known: Set<string>): SchemaReference[] {
  const { imports = [], weakImports = [] } = parse(text, path);
  return [...imports, ...weakImports].flatMap((name) => {
    const file = known.has(name) ? undefined : findAbove(dirname(resolve(path)), name);
    if (file === undefined) return [];
    known.add(name);
    const inner = read(file).toString("utf8");
    return [{ name, text: inner, references: importsOf(inner, file, known) }];
  });
}

function findAbove(folder: string, name: string): string | undefined {
  const file = join(folder, name);
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) return file;
  return dirname(folder) === folder ? undefined : findAbove(dirname(folder), name);
}

function parse(text: string, path: string): protobuf.IParserResult {
  try {
    return protobuf.parse(text, { keepCase: true });
  } catch (error) {
    throw new LabError("SCHEMA_INVALID", `${path}: ${(error as Error).message}`, { cause: error });
  }
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new LabError("SCHEMA_NOT_FOUND", `the schema ${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
