/** The content of a chunk: messages while it grows, files and letters once it is encoded. */

import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { AUDIT_HEADER } from "../audit/header.ts";
import { hasHeader } from "../core/record-headers.ts";
import type { StructType } from "../delta/types.ts";
import { isStorableTime } from "../engine/encode-apart.ts";
import type { EncodedFile, LetterStage } from "../engine/encoder.ts";
import { createRawBatch, type RawBatch } from "../engine/raw-batch.ts";
import type { FetchedBatch, FetchedRecords, RawRecord } from "../kafka/ports.ts";
import { type AuditCounts, createAuditCounts } from "./audit-counts.ts";
import { fingerprint } from "./fingerprint.ts";

export type Letter = {
  topic: string;
  partition: number;
  offset: bigint;
  timestampMs: number;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: readonly (readonly [name: string, value: Uint8Array | null])[];
  stage: LetterStage;
  code: string;
  message: string;
};

/** What the commit says of one partition (contracts.md, `commitInfo.lab`). */
export type PartitionCounts = {
  first: bigint;
  last: bigint;
  rows: number;
  letters: number;
  skipped: number;
  minTimestampMs: number;
  maxTimestampMs: number;
  fingerprint: string;
};

export type ChunkContent = {
  /** Null once encoded: the messages are let go. */
  raw: RawBatch | null;
  /** What was `raw`, where nobody reads it any more: its memory may hold the messages of another chunk. */
  spent: RawBatch | null;
  counts: Map<number, PartitionCounts>;
  audit: AuditCounts;
  files: EncodedFile[];
  letters: Letter[];
  /** The schema that the files were written with, where messages brought new fields. */
  evolvedSchema: StructType | undefined;
  /** The schema of the messages that a transform read, where they brought new fields. */
  evolvedInput: StructType | undefined;
};

/** Bytes; a chunk takes so much at least. */
export const LEAST_CAPACITY = 1 << 20;

/**
 * Without `raw`, an empty batch, `capacityBytes` is the room that is taken for values at once: about what will come saves it from being moved
 * as it grows.
 */
export function emptyChunk(capacityBytes = 0, raw: RawBatch | null = null): ChunkContent {
  return {
    raw: raw ?? createRawBatch({ capacityBytes: Math.max(capacityBytes, LEAST_CAPACITY) }),
    spent: null,
    counts: new Map(),
    audit: createAuditCounts(),
    files: [],
    letters: [],
    evolvedSchema: undefined,
    evolvedInput: undefined,
  };
}

const STAMP = Buffer.from(AUDIT_HEADER);

/** What a record takes beside its bytes: offset, times and the like, here and in the engine. */
const RECORD_BYTES = 64;

/** What the records take in memory while they wait. Keys and headers may be larger than values, and records without a byte are no gift either. */
export function heldBytes(
  records: Pick<FetchedRecords, "length" | "keyBytes" | "valueBytes" | "headerBytes">,
): number {
  return RECORD_BYTES * records.length + records.keyBytes + records.valueBytes + records.headerBytes;
}

/** The same for a letter. */
export function letterBytes({ key, value, headers }: Pick<Letter, "key" | "value" | "headers">): number {
  const sizes = headers.map(([name, content]) => 8 + name.length + (content?.byteLength ?? 0));
  return sizes.reduce(
    (sum, size) => sum + size,
    RECORD_BYTES + (key?.byteLength ?? 0) + (value?.byteLength ?? 0),
  );
}

/**
 * Names a record among all that ever stood at its offset: a topic that was made anew has other records there.
 */
export function recordKey(offset: bigint, timestampMs: number): string {
  // A letter has no time where the record's is beyond what a table can hold.
  return `${offset}@${isStorableTime(timestampMs) ? timestampMs : ""}`;
}

/** Names a letter's record by its content, too: a topic that was made anew may have another one of the same time at its offset. */
export function verdictKey(record: Pick<RawRecord, "offset" | "timestampMs" | "key" | "value">): string {
  const [key, value] = [record.key, record.value].map((bytes) => (bytes === null ? "" : shortHash(bytes)));
  return `${recordKey(record.offset, record.timestampMs)}:${key}:${value}`;
}

/** As the engine's `left(sha256(bytes), 16)`. */
function shortHash(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
}

/**
 * Puts the records of a batch in. Records whose `verdictKey` is in `verdicts` have a letter already, from a run
 * that ended between letters and rows: they are counted as letters and not tried again.
 */
export function appendBatch(
  chunk: ChunkContent,
  batch: FetchedBatch,
  verdicts: ReadonlySet<string> | undefined,
  recordGeneration: number,
): void {
  const { raw } = chunk;
  const { records, topic, partition, timestampType } = batch;
  const { bytes, length, timestampsMs, headerStarts, headerEnds } = records;
  if (!raw || length === 0) return;
  const counts = chunk.counts.get(partition) ?? newCounts(records.at(0));
  // No object is made of what has no stamp.
  const unstamped = { headers: [], value: null, timestampMs: 0 };
  for (let index = 0; index < length; index++) {
    const timestampMs = timestampsMs[index]!;
    if (timestampMs < counts.minTimestampMs) counts.minTimestampMs = timestampMs;
    if (timestampMs > counts.maxTimestampMs) counts.maxTimestampMs = timestampMs;
    unstamped.timestampMs = timestampMs;
    const [start, end] = [headerStarts[index]!, headerEnds[index]!];
    const isStamped = start !== end && hasHeader(bytes, start, end, STAMP);
    chunk.audit.received(isStamped ? records.at(index) : unstamped);
  }
  const place = { topic, partition, timestampType, generation: recordGeneration };
  if (!verdicts?.size) raw.appendAll(place, records);
  else
    for (const record of records.toArray()) {
      if (verdicts.has(verdictKey(record))) {
        counts.letters++;
        chunk.audit.lettered(record);
      } else raw.append({ ...place, ...record });
    }
  counts.last = batch.nextOffset - 1n;
  counts.fingerprint = fingerprint(records.at(length - 1));
  chunk.counts.set(partition, counts);
}

function newCounts(record: RawRecord): PartitionCounts {
  return {
    first: record.offset,
    last: record.offset,
    rows: 0,
    letters: 0,
    skipped: 0,
    minTimestampMs: record.timestampMs,
    maxTimestampMs: record.timestampMs,
    fingerprint: "",
  };
}

/** The counts of several chunks of one commit, oldest chunk first, as one. */
export function sumCounts(chunks: readonly ChunkContent[]): Map<number, PartitionCounts> {
  const sums = new Map<number, PartitionCounts>();
  for (const chunk of chunks) {
    for (const [partition, counts] of chunk.counts) {
      const sum = sums.get(partition);
      sums.set(
        partition,
        sum
          ? {
              first: sum.first,
              last: counts.last,
              rows: sum.rows + counts.rows,
              letters: sum.letters + counts.letters,
              skipped: sum.skipped + counts.skipped,
              minTimestampMs: Math.min(sum.minTimestampMs, counts.minTimestampMs),
              maxTimestampMs: Math.max(sum.maxTimestampMs, counts.maxTimestampMs),
              fingerprint: counts.fingerprint,
            }
          : { ...counts },
      );
    }
  }
  return sums;
}

/** Takes the staged files of chunks away; those that are gone already are fine. */
export async function removeFiles(contents: readonly Pick<ChunkContent, "files">[]): Promise<void> {
  await Promise.allSettled(
    contents.flatMap((content) => content.files.map((file) => rm(file.file, { force: true }))),
  );
}
