/** Schemas that lie in files. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import { fingerprint } from "./avro-fingerprint.ts";
import { type AvroPlan, planAvro } from "./avro-plan.ts";
import {
  type AvroText,
  canonicalForm,
  definedName,
  type ParseOptions,
  parseAvroSchema,
} from "./avro-schema.ts";

/** The schema of one file. SCHEMA_NOT_FOUND where it cannot be read, SCHEMA_INVALID where it is none. */
export async function readSchemaFile(path: string): Promise<AvroPlan> {
  const text = await readText(path);
  return planOrExplain({ text, references: [] }, path).plan;
}

/**
 * The schemas of all .avsc files of a folder and of those in it, by fingerprint, in the order of their names. A file may name types that
 * others define. SCHEMA_NOT_FOUND where there is none, SCHEMA_INVALID names the file that cannot be read.
 */
export async function readSchemaFolder(folder: string): Promise<Map<bigint, AvroPlan>> {
  let names: string[];
  try {
    names = await readdir(folder, { recursive: true });
  } catch (cause) {
    throw unreadable(folder, cause);
  }
  const paths = names.filter((name) => name.endsWith(".avsc")).sort();
  if (paths.length === 0)
    throw new LabError("SCHEMA_NOT_FOUND", `the folder ${folder} has no .avsc file`, {
      hint: "put the writers' schemas there, one a file",
    });
  const texts = new Map<string, string>();
  for (const path of paths) texts.set(path, await readText(join(folder, path)));
  const byType = new Map<string, string>();
  for (const [path, text] of texts) byType.set(nameOrExplain(text, join(folder, path)) ?? path, text);

  const plans = new Map<bigint, AvroPlan>();
  for (const [path, text] of texts) {
    const { plan, print } = planOrExplain({ text, references: [] }, join(folder, path), {
      find: (name) => byType.get(name),
      exactNames: true,
    });
    plans.set(print, plan);
  }
  return plans;
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

function planOrExplain(schema: AvroText, path: string, options: ParseOptions = {}) {
  try {
    const type = parseAvroSchema(schema, options);
    return { plan: planAvro(type), print: fingerprint(canonicalForm(type)) };
  } catch (cause) {
    throw invalid(path, cause);
  }
}

function nameOrExplain(text: string, path: string): string | undefined {
  try {
    return definedName(text);
  } catch (cause) {
    throw invalid(path, cause);
  }
}

function unreadable(path: string, cause: unknown): LabError {
  return new LabError("SCHEMA_NOT_FOUND", `cannot read ${path}: ${(cause as Error).message}`, { cause });
}

function invalid(path: string, cause: unknown): LabError {
  return new LabError("SCHEMA_INVALID", `${path} holds no Avro schema: ${(cause as Error).message}`, {
    cause,
  });
}
