import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Acked, OutgoingRecord, Sink } from "../kafka/ports.ts";
import { steadyProducer } from "./steady.ts";

/** Takes a while for each request, and puts records where a broker would; `stray` puts them one place further. */
function fakeSink({ takesMs, stray = 0n }: { takesMs: number; stray?: bigint }) {
  const logs = new Map<number, number[]>();
  let [inFlight, mostInFlight] = [0, 0];
  const sink: Sink = {
    async send(_topic: string, records: readonly OutgoingRecord[]): Promise<Acked[]> {
      const acked = new Map<number, Acked>();
      for (const { partition = -1, timestampMs = Number.NaN } of records) {
        const log = logs.get(partition) ?? [];
        logs.set(partition, log);
        const range = acked.get(partition) ?? { partition, baseOffset: BigInt(log.length) + stray, count: 0 };
        acked.set(partition, { ...range, count: range.count + 1 });
        log.push(timestampMs);
      }
      inFlight += 1;
      mostInFlight = Math.max(mostInFlight, inFlight);
      await new Promise((resolve) => setTimeout(resolve, takesMs));
      inFlight -= 1;
      return [...acked.values()];
    },
    close: async () => {},
  };
  return { sink, logs, mostInFlight: () => mostInFlight };
}

const values = [Buffer.from("a"), Buffer.from("b")];
const options = { topic: "t", partitions: 3, rate: 1_000, values, now: Date.now };

test("messages are due at a steady rate, in turns over the partitions, however slow the broker is", async () => {
  const { sink, logs, mostInFlight } = fakeSink({ takesMs: 60 });
  const producer = steadyProducer({ ...options, sink });
  const until = new AbortController();
  const running = producer.run(until.signal);
  const deadline = Date.now() + 30_000;
  while (producer.sent() < 300 && Date.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 5));
  until.abort();
  await running;
  assert.ok(producer.sent() >= 300);
  assert.ok(mostInFlight() <= 4);
  const all = producer.created.flat();
  assert.equal(all.length, producer.sent());
  assert.deepEqual(
    [...logs.values()],
    producer.created.map((dues) => dues.map(Math.floor)),
  );
  // The first request is sent before the clock starts, as it also learns the way.
  const inOrder = all.sort((a, b) => a - b).slice(options.partitions);
  for (const [n, due] of inOrder.slice(1).entries()) assert.ok(Math.abs(due - inOrder[n]! - 1) < 1e-3);
});

test("a topic that holds other messages, or these in other places, is no result", async () => {
  const { sink } = fakeSink({ takesMs: 1, stray: 1n });
  const producer = steadyProducer({ ...options, sink });
  await assert.rejects(producer.run(new AbortController().signal), (error: unknown) =>
    isLabError(error, "INTERNAL"),
  );
});
