/** Writes records: in order within a partition, each once while this sink lives, outages waited out. */

import { LabError } from "../core/errors.ts";
import { retry } from "../core/retry.ts";
import { openBrokerAccess } from "./broker-access.ts";
import { classify, WRITER } from "./failures.ts";
import { firstContact } from "./first-contact.ts";
import { placeOf } from "./partitioner.ts";
import type { Acked, KafkaOptions, OutgoingRecord, Sink, SinkOptions } from "./ports.ts";
import { createSinkLane, type SinkLane, type Slice } from "./sink-lane.ts";
import { createTopicWriter, type TopicWriter } from "./topic-writer.ts";

/** How long a partition count is believed. */
const COUNT_AGE_MS = 10_000;
const CLOSE_MS = 5_000;

/** Makes the first contact; BROKER_UNREACHABLE if nothing answers in `connectTimeoutMs`. */
export async function openSink(kafka: KafkaOptions, options: SinkOptions): Promise<Sink> {
  const access = openBrokerAccess(kafka);
  await firstContact(access, kafka);
  const closing = new AbortController();
  const writers = new Map<string, TopicWriter>();
  const lanes = new Map<string, SinkLane>();
  const counts = new Map<string, { count: Promise<number>; at: number }>();
  const inFlight = new Set<Promise<unknown>>();
  let turn = 0;

  /** One question at a time for a topic: sends that each asked for themselves could go on in another order than they came. */
  function partitionCount(topic: string): Promise<number> {
    const known = counts.get(topic);
    if (known !== undefined && Date.now() - known.at < COUNT_AGE_MS) return known.count;
    const onFailure = (error: unknown) => options.onOutage?.(error as Error);
    const asked = retry(() => access.partitions(topic), { signal: closing.signal, maxMs: 2_000, onFailure });
    const entry = { count: asked.then((partitions) => partitions.length), at: Number.POSITIVE_INFINITY };
    counts.set(topic, entry);
    entry.count.then(
      () => {
        entry.at = Date.now();
      },
      () => counts.delete(topic),
    );
    return entry.count;
  }

  function laneOf(topic: string, partition: number): SinkLane {
    const name = `${partition}/${topic}`;
    let lane = lanes.get(name);
    if (lane === undefined) {
      const writer = writers.get(topic) ?? createTopicWriter(kafka, options, topic);
      writers.set(topic, writer);
      lane = createSinkLane({
        write: (records) => writer.write(partition, records),
        closing: closing.signal,
        ...options,
      });
      lanes.set(name, lane);
    }
    return lane;
  }

  async function send(topic: string, records: readonly OutgoingRecord[]): Promise<Acked[]> {
    if (records.length === 0) return [];
    const count = await partitionCount(topic);
    turn += 1;
    const byPartition = new Map<number, Slice>();
    records.forEach((record, index) => {
      const partition = placeOf(record, count, turn);
      const slice = byPartition.get(partition) ?? { records: [], indexes: [] };
      byPartition.set(partition, slice);
      slice.records.push(record);
      slice.indexes.push(index);
    });
    const sent = [...byPartition].map(([partition, slice]) => laneOf(topic, partition).send(slice));
    const settled = await Promise.all(sent);
    const acked = [...byPartition.keys()].flatMap((partition, at) =>
      settled[at]!.acked.map((range) => ({ partition, ...range })),
    );
    const failure = settled.find((one) => one.error !== null)?.error ?? null;
    if (failure === null) return acked;
    if (failure.code === "TOPIC_MISSING") counts.delete(topic);
    throw new LabError(failure.code, failure.message, {
      ...(failure.hint === undefined ? {} : { hint: failure.hint }),
      details: { ...failure.details, acked },
      cause: failure,
    });
  }

  return {
    async send(topic, records) {
      if (closing.signal.aborted) throw new LabError("INTERNAL", "the sink is closed");
      const sending = send(topic, records).catch((cause) => {
        throw classify(closing.signal.aborted ? (closing.signal.reason ?? cause) : cause, {
          ...kafka,
          topic,
          rights: WRITER,
        });
      });
      inFlight.add(sending);
      try {
        return await sending;
      } finally {
        inFlight.delete(sending);
      }
    },
    async close() {
      const drained = Promise.allSettled(inFlight);
      const timer = setTimeout(() => closing.abort(closedDuringOutage()), CLOSE_MS);
      await drained;
      clearTimeout(timer);
      closing.abort(closedDuringOutage());
      await Promise.all([...writers.values()].map((writer) => writer.close()));
      await access.close();
    },
  };
}

function closedDuringOutage(): LabError {
  return new LabError(
    "BROKER_UNREACHABLE",
    "the sink was closed before the broker acknowledged what was sent",
  );
}
