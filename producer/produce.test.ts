import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { decodeSequence } from "../audit/header.ts";
import { isLabError } from "../core/errors.ts";
import { fakeKafka } from "../kafka/fake.ts";
import type { RawRecord } from "../kafka/ports.ts";
import { until } from "../test/support/until.ts";
import { ndjsonSource, stdinSource } from "./file.ts";
import { type ProduceOptions, produce } from "./produce.ts";
import type { MessageSource } from "./source.ts";
import { throttle } from "./throttle.ts";

const numbers = (count: number, more: Partial<MessageSource> = {}): MessageSource => ({
  name: "numbers",
  isEndless: false,
  *messages(from) {
    for (let n = from; n < count; n++) yield { key: null, value: JSON.stringify({ n }) };
  },
  ...more,
});

function options(kafka: ReturnType<typeof fakeKafka>, more: Partial<ProduceOptions> = {}): ProduceOptions {
  const { signal } = new AbortController();
  return {
    kafka,
    topic: "t",
    source: numbers(10),
    partitions: 2,
    acks: "all",
    origin: "o",
    now: Date.now,
    signal,
    ...more,
  };
}

/** Everything the topic holds. */
async function read(kafka: ReturnType<typeof fakeKafka>): Promise<RawRecord[]> {
  const admin = await kafka.admin();
  const { signal } = new AbortController();
  const found: RawRecord[] = [];
  for (const [partition, { high }] of await admin.watermarks("t")) {
    for (let at = 0n; at < high; at++) {
      const record = await admin.recordAt({ topic: "t", partition, nextOffset: at }, signal);
      if (record) found.push(record);
    }
  }
  return found;
}

test("makes a missing topic, sends everything once, and counts by acknowledgements", async () => {
  const kafka = fakeKafka();
  const totals = await produce(options(kafka, { source: numbers(2500) }));
  assert.deepEqual([totals.sent, totals.acked], [2500, 2500]);
  assert.equal(
    [...totals.partitions.values()].reduce((sum, count) => sum + count, 0),
    2500,
  );
  const values = (await read(kafka)).map((record) => JSON.parse(String(record.value)).n as number);
  assert.deepEqual(
    values.sort((a, b) => a - b),
    Array.from({ length: 2500 }, (_, n) => n),
  );
});

test("each message carries its place in what this producer sent", async () => {
  const kafka = fakeKafka();
  await produce(options(kafka));
  const places = (await read(kafka)).map(({ headers }) => decodeSequence(String(headers[0]?.[1])));
  assert.deepEqual(
    places.map((place) => place?.n).sort((a, b) => (a ?? 0) - (b ?? 0)),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
  assert.ok(places.every((place) => place?.origin === "o"));
});

test("an endless source goes on where the topic stands; a file is sent whole", async () => {
  const kafka = fakeKafka();
  await produce(options(kafka, { source: numbers(10, { isEndless: true }), count: 4 }));
  await produce(options(kafka, { source: numbers(10, { isEndless: true }), count: 3 }));
  const values = (await read(kafka)).map((record) => JSON.parse(String(record.value)).n as number);
  assert.deepEqual(
    values.sort((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6],
  );
});

test("a stop in the middle ends in order: what was sent is acknowledged", async () => {
  const kafka = fakeKafka();
  const stopping = new AbortController();
  const endless = numbers(Number.POSITIVE_INFINITY, { isEndless: true });
  const running = produce(options(kafka, { source: endless, rate: 200, signal: stopping.signal }));
  await until(
    "some messages",
    async () => (await (await kafka.admin()).partitions("t")) && (await read(kafka)).length > 10,
  );
  stopping.abort();
  const totals = await running;
  assert.equal(totals.acked, totals.sent);
  assert.equal((await read(kafka)).length, totals.acked);
});

test("a pause between rounds is cut short by a stop", async () => {
  const kafka = fakeKafka();
  const stopping = new AbortController();
  const source = numbers(100, { pace: { every: 4, pauseMs: 60_000 } });
  const running = produce(options(kafka, { source, signal: stopping.signal }));
  await until(
    "one round",
    async () => (await (await kafka.admin()).partitions("t")) && (await read(kafka)).length === 4,
  );
  stopping.abort();
  assert.equal((await running).acked, 4);
});

test("a message over the broker's limit is named, and those before it are sent", async () => {
  const kafka = fakeKafka();
  kafka.createTopic("t", 1, { "max.message.bytes": "1000" });
  const source = numbers(0, {
    *messages() {
      yield { key: null, value: "small" };
      yield { key: null, value: "x".repeat(5000) };
    },
  });
  await assert.rejects(produce(options(kafka, { source })), (error) => {
    assert.ok(isLabError(error, "MESSAGE_TOO_LARGE"), String(error));
    assert.match(error.message, /message 2 has 5000 bytes/);
    return true;
  });
});

test("the message that is too large is named by its place and line, not by a guess", async (t) => {
  const kafka = fakeKafka();
  kafka.createTopic("t", 1, { "max.message.bytes": "1000" });
  const folder = await mkdtemp(join(tmpdir(), "lab-produce-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "a.ndjson");
  await writeFile(path, `{"a":1}\n\n"${"x".repeat(2000)}"\n"${"y".repeat(3000)}"\n`);
  await assert.rejects(produce(options(kafka, { source: ndjsonSource(path) })), (error) => {
    assert.ok(isLabError(error, "MESSAGE_TOO_LARGE"), String(error));
    assert.match(error.message, /^message 2 \(line 3\) has 2002 bytes/);
    return true;
  });
  assert.equal((await read(kafka)).length, 1);
});

test("after a kill that lost some in the middle, no index is used twice", async () => {
  const kafka = fakeKafka();
  kafka.createTopic("t", 2);
  for (const [partition, n] of [
    [0, 0],
    [0, 1],
    [1, 7],
  ] as const)
    kafka.append("t", partition, [
      { key: null, value: JSON.stringify({ n }), headers: { "lab-seq": `gone:${n}` } },
    ]);
  await produce(options(kafka, { source: numbers(100, { isEndless: true }), count: 2 }));
  const values = (await read(kafka)).map((record) => JSON.parse(String(record.value)).n as number);
  assert.deepEqual(
    values.sort((a, b) => a - b),
    [0, 1, 7, 8, 9],
  );
});

test("a message goes out while its source is quiet", async () => {
  const kafka = fakeKafka();
  const stopping = new AbortController();
  const stdin = new PassThrough();
  const source = stdinSource(stdin);
  const running = produce(options(kafka, { source, signal: stopping.signal }));
  stdin.write('{"n":1}\n');
  await until("the message", async () => {
    const admin = await kafka.admin();
    return (await admin.partitions("t")) !== null && (await read(kafka)).length === 1;
  });
  stopping.abort();
  assert.equal((await running).acked, 1, "and a stop ends the wait for the next");
});

test("what is asked for is sent without waiting for the end of a round's rest", async () => {
  const kafka = fakeKafka();
  const source = numbers(100, { pace: { every: 4, pauseMs: 60_000 } });
  assert.equal((await produce(options(kafka, { source, count: 4 }))).acked, 4);
});

test("an outage is waited out; a stop in it ends, and says that not all was acknowledged", async () => {
  const kafka = fakeKafka();
  const told: Error[] = [];
  const stopping = new AbortController();
  const endless = numbers(Number.POSITIVE_INFINITY, { isEndless: true });
  let acked = 0;
  const running = produce(
    options(kafka, {
      source: endless,
      rate: 1000,
      signal: stopping.signal,
      onOutage: (error) => void told.push(error),
      onProgress: (totals) => {
        acked = totals.acked;
      },
    }),
  );
  await until("a start", () => acked > 20, { everyMs: 5 });
  kafka.outage(true);
  await until("the outage told", () => told.length > 0, { everyMs: 5 });
  kafka.outage(false);
  const before = acked;
  await until("it goes on by itself", () => acked > before + 50, { everyMs: 5 });
  kafka.outage(true);
  const seen = told.length;
  await until("the second outage told", () => told.length > seen, { everyMs: 5 });
  stopping.abort();
  await assert.rejects(running, (error) => isLabError(error, "BROKER_UNREACHABLE"));
  kafka.outage(false);
  assert.equal((await read(kafka)).length, acked, "and the count is still right");
});

test("in an outage a source that is slow waits, too: what is on its way stays bounded", async () => {
  const kafka = fakeKafka();
  const stopping = new AbortController();
  const { sink } = kafka;
  kafka.sink = async (given) => ({ ...(await sink(given)), send: () => new Promise(() => {}) });
  let taken = 0;
  const slow = numbers(0, {
    isEndless: true,
    async *messages(_from, signal) {
      const value = "x".repeat(1 << 19);
      for (; !signal.aborted; taken++) {
        yield { key: null, value };
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
  });
  const running = produce(options(kafka, { source: slow, signal: stopping.signal }));
  running.catch(() => {});
  let before = -1;
  await until(
    "the source waits",
    () => {
      const isStill = taken === before;
      before = taken;
      return isStill && taken > 0;
    },
    { everyMs: 400 },
  );
  assert.ok(taken <= 24, `${taken} messages of 512 KiB were taken`);
  stopping.abort();
});

test("the throttle lets through what the rate allows, and no burst after a pause", () => {
  let nowMs = 0;
  const gate = throttle(100, () => nowMs);
  let taken = 0;
  for (; nowMs < 1000; nowMs += 5) taken += gate.take(1000);
  assert.ok(taken >= 95 && taken <= 101, `${taken}`);
  nowMs += 60_000;
  assert.ok(gate.take(1000) <= 10);
});
