/** What the suite works with: a broker, what is done to it besides using the ports, and topics of each test's own. */

import { randomUUID } from "node:crypto";
import type { TestContext } from "node:test";
import type { Admin, Kafka, OutgoingRecord } from "./ports.ts";

/** What the suite does to a broker besides using the ports. */
export type Bench = {
  kafka: Kafka;
  /** How long a silent member is kept by its group, in ms. */
  sessionMs: number;
  /** Writes records in one transaction and ends it. */
  transaction(topic: string, partition: number, values: string[], how: "commit" | "abort"): Promise<void>;
  /** Leaves a transaction with these open; resolves with what aborts it. */
  openTransaction(topic: string, partition: number, values: string[]): Promise<() => Promise<void>>;
  trim(topic: string, partition: number, before: bigint): Promise<void>;
  addPartitions(topic: string, total: number): Promise<void>;
  groupOffset(group: string, topic: string, partition: number): Promise<bigint | null>;
  /** A record with the headers a: 1, a: 2, b: null, as another client writes it. */
  foreignHeaders(topic: string): Promise<void>;
};

/** Adds one promise to the suite. */
export type Check = (
  promise: string,
  body: (t: TestContext, bench: Bench, admin: Admin) => Promise<void>,
) => void;

export async function newTopic(
  admin: Admin,
  partitions: number,
  config: Record<string, string> = {},
): Promise<string> {
  const topic = `suite-${randomUUID()}`;
  await admin.createTopic(topic, { partitions, config });
  return topic;
}

export async function openSink(t: TestContext, bench: Bench) {
  const sink = await bench.kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  return sink;
}

export async function send(t: TestContext, bench: Bench, topic: string, records: readonly OutgoingRecord[]) {
  return (await openSink(t, bench)).send(topic, records);
}

/** Records `from`, `from` + 1, ... of one partition. */
export function numbered(partition: number, from: number, count: number): OutgoingRecord[] {
  return Array.from({ length: count }, (_, n) => ({ partition, key: null, value: String(from + n) }));
}
