/** What stands before a value: which schema wrote it. Pure. */

import type { Undecodable } from "./decoder.ts";

export type Framing = "confluent" | "single-object" | "plain";

/** Which schema, and where the value begins. */
export type Frame<K> = { key: K; from: number } | { bad: Undecodable };

const CONFLUENT_BYTES = 5;
const SINGLE_OBJECT_BYTES = 10;

/** A zero, the schema's id in four bytes (big-endian), the value. */
export function confluentFrame(value: Uint8Array | null): Frame<number> {
  if (value?.[0] === 0 && value.length >= CONFLUENT_BYTES)
    return { key: schemaId(value), from: CONFLUENT_BYTES };
  const bad =
    notThere(value) ??
    otherFraming(value!, "confluent") ??
    unframed(
      value![0] === 0
        ? "the value ends within its schema's id"
        : `the value begins with byte ${value![0]}, not with 0 and a schema's id: it may be framing plain`,
    );
  return { bad };
}

/** C3 01, the schema's fingerprint in eight bytes (little-endian), the value ("Single-object encoding"). */
export function singleObjectFrame(value: Uint8Array | null): Frame<bigint> {
  if (value && isSingleObject(value) && value.length >= SINGLE_OBJECT_BYTES)
    return { key: view(value).readBigUInt64LE(2), from: SINGLE_OBJECT_BYTES };
  const bad =
    notThere(value) ??
    otherFraming(value!, "single-object") ??
    unframed(
      isSingleObject(value!)
        ? "the value ends within its schema's fingerprint"
        : "the value does not begin with C3 01 and a fingerprint: it may be framing plain",
    );
  return { bad };
}

/** What a value looks like under another framing than `framing`; a plain one is asked only when it did not read. */
export function otherFraming(value: Uint8Array, framing: Framing): Undecodable | undefined {
  if (view(value).toString("latin1", 0, 4) === "Obj\x01")
    return {
      stage: "decode",
      code: "CONTAINER_FILE",
      message:
        "the value is an Avro container file (Obj 01), not one record: send each record by itself, with its schema in a registry",
    };
  if (framing !== "single-object" && isSingleObject(value) && value.length >= SINGLE_OBJECT_BYTES)
    return unframed(
      `the value begins with C3 01 and a fingerprint: it is framing single-object, not ${framing}`,
    );
  if (framing !== "confluent" && value[0] === 0 && value.length >= CONFLUENT_BYTES)
    return unframed(
      `the value begins with 0 and what may be schema id ${schemaId(value)} of a registry: it may be framing confluent, not ${framing}`,
    );
  return undefined;
}

/** A tombstone or no bytes at all. */
export function notThere(value: Uint8Array | null): Undecodable | undefined {
  if (value === null)
    return { stage: "decode", code: "NULL_VALUE", message: "the value is null (a tombstone), not Avro" };
  return value.length === 0
    ? { stage: "decode", code: "EMPTY_VALUE", message: "the value is empty, not Avro" }
    : undefined;
}

function schemaId(value: Uint8Array): number {
  return ((value[1]! << 24) | (value[2]! << 16) | (value[3]! << 8) | value[4]!) >>> 0;
}

function isSingleObject(bytes: Uint8Array): boolean {
  return bytes[0] === 0xc3 && bytes[1] === 0x01;
}

function unframed(message: string): Undecodable {
  return { stage: "decode", code: "WRONG_FRAMING", message };
}

function view(value: Uint8Array): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.length);
}
