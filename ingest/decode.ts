/** Messages of a chunk as what the encoder reads: JSON objects, one a message, each of which knows the message it came from. */

import type { BadRecord } from "../engine/encoder.ts";
import { createRawBatch, type RawBatch } from "../engine/raw-batch.ts";
import { decodeBatch, payloads } from "../formats/decode-batch.ts";
import type { Decoder } from "../formats/decoder.ts";
import { mayHoldGzip } from "../formats/gzip.ts";

/** What a format makes of a batch. Where nothing is to be decoded, `batch` is the batch itself. */
export type Decoded = {
  batch: RawBatch;
  /** One past the place of the last message that was decoded. */
  end: number;
  /** Messages that are no object, by their place in the batch that was decoded, in order. */
  bad: readonly BadRecord[];
  /** Places of messages that are to leave no row. */
  skipped: readonly number[];
  /** The place in the batch that was decoded of the message at a place of `batch`. */
  placeOf(index: number): number;
};

/** Also what is needed of a format to decode by: whether values may be compressed, and whether the bytes as they came are kept. */
export type DecodeOptions = {
  decoder: Decoder | null;
  mayBeGzip: boolean;
  keepRaw: boolean;
  /** JSON that is encoded together: a value may be a thousand times as large unpacked as it came. */
  batchBytes?: number;
};

const BATCH_BYTES = 64 << 20;

/**
 * The messages from place `from` on, as many as may stand in memory decoded. An outage of what decoding takes rejects, and is the caller's to
 * wait out; a message that cannot be decoded is a value.
 */
export async function decodeMessages(
  raw: RawBatch,
  { decoder, mayBeGzip, keepRaw, batchBytes = BATCH_BYTES }: DecodeOptions,
  from: number,
  signal: AbortSignal,
): Promise<Decoded> {
  const unchanged: Decoded = {
    ...{ batch: raw, end: raw.length, bad: [], skipped: [] },
    placeOf: (index) => index,
  };
  if (!decoder && !(mayBeGzip && mayHoldGzip(raw.values))) return unchanged;
  const values = { length: raw.length, value: (i: number) => raw.value(i) };
  const options = { gzip: mayBeGzip, from, batchBytes };
  if (from === 0) await decoder?.prepare(payloads(values, options), signal);
  const decoded = decodeBatch(values, decoder, options);
  if (decoded === "unchanged") return unchanged;
  const batch = createRawBatch();
  for (const { index, json } of decoded.parts) {
    const original = keepRaw ? { original: raw.value(index) } : {};
    batch.append({ ...raw.message(index), value: json, ...original });
  }
  const seen = new Set([...decoded.parts, ...decoded.bad].map(({ index }) => index));
  const { end, bad, parts } = decoded;
  const skipped = Array.from({ length: end - from }, (_, i) => from + i).filter((i) => !seen.has(i));
  return { batch, end, bad, skipped, placeOf: (index) => parts[index]!.index };
}

/** The messages of `decoded` without those of the places in `left`. */
export function without(decoded: Decoded, left: ReadonlySet<number>): Decoded {
  const batch = createRawBatch();
  const places: number[] = [];
  for (let i = 0; i < decoded.batch.length; i++) {
    const place = decoded.placeOf(i);
    if (left.has(place)) continue;
    batch.append(decoded.batch.message(i));
    places.push(place);
  }
  return { ...decoded, batch, placeOf: (index) => places[index]! };
}
