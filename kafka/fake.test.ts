/** The fake passes the suite, and its own switches do what they say. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Bench } from "./bench.suite.ts";
import { fakeKafka } from "./fake.ts";
import { kafkaSuite } from "./kafka.suite.ts";
import { openReader, until } from "./reader.suite.ts";

async function fakeBench(): Promise<Bench> {
  const kafka = fakeKafka({ mostRecordsPerBatch: 20 });
  const write = (topic: string, partition: number, values: string[]) => {
    const transaction = kafka.transaction(topic);
    transaction.append(
      partition,
      values.map((value) => ({ key: null, value })),
    );
    return transaction;
  };
  return {
    kafka,
    sessionMs: 1_000,
    async transaction(topic, partition, values, how) {
      write(topic, partition, values)[how]();
    },
    async openTransaction(topic, partition, values) {
      const transaction = write(topic, partition, values);
      return async () => transaction.abort();
    },
    trim: async (topic, partition, before) => kafka.trim(topic, partition, before),
    addPartitions: async (topic, total) => kafka.addPartitions(topic, total),
    groupOffset: async (group, topic, partition) => kafka.groupOffset(group, { topic, partition }),
    async foreignHeaders(topic) {
      const headers = [
        ["a", Buffer.from("1")] as const,
        ["a", Buffer.from("2")] as const,
        ["b", null] as const,
      ];
      kafka.appendRaw(topic, 0, { timestampMs: 1, key: null, value: Buffer.from("v"), headers });
    },
  };
}

kafkaSuite("fake", fakeBench);

test("an outage is told, new work waits, and a new assignment follows it", async (t) => {
  const kafka = fakeKafka();
  kafka.createTopic("t", 1);
  const admin = await kafka.admin();
  const reader = openReader(t, kafka, { topic: "t", group: "g" });
  await until("the assignment", () => reader.partitions().length === 1);
  const told: Error[] = [];
  const sink = await kafka.sink({
    acks: "all",
    idempotent: true,
    onOutage: (error) => void told.push(error),
  });

  kafka.outage(true);
  const sending = sink.send("t", [{ key: null, value: "v" }]);
  await assert.rejects(admin.topics(), (error) => isLabError(error, "BROKER_UNREACHABLE"));
  await assert.rejects(kafka.admin(), (error) => isLabError(error, "BROKER_UNREACHABLE"));
  assert.deepEqual(reader.partitions(), []);
  assert.ok(isLabError(reader.outages[0], "BROKER_UNREACHABLE"));

  kafka.outage(false);
  await sending;
  await reader.untilPosition(0, 1n);
  assert.equal(reader.assigned.length, 2);
  assert.equal(told.length, 1);
  assert.deepEqual(reader.breaches, []);
});

test("a batch from elsewhere, and a client that moves by itself, show in fetchedOffset", async (t) => {
  const kafka = fakeKafka({ mostRecordsPerBatch: 1 });
  kafka.createTopic("t", 1);
  for (const value of ["0", "1", "2", "3"]) kafka.append("t", 0, [{ key: null, value }]);
  const reader = openReader(t, kafka, { topic: "t", group: "g" });
  await reader.untilPosition(0, 4n);
  await kafka.misdeliver({ topic: "t", partition: 0, nextOffset: 1n });
  kafka.drift({ topic: "t", partition: 0, nextOffset: 2n });
  await until("two strays and what follows them", () => reader.refused.length === 3);
  assert.deepEqual(
    reader.refused.map(({ fetchedOffset }) => fetchedOffset),
    [1n, 2n, 3n],
  );
  assert.equal(reader.values(0).length, 4);
});

test("a batch of an older generation can be slipped in", async (t) => {
  const kafka = fakeKafka();
  kafka.createTopic("t", 1);
  kafka.append("t", 0, [{ key: null, value: "0" }]);
  const reader = openReader(t, kafka, { topic: "t", group: "g" });
  await reader.untilPosition(0, 1n);
  kafka.rebalance("g");
  await until("the second assignment", () => reader.assigned.length === 2);
  await kafka.misdeliver({ topic: "t", partition: 0, nextOffset: 0n }, 1);
  assert.match(reader.breaches[0] ?? "", /generation 1 came while 2 runs/);
});

test("compaction leaves gaps that the position passes", async (t) => {
  const kafka = fakeKafka();
  kafka.createTopic("t", 1);
  kafka.append(
    "t",
    0,
    Array.from({ length: 6 }, (_, n) => ({ key: null, value: String(n) })),
  );
  kafka.compact("t", 0, [0n, 1n, 3n]);
  const reader = openReader(t, kafka, { topic: "t", group: "g" });
  await reader.untilPosition(0, 6n);
  assert.deepEqual(reader.values(0), ["2", "4", "5"]);
  assert.deepEqual(
    reader.records(0).map(({ offset }) => offset),
    [2n, 4n, 5n],
  );
});
