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
  /** The place to begin at; 0 unless told. */
  from?: number;
  /** A batch ends with the message that brings its objects to so many bytes. */
  batchBytes?: number;
};

/** One object of a message, and messages that hold none, by the message's place; parts and bad ones each in order. */
export type DecodedBatch = {
  /** One past the place of the last message that was looked at. */
  end: number;
  parts: { index: number; json: Uint8Array }[];
  bad: ({ index: number } & Undecodable)[];
};

/**
 * Messages as objects or as bad ones, as many as `batchBytes` hold: a few bytes may unpack to very many. Never throws for any bytes once `decoder` is prepared for `payloads`. Without a decoder
 * values are JSON as they stand: "unchanged" where none of them had to be unpacked, after a look at the first bytes of each.
 */
export function decodeBatch(
  values: BatchValues,
  decoder: Decoder | null,
  options: BatchOptions,
): DecodedBatch | "unchanged" {
  if (!decoder && !(options.gzip && hasGzip(values))) return "unchanged";
  const decode = decoder ? (value: Uint8Array | null) => decoder.decode(value) : asItIs;
  const { from = 0, batchBytes = Number.POSITIVE_INFINITY } = options;
  const batch: DecodedBatch = { end: from, parts: [], bad: [] };
  for (let bytes = 0; batch.end < values.length && bytes < batchBytes; batch.end++) {
    const index = batch.end;
    const payload = unpacked(values.value(index), options);
    const decoded = payload === null || payload instanceof Uint8Array ? decode(payload) : { bad: payload };
    if ("bad" in decoded) {
      batch.bad.push({ index, ...decoded.bad });
      continue;
    }
    for (const json of decoded.objects) {
      batch.parts.push({ index, json });
      bytes += json.length;
    }
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
