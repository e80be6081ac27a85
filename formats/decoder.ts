/**
 * What the bytes of a message say: the port that each format fills. Whatever the format, the encoder reads JSON: a decoder turns a value
 * into the JSON text of an object, exactly (long and decimal digit for digit, bytes as base64, times as ISO 8601 with a zone).
 */

import type { StructType } from "../delta/types.ts";

/** Why a value is no object; the same terms as a dead letter's. */
export type Undecodable = { stage: "decode" | "schema"; code: string; message: string };

/** The objects of one message, in order, each as JSON in UTF-8; or why there are none. */
export type Decoded = { objects: readonly Uint8Array[] } | { bad: Undecodable };

export type Decoder = {
  /**
   * Gets what decoding these values takes, such as schemas from a registry; called before `decode` is, with every value of a chunk.
   * Rejects with REGISTRY_UNREACHABLE for an outage, which is waited out, and REGISTRY_DENIED for missing rights. What a registry
   * answers but does not know makes a bad record of the message, not an error.
   */
  prepare(values: Iterable<Uint8Array | null>, signal: AbortSignal): Promise<void>;
  /** Pure once prepared; never throws for any bytes. */
  decode(value: Uint8Array | null): Decoded;
  /** The columns that the schemas seen so far promise, of the newest where they differ; null where only messages tell. */
  schema(): StructType | null;
};
