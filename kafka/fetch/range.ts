/** What a fetch brought of one partition, as pieces for the reader. */

import { LabError } from "../../core/errors.ts";
import { unpack } from "../codecs.ts";
import type { FetchedBatch, FetchedRecords } from "../ports.ts";
import { abortedFilter } from "./aborted.ts";
import {
  appendRecords,
  type BatchHeader,
  isAbortMarker,
  type RecordsPlace,
  readBatchHeader,
} from "./batch.ts";
import { type Columns, emptyColumns, recordsIn } from "./columns.ts";
import type { FetchedPartition } from "./fetch-api.ts";

export type Piece = Pick<FetchedBatch, "fetchedOffset" | "nextOffset" | "timestampType" | "records">;
export type Range = Pick<FetchedPartition, "topic" | "partition" | "aborted" | "records">;

/** Unpacked bytes after which a piece is handed over: a compressed answer may be many times as large as it came. */
const PIECE_BYTES = 1 << 20;

/**
 * The pieces lie end to end, from the fetched offset to one past the last offset of the last whole batch, and are unpacked one at a time.
 * Each has one kind of timestamp. What is not visible (aborted, control records, offsets before the fetched one) is left out and passed;
 * a range without a visible record is one empty piece. None where no batch is whole. KAFKA_PROTOCOL and CODEC_UNSUPPORTED come after the
 * piece before them; `details` name the partition and the offset that cannot be passed.
 */
export async function* readRange(
  range: Range,
  fetchedOffset: bigint,
): AsyncGenerator<Piece, void, undefined> {
  const { records: bytes } = range;
  const isAborted = abortedFilter(range.aborted);
  let piece = newPiece(fetchedOffset);
  let at = 0;
  while (at < bytes.length) {
    try {
      const batch = readBatchHeader(bytes, at);
      if (batch === null) break;
      at = batch.end;
      const isPacked = batch.codec !== 0;
      const isVisible =
        !isAborted(batch, () => isAbortMarker(batch, inPlace(bytes, batch))) && !batch.isControl;
      if (isVisible && batch.lastOffset >= fetchedOffset && batch.count > 0) {
        if (!fits(piece, batch, isPacked)) {
          yield done(piece);
          piece = newPiece(piece.nextOffset);
        }
        piece.timestampType = batch.timestampType;
        piece.isPacked = isPacked;
        if (isPacked) await appendPacked(piece, batch, bytes, fetchedOffset);
        else {
          piece.columns.bytes = bytes;
          appendRecords(batch, inPlace(bytes, batch), fetchedOffset, piece.columns);
        }
      }
      if (batch.lastOffset >= piece.nextOffset) piece.nextOffset = batch.lastOffset + 1n;
    } catch (error) {
      // What is before it is good, and nobody should wait for it.
      if (piece.nextOffset > piece.fetchedOffset) yield done(piece);
      throw placed(error, range, piece.nextOffset);
    }
  }
  if (piece.nextOffset > piece.fetchedOffset) yield done(piece);
}

type Open = {
  fetchedOffset: bigint;
  nextOffset: bigint;
  timestampType: FetchedBatch["timestampType"];
  isPacked: boolean;
  columns: Columns;
  unpacked: Buffer[];
  unpackedBytes: number;
};

const inPlace = (bytes: Buffer, { start, end }: BatchHeader): RecordsPlace => ({
  bytes,
  start,
  end,
  shift: 0,
});

function newPiece(fetchedOffset: bigint): Open {
  return {
    fetchedOffset,
    nextOffset: fetchedOffset,
    timestampType: "create",
    isPacked: false,
    columns: emptyColumns(0),
    unpacked: [],
    unpackedBytes: 0,
  };
}

function fits(piece: Open, batch: BatchHeader, isPacked: boolean): boolean {
  if (piece.columns.length === 0) return true;
  return (
    piece.timestampType === batch.timestampType &&
    piece.isPacked === isPacked &&
    piece.unpackedBytes < PIECE_BYTES
  );
}

async function appendPacked(piece: Open, batch: BatchHeader, bytes: Buffer, from: bigint): Promise<void> {
  const unpacked = await unpack(batch.codec, bytes.subarray(batch.start, batch.end));
  const place = { bytes: unpacked, start: 0, end: unpacked.length, shift: piece.unpackedBytes };
  const before = piece.columns.length;
  appendRecords(batch, place, from, piece.columns);
  // Of a batch whose visible records compaction took, no byte is kept: one that is not packed may come next, and brings its own.
  if (piece.columns.length === before) return;
  piece.unpacked.push(unpacked);
  piece.unpackedBytes += unpacked.length;
}

function done({ columns, unpacked, fetchedOffset, nextOffset, timestampType }: Open): Piece {
  if (unpacked.length > 0) columns.bytes = unpacked.length === 1 ? unpacked[0]! : Buffer.concat(unpacked);
  const records: FetchedRecords = recordsIn(columns);
  return { fetchedOffset, nextOffset, timestampType, records };
}

/** The error with its place, so that it can be told whether the same comes again. */
function placed(error: unknown, { topic, partition }: Range, offset: bigint): LabError {
  const { code, message, hint } =
    error instanceof LabError
      ? error
      : { code: "INTERNAL" as const, message: String(error), hint: undefined };
  return new LabError(code, `${topic}-${partition} cannot be read from offset ${offset} on: ${message}`, {
    ...(hint === undefined ? {} : { hint }),
    details: { topic, partition, offset },
    cause: error,
  });
}
