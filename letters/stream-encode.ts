/** Letters encoded as their stream encodes messages, or through another transform than its own. */

import { LabError } from "../core/errors.ts";
import type { Snapshot } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import type { Encoder } from "../engine/encoder.ts";
import { withoutKafka } from "../engine/kafka-column.ts";
import type { RawBatch } from "../engine/raw-batch.ts";
import type { Decoder } from "../formats/decoder.ts";
import { emptyChunk, type PartitionCounts, recordKey } from "../ingest/chunk.ts";
import { encodeChunk, requireWritable, storedInput } from "../ingest/encode-chunk.ts";
import type { StreamOptions } from "../ingest/options.ts";
import { routeLimit } from "../ingest/routed-tables.ts";
import type { EncodeLetters } from "./encode.ts";

/** How a stream makes rows of messages. */
export type LetterStream = Pick<
  StreamOptions,
  | "topic"
  | "format"
  | "schema"
  | "transform"
  | "route"
  | "tableUri"
  | "maxTables"
  | "metadata"
  | "keepRaw"
  | "partitionBy"
  | "onUnknownField"
>;

/**
 * `isOtherTransform`: the transform is not the one that the stream has, so it reads messages by what the letters hold and not by what the
 * stream saw so far.
 */
export function encodeAsStream(deps: {
  encoder: Encoder;
  decoder: Decoder | null;
  stream: LetterStream;
  isOtherTransform: boolean;
}): EncodeLetters {
  const { encoder, decoder, stream } = deps;
  const decoding = {
    decoder,
    mayBeGzip: ["json", "ndjson", "csv"].includes(stream.format),
    keepRaw: stream.keepRaw,
  };
  return async (batch, { topic, snapshot, schema, routes }, signal) => {
    await requireWritable(encoder, snapshot, signal);
    const counts = countsOf(batch);
    const chunk = { ...emptyChunk(), raw: batch, counts };
    await encodeChunk(chunk, {
      ...{ encoder, options: stream, decoding, signal },
      async targetFor(messages) {
        const read = deps.isOtherTransform
          ? await inputOf(encoder, messages, stream, snapshot, signal)
          : storedInput(snapshot, topic);
        return { snapshot, schema, messages: read };
      },
      refuseRoute: routeLimit(stream.tableUri, stream.maxTables, routes),
      // Letters of which there are rows were left out before.
      written: [],
    });
    const places = new Map(Array.from({ length: batch.length }, (_, index) => [keyAt(batch, index), index]));
    return {
      files: chunk.files,
      bad: chunk.letters.map(({ partition, offset, timestampMs, stage, code, message }) => {
        const index = places.get(keyOf(partition, offset, timestampMs));
        if (index === undefined)
          throw new LabError(
            "INTERNAL",
            `a letter of ${topic}-${partition} offset ${offset} came from nowhere`,
          );
        return { index, stage, code, message };
      }),
      skipped: [...counts.values()].reduce((sum, { skipped }) => sum + skipped, 0),
      evolvedSchema: chunk.evolvedSchema,
    };
  };
}

/**
 * What another transform reads: the fields that the letters hold, as they suggest their types, for what is wrong with them is often a type; and
 * the other columns that messages or the table are known to have, so that they can be named.
 */
async function inputOf(
  encoder: Encoder,
  messages: RawBatch,
  { topic, format }: LetterStream,
  snapshot: Snapshot,
  signal: AbortSignal,
): Promise<StructType | undefined> {
  if (format === "text" || format === "bytes") return undefined;
  const seen = await encoder.inferInput(messages, { format: "json" }, signal);
  if (!seen) return undefined;
  const names = new Set(seen.fields.map(({ name }) => name.toLowerCase()));
  const known = storedInput(snapshot, topic) ?? withoutKafka(snapshot.schema);
  const others = known.fields.filter(({ name }) => !names.has(name.toLowerCase()));
  return { type: "struct", fields: [...seen.fields, ...others] };
}

function countsOf(batch: RawBatch): Map<number, PartitionCounts> {
  const counts = new Map<number, PartitionCounts>();
  for (let index = 0; index < batch.length; index++)
    counts.set(batch.partition(index), {
      first: 0n,
      last: 0n,
      rows: 0,
      letters: 0,
      skipped: 0,
      minTimestampMs: 0,
      maxTimestampMs: 0,
      fingerprint: "",
    });
  return counts;
}

const keyAt = (batch: RawBatch, index: number) =>
  keyOf(batch.partition(index), batch.offset(index), batch.timestampMs(index));

const keyOf = (partition: number, offset: bigint, timestampMs: number) =>
  `${partition}/${recordKey(offset, timestampMs)}`;
