/** Batches on their way to the broker: a bounded number at a time, counted when they are acknowledged. */

import { AUDIT_HEADER, encodeSequence, encodeStamp, SEQUENCE_HEADER, type Stamp } from "../audit/header.ts";
import { isLabError, LabError } from "../core/errors.ts";
import type { Acked, OutgoingRecord, Sink } from "../kafka/ports.ts";
import type { Audited } from "./audited.ts";
import { keyFrom } from "./key.ts";
import type { Message } from "./source.ts";

export type ProduceTotals = {
  sent: number;
  /** Acknowledged by the broker. */
  acked: number;
  /** Value bytes acknowledged. */
  bytes: number;
  /** Acknowledged, per partition. */
  partitions: Map<number, number>;
};

export type Flight = {
  /** Aborts at the first failure, and when the run is told to stop. */
  stop: AbortSignal;
  /** Sets off at once, whether there is room or not. */
  send(batch: readonly Message[]): void;
  /** Another batch would be more than may be on its way. */
  readonly isFull: boolean;
  /** Resolves once there is room for another batch, or when the run stops. */
  room(): Promise<void>;
  /** Resolves when all are acknowledged; rejects with the first failure. */
  landed(): Promise<void>;
};

const MOST = { bytes: 8 * 1024 * 1024, batches: 64 };

export function createFlight(options: {
  sink: Sink;
  topic: string;
  origin: string;
  /** Place of the first message in what the origin sends. */
  from: number;
  /** Field of the JSON value that becomes the key. */
  key: string | undefined;
  /** Absent: messages are neither stamped nor counted. */
  audited: Audited | undefined;
  totals: ProduceTotals;
  /** The order to stop. */
  signal: AbortSignal;
  onProgress(totals: ProduceTotals): void;
}): Flight {
  const { sink, topic, origin, from, key, audited, totals } = options;
  const flying = new Set<Promise<void>>();
  const failed = new AbortController();
  const stop = AbortSignal.any([options.signal, failed.signal]);
  const stopped = new Promise<void>((resolve) =>
    stop.addEventListener("abort", () => resolve(), { once: true }),
  );
  let bytesInFlight = 0;
  let count = 0;

  function record(message: Message, at: number, stamp: Stamp | null): OutgoingRecord {
    const sequence = encodeSequence({ origin, n: from + at });
    return {
      key: key === undefined ? message.key : keyFrom(key, message),
      value: message.value,
      headers: {
        [SEQUENCE_HEADER]: sequence,
        ...(stamp ? { [AUDIT_HEADER]: encodeStamp(stamp) } : {}),
        ...message.headers,
      },
    };
  }

  function stampOf(message: Message): Stamp | null {
    const eventTimeMs = audited?.eventTime(message) ?? null;
    return audited && eventTimeMs !== null ? audited.tally.stamp(eventTimeMs) : null;
  }

  function addAcked(acked: readonly Acked[]): void {
    for (const { partition, count } of acked) {
      totals.acked += count;
      totals.partitions.set(partition, (totals.partitions.get(partition) ?? 0) + count);
    }
    options.onProgress(totals);
  }

  async function fly(batch: readonly Message[], bytes: number, first: number): Promise<void> {
    const stamps = batch.map(stampOf);
    const landed = (isLanded: (at: number) => boolean) =>
      stamps.forEach((stamp, at) => {
        if (stamp && isLanded(at)) audited?.tally.landed(stamp, batch[at]!.value);
      });
    try {
      const acked = await sink.send(
        topic,
        batch.map((message, at) => record(message, first + at, stamps[at] ?? null)),
      );
      totals.bytes += bytes;
      addAcked(acked);
      landed(() => true);
    } catch (error) {
      if (isLabError(error)) addAcked((error.details.acked as Acked[] | undefined) ?? []);
      // All others of its batch are sent.
      if (isLabError(error, "MESSAGE_TOO_LARGE")) landed((at) => at !== error.details.index);
      failed.abort(named(error, batch, first));
    } finally {
      bytesInFlight -= bytes;
    }
  }

  const isFull = () => flying.size >= MOST.batches || (bytesInFlight >= MOST.bytes && flying.size > 0);

  return {
    stop,
    get isFull() {
      return isFull();
    },
    async room() {
      while (!stop.aborted && isFull()) await Promise.race([...flying, stopped]);
    },
    send(batch) {
      const bytes = batch.reduce(
        (sum, { value }) => sum + (value === null ? 0 : Buffer.byteLength(value)),
        0,
      );
      const first = count;
      count += batch.length;
      bytesInFlight += bytes;
      const flown: Promise<void> = fly(batch, bytes, first).finally(() => flying.delete(flown));
      flying.add(flown);
    },
    async landed() {
      await Promise.all(flying);
      failed.signal.throwIfAborted();
    },
  };
}

/** Says which message is too large: a batch of many hides it. */
function named(error: unknown, batch: readonly Message[], first: number): unknown {
  if (!isLabError(error, "MESSAGE_TOO_LARGE")) return error;
  const { index, bytes } = error.details as { index: number; bytes: number };
  const { line } = batch[index] ?? {};
  const place = `message ${first + index + 1}${line === undefined ? "" : ` (line ${line})`}`;
  return new LabError("MESSAGE_TOO_LARGE", `${place} has ${bytes} bytes: ${error.message}`, {
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    details: { ...error.details, message: first + index + 1, ...(line === undefined ? {} : { line }) },
    cause: error,
  });
}
