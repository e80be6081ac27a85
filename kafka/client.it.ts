/** The adapter passes the suite on a real broker, and outlives what a broker can do to it. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import kafkajs from "kafkajs";
import { cacheFolder } from "../core/cache-folder.ts";
import { isLabError } from "../core/errors.ts";
import { kafkaClassPath } from "../services/kafka-jars.ts";
import { sharedBroker, startBroker } from "../test/support/kafka.ts";
import type { Bench } from "./bench.suite.ts";
import { connectKafka } from "./client.ts";
import { kafkaSuite } from "./kafka.suite.ts";
import type { FetchedBatch, Kafka } from "./ports.ts";
import { openReader, until } from "./reader.suite.ts";

const never = new AbortController().signal;

function kafkaAt(brokers: readonly string[], connectTimeoutMs = 30_000): Kafka {
  return connectKafka({ brokers, clientId: "it", connectTimeoutMs });
}

async function realBench(t: TestContext): Promise<Bench> {
  const brokers = await sharedBroker();
  const vendor = new kafkajs.Kafka({ brokers: [...brokers], logLevel: kafkajs.logLevel.NOTHING });
  const admin = vendor.admin();
  await admin.connect();
  t.after(() => admin.disconnect());

  async function begin(topic: string, partition: number, values: string[]) {
    const producer = vendor.producer({
      transactionalId: randomUUID(),
      maxInFlightRequests: 1,
      idempotent: true,
      createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    });
    await producer.connect();
    t.after(() => producer.disconnect());
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: values.map((value) => ({ partition, value })) });
    return transaction;
  }
  return {
    kafka: kafkaAt(brokers),
    sessionMs: 6_000,
    async transaction(topic, partition, values, how) {
      const transaction = await begin(topic, partition, values);
      await transaction[how]();
    },
    async openTransaction(topic, partition, values) {
      const transaction = await begin(topic, partition, values);
      return () => transaction.abort();
    },
    async trim(topic, partition, before) {
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] });
    },
    async addPartitions(topic, count) {
      await admin.createPartitions({ topicPartitions: [{ topic, count }] });
    },
    async groupOffset(groupId, topic, partition) {
      const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
      const offset = found?.partitions.find((one) => one.partition === partition)?.offset;
      return offset === undefined || offset === "-1" ? null : BigInt(offset);
    },
    foreignHeaders: (topic) => consoleProducer(brokers, topic, "a:1,a:2,b:NULL\tv\n"),
  };
}

/** Apache's own producer, with headers before the value. */
async function consoleProducer(brokers: readonly string[], topic: string, lines: string): Promise<void> {
  const classPath = await kafkaClassPath({ cacheDir: cacheFolder(), say: () => {}, signal: never });
  const properties = ["parse.headers=true", "null.marker=NULL"].flatMap((one) => ["--property", one]);
  const tool = ["-XX:TieredStopAtLevel=1", "-cp", classPath, "org.apache.kafka.tools.ConsoleProducer"];
  const child = spawn(
    "java",
    [...tool, "--bootstrap-server", brokers.join(","), "--topic", topic, ...properties],
    {
      stdio: ["pipe", "ignore", "pipe"],
    },
  );
  child.stdin.end(lines);
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    err += part;
  });
  const status = await new Promise((resolve, reject) => child.once("error", reject).once("close", resolve));
  assert.equal(status, 0, err.slice(-2000));
}

kafkaSuite("kafkajs", realBench);

test("batches that Apache's own code compressed are read, whatever the codec", async (t) => {
  const kafka = kafkaAt(await sharedBroker());
  const admin = await kafka.admin();
  t.after(() => admin.close());
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  const noise = Array.from({ length: 400 }, () => randomUUID()).join("");
  const values = Array.from({ length: 300 }, (_, n) =>
    n % 2 === 0 ? `${n} ${noise}` : `${n} ${"x".repeat(5_000)}`,
  );
  for (const codec of ["gzip", "snappy", "lz4", "zstd", "uncompressed"]) {
    const topic = `codec-${codec}-${randomUUID()}`;
    await admin.createTopic(topic, { partitions: 1, config: { "compression.type": codec } });
    await sink.send(
      topic,
      values.map((value) => ({ key: null, value })),
    );
    const reader = openReader(t, kafka, { topic, group: topic });
    await reader.untilPosition(0, 300n);
    assert.deepEqual(reader.values(0), values, codec);
    assert.equal(
      (await admin.recordAt({ topic, partition: 0, nextOffset: 7n }, never))?.value?.toString(),
      values[7],
    );
    await reader.source.close();
  }
});

test("batches that the sink compressed are read back", async (t) => {
  const kafka = kafkaAt(await sharedBroker());
  const topic = `gzip-${randomUUID()}`;
  const admin = await kafka.admin();
  t.after(() => admin.close());
  await admin.createTopic(topic, { partitions: 1 });
  const sink = await kafka.sink({ acks: "leader", idempotent: false, compression: "gzip" });
  t.after(() => sink.close());
  await sink.send(topic, [{ key: "k", value: "v".repeat(10_000) }]);
  const reader = openReader(t, kafka, { topic, group: topic });
  await reader.untilPosition(0, 1n);
  assert.equal(reader.values(0)[0], "v".repeat(10_000));
});

test("a batch that cannot be unpacked is fatal and says so, instead of being tried for ever", async (t) => {
  const kafka = kafkaAt(await sharedBroker());
  const topic = `broken-${randomUUID()}`;
  const admin = await kafka.admin();
  t.after(() => admin.close());
  await admin.createTopic(topic, { partitions: 1, config: { "compression.type": "zstd" } });
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  await sink.send(topic, [{ key: null, value: "v" }]);
  // The next batch arrives cut short: the codec is in the client's table, and is given less than was sent.
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  const whole = CompressionCodecs[CompressionTypes.ZSTD];
  t.after(() => {
    CompressionCodecs[CompressionTypes.ZSTD] = whole;
  });
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: async ({ buffer }: { buffer: Buffer }) => buffer,
    decompress: (packed: Buffer) => whole().decompress(packed.subarray(0, packed.length - 3)),
  });
  const reader = openReader(t, kafka, { topic, group: topic });
  await reader.running;
  assert.deepEqual(reader.outages, []);
  assert.ok(isLabError(reader.fatals[0], "CODEC_UNSUPPORTED"));
  assert.match(reader.fatals[0].message, /zstd/i);
});

test("a bug inside the client ends it for good, and a new one goes on where the last stood", async (t) => {
  const kafka = kafkaAt(await sharedBroker());
  const topic = `bug-${randomUUID()}`;
  const admin = await kafka.admin();
  t.after(() => admin.close());
  await admin.createTopic(topic, { partitions: 1, config: { "compression.type": "lz4" } });
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  const reader = openReader(t, kafka, { topic, group: topic });
  await sink.send(topic, [{ key: null, value: "0" }]);
  await reader.untilPosition(0, 1n);
  // kafkajs restarts after no TypeError: it stays dead, and nobody hears of it.
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  const whole = CompressionCodecs[CompressionTypes.LZ4];
  const restore = () => {
    CompressionCodecs[CompressionTypes.LZ4] = whole;
  };
  t.after(restore);
  CompressionCodecs[CompressionTypes.LZ4] = () => {
    restore();
    throw new TypeError("undefined is not a function");
  };
  await sink.send(topic, [{ key: null, value: "1" }]);
  await reader.untilPosition(0, 2n);
  assert.deepEqual(reader.values(0), ["0", "1"]);
  assert.match(String(reader.outages[0]), /undefined is not a function/);
  assert.ok(reader.assigned.length >= 2);
  assert.deepEqual([reader.breaches, reader.fatals], [[], []]);
});

test("a batch that stays damaged is fatal after a few tries, though other partitions flow, and what is before it is read", async (t) => {
  const kafka = kafkaAt(await sharedBroker());
  const topic = `stuck-${randomUUID()}`;
  const admin = await kafka.admin();
  t.after(() => admin.close());
  await admin.createTopic(topic, { partitions: 2, config: { "compression.type": "lz4" } });
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  for (const value of ["good", "bad ".repeat(2_000), "behind"])
    await sink.send(topic, [{ key: null, value, partition: 1 }]);
  const { CompressionCodecs, CompressionTypes } = kafkajs;
  const whole = CompressionCodecs[CompressionTypes.LZ4];
  t.after(() => {
    CompressionCodecs[CompressionTypes.LZ4] = whole;
  });
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    ...whole(),
    async decompress(packed: Buffer) {
      const records: Buffer = await whole().decompress(packed);
      return records.length > 5_000 ? records.subarray(1) : records;
    },
  });
  let sent = 0;
  const reader = openReader(t, kafka, {
    topic,
    group: topic,
    from: (partition) => (partition === 0 ? BigInt(sent) : 0n),
  });
  const flowing = setInterval(() => {
    void sink.send(topic, [{ key: null, value: String(sent++), partition: 0 }]).catch(() => {});
  }, 50);
  t.after(() => clearInterval(flowing));
  await reader.running;
  assert.match(
    String(reader.fatals[0]),
    /-1 cannot be read from offset 1 on: the batch at offset 1 is damaged/,
  );
  assert.equal(reader.outages.length, 3);
  assert.deepEqual([...new Set(reader.values(1))], ["good"]);
  assert.ok(reader.values(0).length > 0);
});

test("a topic that is made anew under a reader is told, and begins a new assignment instead of being read on", async (t) => {
  const kafka = kafkaAt(await sharedBroker());
  const topic = `anew-${randomUUID()}`;
  const admin = await kafka.admin();
  t.after(() => admin.close());
  const send = async (count: number, text: string) => {
    const sink = await kafka.sink({ acks: "all", idempotent: true });
    await sink.send(
      topic,
      Array.from({ length: count }, (_, n) => ({ key: null, value: `${text} ${n}` })),
    );
    await sink.close();
  };
  await admin.createTopic(topic, { partitions: 1 });
  await send(3, "old");
  let start = 0n;
  const reader = openReader(t, kafka, { topic, group: topic, from: () => start });
  await reader.untilPosition(0, 3n);
  start = 1n;
  await admin.deleteTopic(topic);
  await admin.createTopic(topic, { partitions: 1 });
  await send(9, "new");
  await until("the new one", () => reader.values(0).length === 11);
  // From where the new assignment was started, not from where the old one stood.
  assert.deepEqual(
    reader.values(0).slice(3),
    [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `new ${n}`),
  );
  assert.ok(reader.outages.some((error) => isLabError(error, "TOPIC_MISSING")));
  assert.ok(reader.assigned.length >= 2);
  assert.deepEqual([reader.breaches, reader.fatals], [[], []]);
});

test("a member that was thrown out of its group while it was stuck joins again, and each record is handled once", async (t) => {
  const kafka = kafkaAt(await sharedBroker());
  const topic = `expelled-${randomUUID()}`;
  const admin = await kafka.admin();
  t.after(() => admin.close());
  await admin.createTopic(topic, { partitions: 2 });
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  const reader = openReader(t, kafka, { topic, group: topic, sessionTimeoutMs: 1_000, heartbeatMs: 200 });
  await until("the assignment", () => reader.partitions().length === 2);
  for (let n = 0; n < 3; n++) {
    const before = reader.assigned.length;
    await sink.send(
      topic,
      [0, 1].map((partition) => ({ partition, key: null, value: String(n) })),
    );
    // Nothing of this process runs, heartbeats neither, until long after the session is over.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_800);
    await until(
      "another assignment",
      () => reader.assigned.length > before && reader.partitions().length === 2,
    );
    for (const partition of [0, 1]) await reader.untilPosition(partition, BigInt(n + 1));
  }
  for (const partition of [0, 1]) assert.deepEqual(reader.values(partition), ["0", "1", "2"]);
  assert.deepEqual([reader.breaches, reader.fatals], [[], []]);
});

test("members that come and go under load stop nobody: everything is read, and no partition stands still", async (t) => {
  const kafka = kafkaAt(await sharedBroker());
  const topic = `churn-${randomUUID()}`;
  const admin = await kafka.admin();
  t.after(() => admin.close());
  await admin.createTopic(topic, { partitions: 4 });
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  const positions = new Map<number, bigint>();
  const values = new Set<string>();
  const options = {
    topic,
    group: topic,
    from: (partition: number) => positions.get(partition) ?? 0n,
    onBatch({ partition, nextOffset, records }: FetchedBatch) {
      const known = positions.get(partition) ?? 0n;
      if (nextOffset > known) positions.set(partition, nextOffset);
      for (const { value } of records.toArray()) values.add(String(value));
    },
  };
  const readers = [openReader(t, kafka, options)];
  let sent = 0;
  for (let round = 0; round < 12; round++) {
    const records = Array.from({ length: 200 }, (_, n) => ({
      ...{ key: null, partition: n % 4, value: String(sent + n) },
    }));
    await sink.send(topic, records);
    sent += records.length;
    if (round % 2 === 0) readers.push(openReader(t, kafka, options));
    else if (round % 4 === 1) await readers.shift()?.source.close();
    else void readers[0]?.source.rejoin();
    await until("something of it", () => values.size > sent - 1_000);
  }
  await until("all of it", () => values.size === sent);
  assert.deepEqual(
    readers.flatMap(({ fatals, breaches }) => [...fatals, ...breaches]),
    [],
  );
});

test("no broker at the address is BROKER_UNREACHABLE within the time allowed", async (t) => {
  const sockets = new Set<Socket>();
  const mute = createServer((socket) => void sockets.add(socket.on("error", () => {})));
  await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    mute.close();
  });
  const port = (mute.address() as { port: number }).port;
  for (const address of ["127.0.0.1:1", `127.0.0.1:${port}`]) {
    const kafka = kafkaAt([address], 1_500);
    const began = Date.now();
    const isUnreachable = (error: unknown) =>
      isLabError(error, "BROKER_UNREACHABLE") && error.message.includes(address);
    await Promise.all([
      assert.rejects(kafka.admin(), isUnreachable),
      assert.rejects(kafka.sink({ acks: "all", idempotent: true }), isUnreachable),
      assert.rejects(openReader(t, kafka, { topic: "t", group: "g" }).running, isUnreachable),
    ]);
    assert.ok(Date.now() - began < 12_000, `${Date.now() - began} ms for ${address}`);
  }
});

test("close during the first join does not hang, and leaves no ghost in the group", async (t) => {
  const kafka = kafkaAt(await sharedBroker());
  const topic = `join-${randomUUID()}`;
  const admin = await kafka.admin();
  t.after(() => admin.close());
  await admin.createTopic(topic, { partitions: 2 });
  for (const waitMs of [0, 20, 60, 150]) {
    const source = kafka.source({ topics: [topic], group: topic });
    const running = source.run({
      assigned() {},
      revoked() {},
      async batch() {},
      outage() {},
      fatal: (error) => assert.fail(error),
    });
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    const began = Date.now();
    await source.close();
    await running;
    assert.ok(Date.now() - began < 4_000);
  }
  const began = Date.now();
  const reader = openReader(t, kafka, { topic, group: topic });
  await until("both partitions", () => reader.partitions().length === 2);
  assert.ok(Date.now() - began < 5_000, `no ghost is waited for: ${Date.now() - began} ms`);
});

test("a broker that is killed and comes back: readers and writers go on by themselves, nothing lost or doubled", async (t) => {
  const broker = await startBroker(t);
  const kafka = kafkaAt(broker.brokers);
  const topic = "outage";
  const admin = await kafka.admin();
  t.after(() => admin.close());
  await admin.createTopic(topic, { partitions: 2 });
  const outages: Error[] = [];
  const sink = await kafka.sink({
    acks: "all",
    idempotent: true,
    onOutage: (error) => void outages.push(error),
  });
  t.after(() => sink.close());
  const reader = openReader(t, kafka, { topic, group: "g" });

  let sent = 0;
  let isSending = true;
  const producing = (async () => {
    while (isSending) {
      const records = Array.from({ length: 10 }, (_, n) => ({
        key: null,
        partition: n % 2,
        value: String(sent + n),
      }));
      await sink.send(topic, records);
      sent += 10;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  await until("a good start", () => reader.records(0).length > 100);
  await broker.kill();
  await until("the outage told by both", () => outages.length > 0 && reader.outages.length > 0);
  assert.ok(isLabError(reader.outages[0], "BROKER_UNREACHABLE"));
  const before = sent;
  await broker.restart();
  await until("sending goes on", () => sent > before + 200, 60_000);
  isSending = false;
  await producing;
  const ends = await admin.watermarks(topic);
  for (const partition of [0, 1]) {
    await reader.untilPosition(partition, ends.get(partition)!.high);
    const expected = Array.from({ length: sent }, (_, n) => n).filter((n) => n % 2 === partition);
    assert.deepEqual(reader.values(partition), expected.map(String));
  }
  assert.deepEqual(reader.breaches, []);
  assert.deepEqual(reader.fatals, []);
});
