/** Protobuf messages: named by a registry's wire format, or all of one kind that a file declares. */

import type { Decoded, Decoder, Undecodable } from "./decoder.ts";
import { createFramedDecoder } from "./framed.ts";
import { planMessage, type RootPlan } from "./protobuf-plan.ts";
import { readMessage } from "./protobuf-read.ts";
import { type ProtoFile, type ProtoSchema, readDescriptorSet, readProtoFile } from "./protobuf-schema.ts";
import type { RegisteredSchema, Registry } from "./registry.ts";

/** Where messages of one kind are declared; `message` may be said without its package, and be left out where there is one. */
export type ProtobufSource = { message?: string } & ({ file: ProtoFile } | { descriptorSet: Uint8Array });

const MOST_INDEXES = 32;

/**
 * Values in a registry's wire format: zero, schema id, the place of the message in its file (a count and an index for each level, zigzag
 * varints; a single zero for the first message), the message.
 */
export function createRegistryProtobufDecoder(registry: Registry): Decoder {
  const schemas = new WeakMap<RegisteredSchema, ProtoSchema>();

  function compile(registered: RegisteredSchema, part: string): RootPlan {
    const schema = schemas.get(registered) ?? readProtoFile(registered);
    schemas.set(registered, schema);
    return planMessage(schema.byIndexes(part.split(",").map(Number)));
  }

  return createFramedDecoder<RootPlan>(registry, {
    type: "PROTOBUF",
    split: readIndexes,
    compile,
    decode: decodeMessage,
    columns: ({ columns }) => columns,
  });
}

/** Values that are a message each and nothing else. SCHEMA_INVALID where the source cannot be read or lacks the message. */
export function createProtobufDecoder(source: ProtobufSource): Decoder {
  const schema = "file" in source ? readProtoFile(source.file) : readDescriptorSet(source.descriptorSet);
  const plan = planMessage(schema.byName(source.message));
  return {
    prepare: async () => {},
    decode(value) {
      if (value !== null) return decodeMessage(plan, value);
      return { bad: decodeFault("NULL_VALUE", "the value is null (a tombstone), not a message") };
    },
    schema: () => plan.columns,
  };
}

/** No bytes are a message, too: one whose fields have their defaults. */
function decodeMessage(plan: RootPlan, payload: Uint8Array): Decoded {
  const json = readMessage(payload, plan.message);
  return typeof json === "string" ? { objects: [Buffer.from(json)] } : { bad: json };
}

function readIndexes(bytes: Uint8Array): { part: string; payload: Uint8Array } | { bad: Undecodable } {
  let at = 0;
  /** Zigzag; undefined where there is none, and for what no list can be. */
  function next(): number | undefined {
    let raw = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined) return undefined;
      raw |= (byte & 127) << shift;
      if (byte < 128) return (raw & 1) === 1 ? undefined : raw >>> 1;
    }
    return undefined;
  }

  const count = next();
  if (count === 0) return { part: "0", payload: bytes.subarray(at) };
  const indexes = count === undefined || count > MOST_INDEXES ? [] : Array.from({ length: count }, next);
  if (indexes.length === 0 || indexes.includes(undefined))
    return { bad: decodeFault("BAD_MESSAGE_INDEX", "the schema id is not followed by a message's place") };
  return { part: indexes.join(","), payload: bytes.subarray(at) };
}

function decodeFault(code: string, message: string): Undecodable {
  return { stage: "decode", code, message };
}
