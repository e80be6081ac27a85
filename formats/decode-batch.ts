/** The messages of a batch through a decoder, unpacked before where a producer compressed them. */

import type { Decoder, Undecodable } from "./decoder.ts";
import { gunzip, isGzip } from "./gzip.ts";

/** Values by their place in a batch. */
export type BatchValues = { length: number; value(index: number): Uint8Array | null };

export type BatchOptions = {
  /** Values that begin as gzip does are unpacked: for formats of text, and those of a registry, whose values begin with a zero. */
  gzip: boolean;
  /** Most bytes that one value may unpack to. */
  maxBytes?: number;
};

/** One object of a message, and messages that hold none, by the message's place; parts and bad ones each in order. */
export type DecodedBatch = {
  parts: { index: number; json: Uint8Array }[];
  bad: ({ index: number } & Undecodable)[];
};

/**
 * Every message as objects or as a bad one; never throws for any bytes once `decoder` is prepared for `payloads`. Without a decoder
 * values are JSON as they stand: "unchanged" where none of them had to be unpacked, after a look at the first bytes of each.
 */
export function decodeBatch(
  values: BatchValues,
  decoder: Decoder | null,
  options: BatchOptions,
): DecodedBatch | "unchanged" {
  if (!decoder && !(options.gzip && hasGzip(values))) return "unchanged";
  const decode = decoder ? (value: Uint8Array | null) => decoder.decode(value) : asItIs;
  const batch: DecodedBatch = { parts: [], bad: [] };
  for (let index = 0; index < values.length; index++) {
    const payload = unpacked(values.value(index), options);
    const decoded = payload === null || payload instanceof Uint8Array ? decode(payload) : { bad: payload };
    if ("bad" in decoded) batch.bad.push({ index, ...decoded.bad });
    else for (const json of decoded.objects) batch.parts.push({ index, json });
  }
  return batch;
}

/** What a decoder gets to see of `values`, for its `prepare`: unpacked, null where that fails. */
export function* payloads(values: BatchValues, options: BatchOptions): Generator<Uint8Array | null> {
  for (let index = 0; index < values.length; index++) {
    const payload = unpacked(values.value(index), options);
    yield payload instanceof Uint8Array ? payload : null;
  }
}

function hasGzip(values: BatchValues): boolean {
  for (let index = 0; index < values.length; index++) {
    const value = values.value(index);
    if (value !== null && isGzip(value)) return true;
  }
  return false;
}

function unpacked(value: Uint8Array | null, options: BatchOptions): Uint8Array | Undecodable | null {
  return options.gzip && value !== null && isGzip(value) ? gunzip(value, options.maxBytes) : value;
}

function asItIs(value: Uint8Array | null): ReturnType<Decoder["decode"]> {
  if (value !== null) return { objects: [value] };
  const message = "the value is null (a tombstone), not a JSON object";
  return { bad: { stage: "decode", code: "NULL_VALUE", message } };
}
