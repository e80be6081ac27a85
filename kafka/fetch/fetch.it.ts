/** What a real broker says to our requests. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { sharedBroker } from "../../test/support/kafka.ts";
import { connectKafka } from "../client.ts";
import { type Broker, connectCluster, disconnect } from "../cluster.ts";
import { newClient } from "../connection.ts";
import { openReader } from "../reader.suite.ts";
import { FETCH } from "./fetch-api.ts";
import { METADATA } from "./metadata-api.ts";
import { readRange } from "./range.ts";
import { sendFetch, sendMetadata } from "./send.ts";
import { wholeAnswers } from "./whole-answers.ts";

async function optionsOfBroker() {
  return { brokers: await sharedBroker(), clientId: "it", connectTimeoutMs: 30_000 };
}

test("a broker answers every version of our requests that it speaks, and the records are the same", async (t) => {
  const options = await optionsOfBroker();
  const kafka = connectKafka(options);
  const topic = `versions-${randomUUID()}`;
  const admin = await kafka.admin();
  t.after(() => admin.close());
  await admin.createTopic(topic, { partitions: 2 });
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  await sink.send(topic, [{ key: "k", value: "v", headers: { h: "1" }, partition: 1, timestampMs: 5 }]);
  const connecting = connectCluster(newClient(options, wholeAnswers));
  t.after(() => disconnect(connecting));
  const broker = await (await connecting).brokerPool.findConnectedBroker();
  const spoken = await broker.apiVersions();
  const newest = Math.min(FETCH.newest, spoken[FETCH.apiKey]!.maxVersion);
  const oldest = Math.max(FETCH.oldest, spoken[FETCH.apiKey]!.minVersion);
  assert.ok(newest > oldest);
  for (let version = oldest; version <= newest; version++) {
    const speaks = (maxVersion: number) => ({ minVersion: 0, maxVersion });
    const limited = Object.create(broker, {
      apiVersions: {
        value: async () => ({
          [FETCH.apiKey]: speaks(version),
          [METADATA.apiKey]: speaks(version < newest ? METADATA.oldest : METADATA.newest),
        }),
      },
    }) as Broker;
    const [layout] = await sendMetadata(limited, [topic, "never-made"]);
    assert.equal(layout!.name, topic);
    assert.equal(layout!.id === null, version < newest, `version ${version}`);
    assert.deepEqual([...layout!.leaders.keys()].sort(), [0, 1]);
    const asked = { partition: 1, fetchOffset: 0n, maxBytes: 1 << 20 };
    const topics = [{ name: topic, id: layout!.id, partitions: [asked, { ...asked, partition: 0 }] }];
    const { partitions } = await sendFetch(limited, { maxWaitMs: 10, maxBytes: 1 << 20, topics });
    const found = partitions.find(({ partition }) => partition === 1)!;
    assert.deepEqual([found.topic, found.errorCode, found.lastStableOffset], [topic, 0, 1n]);
    for await (const { records } of readRange(found, 0n))
      assert.deepEqual(records.toArray(), [
        {
          ...{ offset: 0n, timestampMs: 5, key: Buffer.from("k"), value: Buffer.from("v") },
          headers: [["h", Buffer.from("1")]],
        },
      ]);
  }
});

test("records larger than a request may bring are read, beside partitions that are full of small ones", async (t) => {
  const kafka = connectKafka(await optionsOfBroker());
  const topic = `large-${randomUUID()}`;
  const admin = await kafka.admin();
  t.after(() => admin.close());
  await admin.createTopic(topic, { partitions: 3, config: { "max.message.bytes": String(8 << 20) } });
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  const large = "x".repeat(5 << 20);
  for (let n = 0; n < 3; n++) {
    await sink.send(topic, [{ key: null, value: `${n}${large}`, partition: 1 }]);
    for (const partition of [0, 2])
      await sink.send(
        topic,
        Array.from({ length: 30 }, () => ({ key: null, value: "y".repeat(50_000), partition })),
      );
  }
  const reader = openReader(t, kafka, { topic, group: topic });
  await reader.untilPosition(1, 3n);
  for (const partition of [0, 2]) await reader.untilPosition(partition, 90n);
  assert.deepEqual(
    reader.values(1).map((value) => [value?.[0], value?.length]),
    [0, 1, 2].map((n) => [String(n), large.length + 1]),
  );
  assert.deepEqual(reader.breaches, []);
});

test("two hundred partitions are read whole, and each in its order", async (t) => {
  const kafka = connectKafka(await optionsOfBroker());
  const topic = `wide-${randomUUID()}`;
  const admin = await kafka.admin();
  t.after(() => admin.close());
  await admin.createTopic(topic, { partitions: 200 });
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  const pad = "x".repeat(2_000);
  for (let round = 0; round < 10; round++)
    await sink.send(
      topic,
      Array.from({ length: 2_000 }, (_, n) => ({
        key: null,
        partition: n % 200,
        value: `${round * 10 + Math.floor(n / 200)} ${pad}`,
      })),
    );
  const reader = openReader(t, kafka, { topic, group: topic });
  for (let partition = 0; partition < 200; partition++) {
    await reader.untilPosition(partition, 100n);
    assert.deepEqual(
      reader.values(partition).map((value) => Number(value!.split(" ")[0])),
      Array.from({ length: 100 }, (_, n) => n),
    );
  }
  assert.deepEqual([reader.breaches, reader.outages], [[], []]);
});
