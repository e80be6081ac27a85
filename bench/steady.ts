/** A producer at a steady rate that knows when each message was due. */

import { setTimeout as delay } from "node:timers/promises";
import { LabError } from "../core/errors.ts";
import type { Sink } from "../kafka/ports.ts";

export type SteadyOptions = {
  sink: Sink;
  topic: string;
  partitions: number;
  /** Messages a second. */
  rate: number;
  /** Taken in turns. */
  values: readonly Buffer[];
  now: () => number;
};

export type Steady = {
  /** When the message at each offset was due, ms since the epoch, by partition: the topic is the producer's alone. */
  created: readonly number[][];
  /** From a request to the broker's acknowledgement, ms. */
  ackMs: readonly number[];
  sent(): number;
  /** Sends until `until` aborts; resolves when the broker has all of it. INTERNAL where it gave them other places than we count. */
  run(until: AbortSignal): Promise<void>;
};

/** What has become due is sent this often, ms, with so many requests on their way at most: what has no room goes with the next. */
const STEP_MS = 10;
const IN_FLIGHT = 4;

/** Makes nothing yet. */
export function steadyProducer({ sink, topic, partitions, rate, values, now }: SteadyOptions): Steady {
  const created: number[][] = Array.from({ length: partitions }, () => []);
  const ackMs: number[] = [];
  let sent = 0;

  async function sendDue(count: number, startedMs: number): Promise<void> {
    const records = Array.from({ length: count }, () => {
      const partition = sent % partitions;
      const value = values[sent % values.length] as Buffer;
      const dueMs = startedMs + (sent * 1000) / rate;
      sent += 1;
      created[partition]!.push(dueMs);
      return { key: null, value, partition, timestampMs: Math.floor(dueMs) };
    });
    const expected = created.map((all) => BigInt(all.length));
    const handedMs = now();
    const acked = await sink.send(topic, records);
    for (const partition of new Set(acked.map((one) => one.partition))) {
      const ends = acked.filter((one) => one.partition === partition);
      const end = ends.reduce((most, { baseOffset, count }) => max(most, baseOffset + BigInt(count)), 0n);
      if (end !== expected[partition])
        throw new LabError(
          "INTERNAL",
          `partition ${partition} ends at ${end}, of ${expected[partition]} messages`,
        );
    }
    ackMs.push(now() - handedMs);
  }

  return {
    created,
    ackMs,
    sent: () => sent,
    async run(until) {
      // Alone, until the sink has learnt where a new topic's partitions are.
      await sendDue(partitions, now());
      const startedMs = now() - (sent * 1000) / rate;
      const inFlight = new Set<Promise<void>>();
      const failed = new AbortController();
      while (!until.aborted && !failed.signal.aborted) {
        const due = Math.floor(((now() - startedMs) * rate) / 1000) - sent;
        if (due > 0 && inFlight.size < IN_FLIGHT) {
          const sending = sendDue(due, startedMs).finally(() => inFlight.delete(sending));
          sending.catch((error: unknown) => failed.abort(error));
          inFlight.add(sending);
        }
        await delay(STEP_MS);
      }
      await Promise.allSettled(inFlight);
      failed.signal.throwIfAborted();
    },
  };
}

const max = (a: bigint, b: bigint) => (a > b ? a : b);
