/** One partition's queue: one request at a time, so that a repeat after an outage carries the sequence number the broker knows. */

import { isLabError, LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import { RAISE_LIMIT } from "./failures.ts";
import type { OutgoingRecord } from "./ports.ts";

/** Records of one call for one partition, with their places in that call. */
export type Slice = { records: OutgoingRecord[]; indexes: number[] };
export type Range = { baseOffset: bigint; count: number };
/** What became of a slice: what was acknowledged, and the first failure of the rest. */
export type SliceResult = { acked: Range[]; error: LabError | null };

export type SinkLane = {
  /** Never rejects. Slices go out in the order of the calls. */
  send(slice: Slice): Promise<SliceResult>;
};

/** A request carries one record batch, which the broker's default limit of 1 MiB must hold with its overhead. */
const BATCH_BYTES = 512 * 1024;
/** The client copies a batch once per record in it, so longer ones cost more than they save. */
const BATCH_RECORDS = 1_000;
const RECORD_OVERHEAD = 32;
/** The broker closes the connection on a request beyond `socket.request.max.bytes` (100 MiB): to the client that is an outage for ever. */
const SENDABLE_BYTES = 96 * 1024 * 1024;
const PAUSE_MS = { first: 100, most: 2_000 };

export function createSinkLane(options: {
  /** Resolves with the offset of the first record; rejects with a LabError. */
  write(records: readonly OutgoingRecord[]): Promise<bigint>;
  closing: AbortSignal;
  onOutage?: (error: Error) => void;
}): SinkLane {
  let tail: Promise<unknown> = Promise.resolve();

  async function writeUntilDone(records: readonly OutgoingRecord[]): Promise<bigint> {
    for (let failures = 0; ; failures++) {
      try {
        return await options.write(records);
      } catch (error) {
        if (!isLabError(error) || !error.retryable) throw error;
        options.closing.throwIfAborted();
        options.onOutage?.(error);
        await sleep(Math.min(PAUSE_MS.most, PAUSE_MS.first * 2 ** failures), options.closing);
      }
    }
  }

  /** Halves what the broker refuses until the one record that is too large is alone. */
  async function sendPart(slice: Slice, result: SliceResult): Promise<void> {
    try {
      if (slice.records.length === 1 && sizeOf(slice.records[0]!) > SENDABLE_BYTES) throw tooLarge(slice);
      const baseOffset = await writeUntilDone(slice.records);
      result.acked.push({ baseOffset, count: slice.records.length });
    } catch (error) {
      if (!isLabError(error, "MESSAGE_TOO_LARGE") || slice.records.length === 1) {
        const failure = isLabError(error) ? error : (options.closing.reason as LabError);
        result.error ??= failure.code === "MESSAGE_TOO_LARGE" ? tooLarge(slice, failure) : failure;
        return;
      }
      const middle = slice.records.length >> 1;
      await sendPart(cut(slice, 0, middle), result);
      await sendPart(cut(slice, middle, slice.records.length), result);
    }
  }

  async function sendAll(slice: Slice): Promise<SliceResult> {
    const result: SliceResult = { acked: [], error: null };
    for (const part of parts(slice)) {
      // A later part must not overtake one that is lost: only a record that can never be sent is passed over.
      if (result.error !== null && result.error.code !== "MESSAGE_TOO_LARGE") break;
      await sendPart(part, result);
    }
    return result;
  }

  return {
    send(slice) {
      const mine = tail.then(() => sendAll(slice));
      tail = mine;
      return mine;
    },
  };
}

function* parts(slice: Slice): Generator<Slice> {
  let from = 0;
  let bytes = 0;
  for (let at = 0; at < slice.records.length; at++) {
    const size = sizeOf(slice.records[at]!);
    if (at > from && (bytes + size > BATCH_BYTES || at - from >= BATCH_RECORDS)) {
      yield cut(slice, from, at);
      from = at;
      bytes = 0;
    }
    bytes += size;
  }
  yield cut(slice, from, slice.records.length);
}

function cut({ records, indexes }: Slice, from: number, to: number): Slice {
  return { records: records.slice(from, to), indexes: indexes.slice(from, to) };
}

function sizeOf({ key, value, headers }: OutgoingRecord): number {
  let bytes = RECORD_OVERHEAD + lengthOf(key) + lengthOf(value);
  for (const [name, one] of Object.entries(headers ?? {})) {
    const values = typeof one === "string" || Buffer.isBuffer(one) ? [one] : one;
    for (const each of values) bytes += name.length + lengthOf(each);
  }
  return bytes;
}

function lengthOf(bytes: Buffer | string | null): number {
  return bytes === null ? 0 : Buffer.byteLength(bytes);
}

function tooLarge({ records, indexes }: Slice, cause?: LabError): LabError {
  const bytes = lengthOf(records[0]!.value);
  return new LabError("MESSAGE_TOO_LARGE", `the broker does not take a message of ${bytes} bytes`, {
    hint: RAISE_LIMIT,
    details: { index: indexes[0], bytes },
    cause,
  });
}
