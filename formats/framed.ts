/**
 * Messages that name their schema as registries have it: a zero, the schema's id in four bytes (big-endian), the payload. What comes to
 * know the schemas, apart from what they mean.
 */

import { isLabError } from "../core/errors.ts";
import type { StructType } from "../delta/types.ts";
import type { Decoded, Decoder, Undecodable } from "./decoder.ts";
import { mergeColumns } from "./merge-columns.ts";
import type { RegisteredSchema, Registry } from "./registry.ts";

/** `part`: which of several things in the schema the payload is; empty where there is one. */
export type Frame = { id: number; part: string; payload: Uint8Array };

export type FramedFormat<T> = {
  /** As registries name the kind of schema. */
  type: "PROTOBUF" | "JSON";
  /** Tells where the payload begins and which part of the schema it is. */
  split(afterId: Uint8Array): Omit<Frame, "id"> | { bad: Undecodable };
  /** SCHEMA_INVALID where the schema cannot be read, SCHEMA_NOT_FOUND where it lacks that part: both make bad records. */
  compile(schema: RegisteredSchema, part: string): T;
  decode(compiled: T, payload: Uint8Array): Decoded;
  columns(compiled: T): StructType | null;
};

type Known<T> = { id: number; compiled: T } | { id: number; bad: Undecodable };

/** Parts of broken messages may be any, each with a reason why it is bad. */
const MOST_KNOWN = 10_000;

/** A decoder for payloads of `format`, whose schemas `registry` has. */
export function createFramedDecoder<T>(registry: Registry, format: FramedFormat<T>): Decoder {
  const known = new Map<string, Known<T>>();
  let promised: StructType | null | undefined;

  function read(value: Uint8Array | null): Frame | { bad: Undecodable } {
    const head = readSchemaId(value);
    if ("bad" in head) return head;
    const rest = format.split(head.payload);
    return "bad" in rest ? rest : { id: head.id, ...rest };
  }

  function compile(schema: RegisteredSchema, { id, part }: Frame): Known<T> {
    const bad = (code: string, message: string) => ({ id, bad: { stage: "decode", code, message } as const });
    if (schema.type !== format.type)
      return bad("UNREADABLE_SCHEMA", `schema ${id} is ${schema.type}, not ${format.type}`);
    try {
      return { id, compiled: format.compile(schema, part) };
    } catch (error) {
      if (isLabError(error, "SCHEMA_NOT_FOUND"))
        return bad("UNKNOWN_MESSAGE", `schema ${id}: ${error.message}`);
      if (!isLabError(error, "SCHEMA_INVALID")) throw error;
      return bad("UNREADABLE_SCHEMA", `schema ${id} cannot be read: ${error.message}`);
    }
  }

  return {
    async prepare(values, signal) {
      if (known.size > MOST_KNOWN) forgetBad(known);
      const wanted = new Map<string, Frame>();
      for (const value of values) {
        const frame = read(value);
        if ("bad" in frame) continue;
        const key = keyOf(frame);
        if (!known.has(key)) wanted.set(key, { ...frame, payload: new Uint8Array() });
      }
      for (const [key, frame] of wanted) {
        const schema = await registry.byId(frame.id, signal);
        // What is unknown today may be registered tomorrow; `decode` takes it for unknown as long as it is not here.
        if (schema) known.set(key, compile(schema, frame));
        promised = undefined;
      }
    },
    decode(value) {
      const frame = read(value);
      if ("bad" in frame) return frame;
      const schema = known.get(keyOf(frame));
      if (!schema) return { bad: unknownSchema(registry.url, frame.id) };
      return "bad" in schema ? schema : format.decode(schema.compiled, frame.payload);
    },
    schema() {
      promised ??= promisedBy([...known.values()], format);
      return promised;
    },
  };
}

/** The id a value names and what follows it. */
export function readSchemaId(
  value: Uint8Array | null,
): { id: number; payload: Uint8Array } | { bad: Undecodable } {
  const bad = (code: string, message: string) => ({ bad: { stage: "decode", code, message } as const });
  if (value === null) return bad("NULL_VALUE", "the value is null (a tombstone)");
  if (value.length === 0) return bad("EMPTY_VALUE", "the value is empty");
  if (value.length < 5 || value[0] !== 0)
    return bad("WRONG_FRAMING", "the value does not begin with a zero and the id of a schema in four bytes");
  const id = new DataView(value.buffer, value.byteOffset, 5).getUint32(1);
  return { id, payload: value.subarray(5) };
}

/** Others stay: a batch that is prepared may yet have to be decoded. */
function forgetBad<T>(known: Map<string, Known<T>>): void {
  for (const [key, schema] of known) if ("bad" in schema) known.delete(key);
}

function keyOf({ id, part }: Frame): string {
  return part === "" ? String(id) : `${id} ${part}`;
}

function unknownSchema(url: string, id: number): Undecodable {
  return {
    stage: "decode",
    code: "UNKNOWN_SCHEMA",
    message: `the schema registry at ${url} does not know schema ${id}, or one that it refers to`,
  };
}

function promisedBy<T>(known: Known<T>[], format: FramedFormat<T>): StructType | null {
  const oldestFirst = known.sort((a, b) => a.id - b.id);
  const columns = oldestFirst.flatMap((schema) =>
    "compiled" in schema ? (format.columns(schema.compiled) ?? []) : [],
  );
  return columns.reduce<StructType | null>(
    (older, newer) => (older ? mergeColumns(older, newer) : newer),
    null,
  );
}
