/** What every way into Kafka must do: run on the fake in memory and on the adapter with a real broker. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isLabError } from "../core/errors.ts";
import { murmur2 } from "./partitioner.ts";
import type { Admin, Kafka, OutgoingRecord } from "./ports.ts";
import { openReader, until } from "./suite-reader.ts";

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

const never = new AbortController().signal;

export function kafkaSuite(name: string, openBench: (t: TestContext) => Promise<Bench>): void {
  const check = (promise: string, body: (t: TestContext, bench: Bench, admin: Admin) => Promise<void>) =>
    test(`${name}: ${promise}`, async (t) => {
      const bench = await openBench(t);
      const admin = await bench.kafka.admin();
      t.after(() => admin.close());
      await body(t, bench, admin);
    });

  check(
    "order, keys, values, timestamps and headers of a partition arrive as sent",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 2);
      const records: OutgoingRecord[] = [
        { partition: 1, key: "k", value: "text", timestampMs: 1_700_000_000_123 },
        { partition: 1, key: null, value: null, timestampMs: 1_700_000_000_124 },
        { partition: 1, key: "", value: "", timestampMs: 1_600_000_000_000 },
        {
          partition: 1,
          key: Buffer.from([0, 255, 128]),
          value: Buffer.from([0xff, 0xfe, 0]),
          timestampMs: 1_700_000_000_126,
        },
        {
          partition: 1,
          key: "h",
          value: "ä€😀",
          headers: { once: "1", twice: ["x", Buffer.from([0])], empty: "" },
          timestampMs: 1,
        },
      ];
      const acked = await send(t, bench, topic, records);
      assert.deepEqual(acked, [{ partition: 1, baseOffset: 0n, count: 5 }]);

      const reader = openReader(t, bench.kafka, { topic, group: topic });
      await reader.untilPosition(1, 5n);
      const got = reader.records(1);
      assert.deepEqual(
        got.map(({ offset }) => offset),
        [0n, 1n, 2n, 3n, 4n],
      );
      assert.deepEqual(
        got.map(({ timestampMs }) => timestampMs),
        records.map(({ timestampMs }) => timestampMs),
      );
      assert.deepEqual(
        got.map(({ key }) => key),
        [Buffer.from("k"), null, Buffer.alloc(0), Buffer.from([0, 255, 128]), Buffer.from("h")],
      );
      assert.deepEqual(
        got.map(({ value }) => value),
        [Buffer.from("text"), null, Buffer.alloc(0), Buffer.from([255, 254, 0]), Buffer.from("ä€😀")],
      );
      assert.deepEqual(got[0]!.headers, []);
      assert.deepEqual(got[4]!.headers, [
        ["once", Buffer.from("1")],
        ["twice", Buffer.from("x")],
        ["twice", Buffer.from([0])],
        ["empty", Buffer.alloc(0)],
      ]);
      assert.ok(reader.taken.every(({ timestampType }) => timestampType === "create"));
      assert.deepEqual(reader.breaches, []);
    },
  );

  check("headers of other clients keep doubled names and null values", async (t, bench, admin) => {
    const topic = await newTopic(admin, 1);
    await bench.foreignHeaders(topic);
    const reader = openReader(t, bench.kafka, { topic, group: topic });
    await reader.untilPosition(0, 1n);
    assert.deepEqual(reader.records(0)[0]!.headers, [
      ["a", Buffer.from("1")],
      ["a", Buffer.from("2")],
      ["b", null],
    ]);
  });

  check("many batches lie end to end, and each partition keeps its order", async (t, bench, admin) => {
    const topic = await newTopic(admin, 3);
    const sink = await openSink(t, bench);
    const sends = Array.from({ length: 30 }, (_, round) =>
      sink.send(
        topic,
        Array.from({ length: 100 }, (_, n) => ({ key: null, partition: n % 3, value: `${round * 100 + n}` })),
      ),
    );
    await Promise.all(sends);
    const reader = openReader(t, bench.kafka, { topic, group: topic });
    const { high } = (await admin.watermarks(topic)).get(0)!;
    assert.equal(high, 30n * 34n);
    for (const partition of [0, 1, 2]) {
      const end = (await admin.watermarks(topic)).get(partition)!.high;
      await reader.untilPosition(partition, end);
      const expected = Array.from({ length: 3000 }, (_, n) => n).filter((n) => (n % 100) % 3 === partition);
      assert.deepEqual(reader.values(partition), expected.map(String));
    }
    assert.deepEqual(reader.breaches, []);
    assert.deepEqual(reader.refused, []);
  });

  check("records with a key go where Java's client puts them", async (t, bench, admin) => {
    const topic = await newTopic(admin, 5);
    const keys = Array.from({ length: 40 }, (_, n) => `key ${n}`);
    await send(
      t,
      bench,
      topic,
      keys.map((key) => ({ key, value: key })),
    );
    const reader = openReader(t, bench.kafka, { topic, group: topic });
    const ends = await admin.watermarks(topic);
    for (const [partition, { high }] of ends) {
      await reader.untilPosition(partition, high);
      const expected = keys.filter((key) => (murmur2(Buffer.from(key)) & 0x7fffffff) % 5 === partition);
      assert.deepEqual(reader.values(partition), expected);
    }
  });

  check("the broker's timestamps are told from the producer's", async (t, bench, admin) => {
    const topic = await newTopic(admin, 1, { "message.timestamp.type": "LogAppendTime" });
    const before = Date.now();
    await send(t, bench, topic, [{ key: null, value: "v", timestampMs: 1_600_000_000_000 }]);
    const reader = openReader(t, bench.kafka, { topic, group: topic });
    await reader.untilPosition(0, 1n);
    assert.equal(reader.taken[0]!.timestampType, "append");
    assert.ok(reader.records(0)[0]!.timestampMs >= before - 1000);
  });

  check(
    "an assignment starts exactly where it is told, whatever the group's own offset says",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 3);
      for (const partition of [0, 1, 2]) await send(t, bench, topic, numbered(partition, 0, 10));
      const other = openReader(t, bench.kafka, { topic, group: topic });
      await other.untilPosition(2, 10n);
      await other.source.publishOffsets(
        [9n, 2n].map((nextOffset, partition) => ({ topic, partition, nextOffset })),
      );
      assert.equal(await bench.groupOffset(topic, topic, 0), 9n);
      await other.source.close();
      const starts = [4n, 10n, 0n];
      const reader = openReader(t, bench.kafka, {
        topic,
        group: topic,
        from: (partition) => starts[partition]!,
        startAfterMs: 60,
      });
      await reader.untilPosition(0, 10n);
      await reader.untilPosition(2, 10n);
      await send(t, bench, topic, [{ partition: 1, key: null, value: "new" }]);
      await reader.untilPosition(1, 11n);
      assert.deepEqual(reader.values(0), ["4", "5", "6", "7", "8", "9"]);
      assert.deepEqual(reader.values(1), ["new"]);
      assert.equal(reader.values(2).length, 10);
      assert.deepEqual(reader.refused, []);
      assert.deepEqual(reader.breaches, []);
    },
  );

  check("a start outside the log is told, and nothing is read until a seek", async (t, bench, admin) => {
    const topic = await newTopic(admin, 2);
    await send(t, bench, topic, [...numbered(0, 0, 10), ...numbered(1, 0, 10)]);
    await bench.trim(topic, 0, 6n);
    const reader = openReader(t, bench.kafka, {
      topic,
      group: topic,
      from: (partition) => [2n, 5000n][partition]!,
    });
    await until("both partitions told", () => reader.refused.length === 2);
    await send(t, bench, topic, [...numbered(0, 10, 1), ...numbered(1, 10, 1)]);
    await delay(600);
    const told = reader.refused.toSorted((a, b) => a.partition - b.partition);
    assert.deepEqual(
      told.map(({ fetchedOffset, nextOffset, records }) => ({ fetchedOffset, nextOffset, records })),
      [
        { fetchedOffset: 6n, nextOffset: 6n, records: [] },
        { fetchedOffset: 0n, nextOffset: 0n, records: [] },
      ],
    );
    reader.moveTo(0, 8n);
    reader.moveTo(1, 9n);
    await reader.untilPosition(0, 11n);
    await reader.untilPosition(1, 11n);
    assert.deepEqual(
      [reader.values(0), reader.values(1)],
      [
        ["8", "9", "10"],
        ["9", "10"],
      ],
    );
    assert.deepEqual(reader.breaches, []);
  });

  check(
    "retention that passes the position of a running reader is told, never skipped",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 1);
      await send(t, bench, topic, numbered(0, 0, 5));
      const reader = openReader(t, bench.kafka, { topic, group: topic });
      await reader.untilPosition(0, 5n);
      const all = [{ topic, partition: 0 }];
      reader.source.pause(all);
      await send(t, bench, topic, numbered(0, 5, 10));
      await bench.trim(topic, 0, 12n);
      reader.source.resume(all);
      await until("the loss told", () => reader.refused.length > 0);
      assert.equal(reader.position(0), 5n);
      assert.equal(reader.refused[0]!.fetchedOffset, 12n);
      reader.moveTo(0, 12n);
      await reader.untilPosition(0, 15n);
      assert.deepEqual(reader.values(0).slice(5), ["12", "13", "14"]);
    },
  );

  check("retention that takes everything is told too", async (t, bench, admin) => {
    const topic = await newTopic(admin, 1);
    await send(t, bench, topic, numbered(0, 0, 5));
    await bench.trim(topic, 0, 5n);
    const reader = openReader(t, bench.kafka, { topic, group: topic, from: () => 3n });
    await until("the loss told", () => reader.refused.length > 0);
    assert.equal(reader.refused[0]!.fetchedOffset, 5n);
  });

  check("a seek back and a seek on deliver from there, and only from there", async (t, bench, admin) => {
    const topic = await newTopic(admin, 1);
    await send(t, bench, topic, numbered(0, 0, 20));
    const reader = openReader(t, bench.kafka, { topic, group: topic });
    await reader.untilPosition(0, 20n);
    reader.moveTo(0, 15n);
    await reader.untilPosition(0, 20n);
    assert.deepEqual(reader.values(0).slice(20), ["15", "16", "17", "18", "19"]);
    reader.moveTo(0, 3n);
    reader.moveTo(0, 18n);
    await reader.untilPosition(0, 20n);
    assert.deepEqual(reader.values(0).slice(25), ["18", "19"]);
    assert.deepEqual(reader.breaches, []);
  });

  check("a seek while a batch is in hand is not undone when the batch is done", async (t, bench, admin) => {
    const topic = await newTopic(admin, 1);
    await send(t, bench, topic, numbered(0, 0, 10));
    let isFirst = true;
    const reader = openReader(t, bench.kafka, {
      topic,
      group: topic,
      async onBatch() {
        if (!isFirst) return;
        isFirst = false;
        await delay(400);
        reader.moveTo(0, 7n);
        await delay(400);
      },
    });
    await reader.untilPosition(0, 10n);
    assert.deepEqual(reader.values(0), ["7", "8", "9"]);
  });

  check("nothing of a paused partition arrives, and all of it after the resume", async (t, bench, admin) => {
    const topic = await newTopic(admin, 2);
    const reader = openReader(t, bench.kafka, { topic, group: topic });
    await until("the assignment", () => reader.partitions().length === 2);
    await send(t, bench, topic, [...numbered(0, 0, 1), ...numbered(1, 0, 1)]);
    await reader.untilPosition(0, 1n);
    await reader.untilPosition(1, 1n);
    reader.source.pause([{ topic, partition: 0 }]);
    await send(t, bench, topic, [...numbered(0, 1, 5), ...numbered(1, 1, 5)]);
    await reader.untilPosition(1, 6n);
    await delay(500);
    assert.equal(reader.position(0), 1n);
    reader.source.resume([{ topic, partition: 0 }]);
    await reader.untilPosition(0, 6n);
    assert.equal(reader.values(0).length, 6);
    assert.deepEqual(reader.breaches, []);
  });

  check(
    "a batch that takes longer than the session keeps its member, and does not hold other partitions",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 2);
      await send(t, bench, topic, numbered(0, 0, 5));
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      const reader = openReader(t, bench.kafka, {
        topic,
        group: topic,
        onBatch: (batch) => (batch.partition === 0 && batch.fetchedOffset === 0n ? held : undefined),
      });
      await until("the assignment", () => reader.partitions().length === 2);
      for (let n = 0; n < 4; n++) {
        await send(t, bench, topic, [...numbered(0, 5 + n, 1), ...numbered(1, n, 1)]);
        await reader.untilPosition(1, BigInt(n + 1));
        await delay(bench.sessionMs / 3);
      }
      assert.equal(reader.taken.filter(({ partition }) => partition === 0).length, 0);
      release();
      await reader.untilPosition(0, 9n);
      assert.equal(reader.assigned.length, 1, "no rebalance");
      assert.deepEqual(reader.values(0), ["0", "1", "2", "3", "4", "5", "6", "7", "8"]);
      assert.deepEqual(reader.breaches, []);
    },
  );

  check(
    "what an aborted transaction wrote is never seen, and the position passes it",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 1);
      const reader = openReader(t, bench.kafka, { topic, group: topic });
      await bench.transaction(topic, 0, ["a", "b"], "commit");
      await bench.transaction(topic, 0, ["x", "y"], "abort");
      await bench.transaction(topic, 0, ["c"], "commit");
      await bench.transaction(topic, 0, ["z"], "abort");
      const { high } = (await admin.watermarks(topic)).get(0)!;
      await reader.untilPosition(0, high);
      await bench.transaction(topic, 0, ["v", "w"], "abort");
      const end = (await admin.watermarks(topic)).get(0)!.high;
      assert.equal(end, high + 3n);
      await reader.untilPosition(0, end);
      assert.deepEqual(reader.values(0), ["a", "b", "c"]);
      assert.ok(reader.taken.some(({ records }) => records.length === 0));
      assert.deepEqual(reader.refused, []);
      assert.deepEqual(reader.breaches, []);

      const late = openReader(t, bench.kafka, { topic, group: `${topic}-late`, from: () => high });
      await late.untilPosition(0, end);
      assert.deepEqual(late.values(0), []);
    },
  );

  check(
    "transactions that overlap are told apart: what is aborted is never seen",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 1);
      const abortFirst = await bench.openTransaction(topic, 0, ["a1", "a2"]);
      const abortSecond = await bench.openTransaction(topic, 0, ["b1"]);
      await bench.transaction(topic, 0, ["c1"], "commit");
      const abortThird = await bench.openTransaction(topic, 0, ["d1"]);
      await abortSecond();
      await bench.transaction(topic, 0, ["c2"], "commit");
      await abortThird();
      await abortFirst();
      const reader = openReader(t, bench.kafka, { topic, group: topic });
      await reader.untilPosition(0, 11n);
      assert.deepEqual(reader.values(0), ["c1", "c2"]);
      const found = await admin.recordAt({ topic, partition: 0, nextOffset: 1n }, never);
      assert.equal(found?.value?.toString(), "c1");
    },
  );

  check(
    "the end that can be read is before an open transaction, and moves when it ends",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 1);
      await send(t, bench, topic, numbered(0, 0, 3));
      const abort = await bench.openTransaction(topic, 0, ["open"]);
      assert.deepEqual((await admin.watermarks(topic)).get(0), { low: 0n, high: 3n });
      const reader = openReader(t, bench.kafka, { topic, group: topic });
      await reader.untilPosition(0, 3n);
      await abort();
      await until("the end moved", async () => (await admin.watermarks(topic)).get(0)!.high === 5n);
      await reader.untilPosition(0, 5n);
      assert.deepEqual(reader.values(0), ["0", "1", "2"]);
    },
  );

  check(
    "one record is found at or after an offset, past aborted ones and what retention took",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 1);
      await send(t, bench, topic, [
        { key: "k", value: "0", headers: { h: "v" }, timestampMs: 1_700_000_000_000 },
        ...numbered(0, 1, 2),
      ]);
      await bench.transaction(topic, 0, ["x", "y"], "abort");
      await bench.transaction(topic, 0, ["last"], "commit");
      const at = async (nextOffset: bigint) => admin.recordAt({ topic, partition: 0, nextOffset }, never);
      const first = await at(0n);
      assert.deepEqual(first, {
        offset: 0n,
        timestampMs: 1_700_000_000_000,
        key: Buffer.from("k"),
        value: Buffer.from("0"),
        headers: [["h", Buffer.from("v")]],
      });
      assert.equal((await at(2n))?.offset, 2n);
      assert.deepEqual([(await at(3n))?.offset, (await at(3n))?.value?.toString()], [6n, "last"]);
      assert.equal(await at(7n), null);
      assert.equal(await at(500n), null);
      await bench.trim(topic, 0, 2n);
      assert.equal((await at(0n))?.offset, 2n);
      await bench.trim(topic, 0, 8n);
      assert.equal(await at(0n), null);
    },
  );

  check("offsets are found by time", async (t, bench, admin) => {
    const topic = await newTopic(admin, 2);
    const at = (timestampMs: number) => ({ partition: 0, key: null, value: "v", timestampMs });
    await send(t, bench, topic, [at(1_700_000_000_000), at(1_700_000_001_000), at(1_700_000_002_000)]);
    assert.deepEqual(
      await admin.offsetsAt(topic, 1_700_000_000_500),
      new Map([
        [0, 1n],
        [1, 0n],
      ]),
    );
    assert.deepEqual(
      await admin.offsetsAt(topic, 1_700_000_009_000),
      new Map([
        [0, 3n],
        [1, 0n],
      ]),
    );
    assert.deepEqual(
      await admin.offsetsAt(topic, 0),
      new Map([
        [0, 0n],
        [1, 0n],
      ]),
    );
  });

  check(
    "two members share the partitions; each record is handled once when one joins and leaves",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 4);
      const handled = new Map<string, number>();
      const positions = new Map<number, bigint>();
      const note = (batch: {
        partition: number;
        nextOffset: bigint;
        records: readonly { offset: bigint }[];
      }) => {
        positions.set(batch.partition, batch.nextOffset);
        for (const { offset } of batch.records) {
          const id = `${batch.partition}/${offset}`;
          handled.set(id, (handled.get(id) ?? 0) + 1);
        }
      };
      const options = {
        topic,
        group: topic,
        from: (partition: number) => positions.get(partition) ?? 0n,
        onBatch: note,
      };
      const sink = await openSink(t, bench);
      let sent = 0;
      const sendSome = async () => {
        await sink.send(
          topic,
          Array.from({ length: 40 }, (_, n) => ({ partition: n % 4, key: null, value: String(sent + n) })),
        );
        sent += 40;
      };
      const first = openReader(t, bench.kafka, options);
      await until("the first has all", () => first.partitions().length === 4);
      await sendSome();
      const second = openReader(t, bench.kafka, options);
      await until("they share", () => first.partitions().length === 2 && second.partitions().length === 2);
      assert.deepEqual([...first.partitions(), ...second.partitions()].sort(), [0, 1, 2, 3]);
      await sendSome();
      const asked = Date.now();
      await second.source.close();
      await until("the first has all again", () => first.partitions().length === 4);
      assert.ok(Date.now() - asked < bench.sessionMs - 500, "it left the group by itself");
      await sendSome();
      await until("all handled", () => handled.size === sent);
      assert.deepEqual([...new Set(handled.values())], [1]);
      assert.deepEqual([...first.breaches, ...second.breaches], []);
    },
  );

  check(
    "batches of an older generation are never delivered, though a rebalance comes while one is in hand",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 2);
      await send(t, bench, topic, [...numbered(0, 0, 50), ...numbered(1, 0, 50)]);
      const first = openReader(t, bench.kafka, {
        topic,
        group: topic,
        startAfterMs: 30,
        onBatch: async ({ generation }) => {
          if (generation === 1) await delay(1500);
        },
      });
      await until("a batch in hand", () => first.assigned.length === 1);
      await delay(500);
      const second = openReader(t, bench.kafka, { topic, group: topic, startAfterMs: 30 });
      await until("the second joined", () => second.partitions().length === 1);
      const mine = second.partitions()[0]!;
      await second.untilPosition(mine, 50n);
      await first.untilPosition(1 - mine, 50n);
      assert.ok(first.assigned.length >= 2);
      assert.deepEqual([...first.breaches, ...second.breaches], []);
    },
  );

  check("a partition that is added while running is picked up", async (t, bench, admin) => {
    const topic = await newTopic(admin, 1);
    const reader = openReader(t, bench.kafka, { topic, group: topic, metadataMaxAgeMs: 500 });
    await until("the assignment", () => reader.partitions().length === 1);
    await bench.addPartitions(topic, 3);
    await until("three partitions", () => reader.partitions().length === 3);
    assert.deepEqual(await admin.partitions(topic), [0, 1, 2]);
    await send(t, bench, topic, numbered(2, 0, 1));
    await reader.untilPosition(2, 1n);
    assert.deepEqual([...(await admin.watermarks(topic)).keys()], [0, 1, 2]);
    assert.deepEqual(reader.breaches, []);
  });

  check("published offsets are the group's, and change nothing for its readers", async (t, bench, admin) => {
    const topic = await newTopic(admin, 1);
    await send(t, bench, topic, numbered(0, 0, 5));
    const reader = openReader(t, bench.kafka, { topic, group: topic });
    await reader.untilPosition(0, 5n);
    await reader.source.publishOffsets([{ topic, partition: 0, nextOffset: 3n }]);
    assert.equal(await bench.groupOffset(topic, topic, 0), 3n);
    await send(t, bench, topic, numbered(0, 5, 1));
    await reader.untilPosition(0, 6n);
    assert.deepEqual(reader.values(0), ["0", "1", "2", "3", "4", "5"]);
  });

  check("a reader's own failure is fatal, and ends the run", async (t, bench, admin) => {
    const topic = await newTopic(admin, 1);
    await send(t, bench, topic, numbered(0, 0, 1));
    const reader = openReader(t, bench.kafka, {
      topic,
      group: topic,
      onBatch() {
        throw new TypeError("a bug of the reader");
      },
    });
    await reader.running;
    assert.deepEqual(reader.fatals.map(String), ["TypeError: a bug of the reader"]);
    assert.deepEqual(reader.outages, []);
  });

  check("a topic that does not exist is TOPIC_MISSING everywhere", async (t, bench, admin) => {
    const topic = `missing-${randomUUID()}`;
    const isMissing = (error: unknown) => isLabError(error, "TOPIC_MISSING") && error.message.includes(topic);
    assert.equal(await admin.partitions(topic), null);
    await assert.rejects(admin.watermarks(topic), isMissing);
    await assert.rejects(openReader(t, bench.kafka, { topic, group: topic }).running, isMissing);
    await assert.rejects(send(t, bench, topic, numbered(0, 0, 1)), isMissing);
    assert.equal(await admin.partitions(topic), null, "nothing made it");
  });

  check("a topic is made once and can be deleted", async (_t, _bench, admin) => {
    const topic = `made-${randomUUID()}`;
    assert.equal(await admin.createTopic(topic, { partitions: 2 }), true);
    assert.equal(await admin.createTopic(topic, { partitions: 5 }), false);
    assert.deepEqual(await admin.partitions(topic), [0, 1]);
    assert.ok((await admin.topics()).includes(topic));
    await admin.deleteTopic(topic);
    assert.equal(await admin.partitions(topic), null);
    assert.equal((await admin.topics()).includes(topic), false);
  });

  check(
    "a message that is too large is named by its place, and the others are written",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 1, { "max.message.bytes": "20000" });
      const records = numbered(0, 0, 9);
      records[5] = { partition: 0, key: null, value: Buffer.alloc(30_000) };
      await assert.rejects(send(t, bench, topic, records), (error) => {
        assert.ok(isLabError(error, "MESSAGE_TOO_LARGE"));
        assert.equal(error.details.index, 5);
        assert.equal(error.details.bytes, 30_000);
        const acked = error.details.acked as { count: number }[];
        assert.equal(
          acked.reduce((sum, { count }) => sum + count, 0),
          8,
        );
        assert.match(error.hint ?? "", /max\.message\.bytes/);
        return true;
      });
      const reader = openReader(t, bench.kafka, { topic, group: topic });
      await reader.untilPosition(0, 8n);
      assert.deepEqual(reader.values(0), ["0", "1", "2", "3", "4", "6", "7", "8"]);
    },
  );
}

async function newTopic(
  admin: Admin,
  partitions: number,
  config: Record<string, string> = {},
): Promise<string> {
  const topic = `suite-${randomUUID()}`;
  await admin.createTopic(topic, { partitions, config });
  return topic;
}

async function openSink(t: TestContext, bench: Bench) {
  const sink = await bench.kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  return sink;
}

async function send(t: TestContext, bench: Bench, topic: string, records: readonly OutgoingRecord[]) {
  return (await openSink(t, bench)).send(topic, records);
}

/** Records `from`, `from` + 1, ... of one partition. */
function numbered(partition: number, from: number, count: number): OutgoingRecord[] {
  return Array.from({ length: count }, (_, n) => ({ partition, key: null, value: String(from + n) }));
}
