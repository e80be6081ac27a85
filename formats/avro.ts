/**
 * Avro, each value by the schema that wrote it: in the wire format of schema registries, in single-object encoding, or as it is. Values
 * become JSON and schemas become columns as docs/formats.md says ("format: avro").
 */

import { LabError } from "../core/errors.ts";
import { inParallel } from "../core/in-parallel.ts";
import type { StructType } from "../delta/types.ts";
import { readSchemaFile, readSchemaFolder } from "./avro-folder.ts";
import { confluentFrame, notThere, otherFraming, singleObjectFrame } from "./avro-frame.ts";
import { type AvroPlan, planAvro } from "./avro-plan.ts";
import { parseAvroSchema } from "./avro-schema.ts";
import { createDecodeValue } from "./avro-value.ts";
import type { Decoder, Undecodable } from "./decoder.ts";
import { mergeColumns } from "./merge-columns.ts";
import type { RegisteredSchema, Registry } from "./registry.ts";

export type AvroOptions =
  /** With `subject`, its newest schema counts as seen from the start. */
  | { framing: "confluent"; registry: Registry; subject?: string }
  /** `schemas`: a folder of .avsc files. */
  | { framing: "single-object"; schemas: string }
  /** `schema`: an .avsc file. */
  | { framing: "plain"; schema: string };

/** Requests to the registry at a time. */
const MOST_REQUESTS = 8;

/**
 * Reads what can be read before the first message. Rejects with SCHEMA_NOT_FOUND, SCHEMA_INVALID, and as Decoder's `prepare` does.
 */
export async function createAvroDecoder(options: AvroOptions, signal: AbortSignal): Promise<Decoder> {
  switch (options.framing) {
    case "confluent":
      return confluentDecoder(options.registry, options.subject, signal);
    case "single-object":
      return singleObjectDecoder(await readSchemaFolder(options.schemas), options.schemas);
    case "plain":
      return plainDecoder(await readSchemaFile(options.schema));
  }
}

async function confluentDecoder(
  registry: Registry,
  subject: string | undefined,
  signal: AbortSignal,
): Promise<Decoder> {
  const decodeValue = createDecodeValue();
  const known = new Map<number, AvroPlan | Undecodable>();
  let columns: StructType | null = null;

  function learn(schema: RegisteredSchema): AvroPlan | Undecodable {
    const plan = planRegistered(schema);
    known.set(schema.id, plan);
    columns = null;
    return plan;
  }

  if (subject !== undefined) {
    const plan = learn(await registry.latest(subject, signal));
    if ("code" in plan)
      throw new LabError("SCHEMA_INVALID", `the newest schema of subject ${subject}: ${plan.message}`);
  }

  return {
    async prepare(values, signal) {
      const wanted = new Set<number>();
      for (const value of values) {
        const frame = confluentFrame(value);
        if ("key" in frame && !known.has(frame.key)) wanted.add(frame.key);
      }
      await inParallel([...wanted], MOST_REQUESTS, async (id) => {
        const schema = await registry.byId(id, signal);
        if (schema) learn(schema);
      });
    },
    decode(value) {
      const frame = confluentFrame(value);
      if ("bad" in frame) return frame;
      const plan = known.get(frame.key);
      if (!plan)
        return unknownSchema(
          `the schema registry at ${registry.url} does not know schema ${frame.key}, or one that it refers to`,
        );
      return "code" in plan ? { bad: plan } : decodeValue(value!, frame.from, plan);
    },
    schema() {
      // By id: a registry counts up, so a higher one is newer, in whatever order messages come.
      columns ??= merged([...known].sort(([a], [b]) => a - b).map(([, plan]) => plan));
      return columns;
    },
  };
}

function planRegistered(schema: RegisteredSchema): AvroPlan | Undecodable {
  const unreadable = (message: string): Undecodable => ({
    stage: "decode",
    code: "UNREADABLE_SCHEMA",
    message,
  });
  if (schema.type !== "AVRO") return unreadable(`schema ${schema.id} is ${schema.type}, not Avro`);
  try {
    return planAvro(parseAvroSchema(schema));
  } catch (error) {
    return unreadable(`schema ${schema.id} cannot be read: ${(error as Error).message}`);
  }
}

function singleObjectDecoder(plans: ReadonlyMap<bigint, AvroPlan>, folder: string): Decoder {
  const decodeValue = createDecodeValue();
  const columns = merged([...plans.values()]);
  return {
    async prepare() {},
    decode(value) {
      const frame = singleObjectFrame(value);
      if ("bad" in frame) return frame;
      const plan = plans.get(frame.key);
      if (plan) return decodeValue(value!, frame.from, plan);
      const print = frame.key.toString(16).padStart(16, "0");
      return unknownSchema(`no schema in ${folder} has the fingerprint ${print}`);
    },
    schema: () => columns,
  };
}

function plainDecoder(plan: AvroPlan): Decoder {
  const decodeValue = createDecodeValue();
  const columns = merged([plan]);
  return {
    async prepare() {},
    decode(value) {
      if (value === null) return { bad: notThere(value)! };
      const decoded = decodeValue(value, 0, plan);
      if ("objects" in decoded) return decoded;
      // Any bytes may be a plain value, so another framing is thought of only now.
      const advice = notThere(value) ?? otherFraming(value, "plain");
      if (!advice) return decoded;
      return { bad: { ...advice, message: `${advice.message} (${decoded.bad.message})` } };
    },
    schema: () => columns,
  };
}

function merged(plans: readonly (AvroPlan | Undecodable)[]): StructType | null {
  const seen = plans.filter((plan) => "columns" in plan).map(({ columns }) => columns);
  const columns = seen.reduce(mergeColumns, { type: "struct", fields: [] });
  return columns.fields.length > 0 ? columns : null;
}

function unknownSchema(message: string): { bad: Undecodable } {
  return { bad: { stage: "decode", code: "UNKNOWN_SCHEMA", message } };
}
