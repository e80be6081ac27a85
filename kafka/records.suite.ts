/** What a record is made of arrives as it was sent. */

import assert from "node:assert/strict";
import { type Check, newTopic, openSink, send } from "./bench.suite.ts";
import { murmur2 } from "./partitioner.ts";
import type { OutgoingRecord } from "./ports.ts";
import { openReader } from "./reader.suite.ts";

export function recordPromises(check: Check): void {
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
    "what a reader copies of a batch is what was sent, and what one keeps that does not copy stays so",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 2);
      const count = 40;
      const contentOf = (partition: number, offset: number) =>
        Buffer.alloc(100_000 + offset, `${partition}/${offset} `);
      for (let offset = 0; offset < count; offset += 5) {
        const records = [0, 1].flatMap((partition) =>
          [0, 1, 2, 3, 4].map((n) => ({ partition, key: null, value: contentOf(partition, offset + n) })),
        );
        await send(t, bench, topic, records);
      }
      const copies: { partition: number; offset: bigint; value: Buffer }[] = [];
      const copying = openReader(t, bench.kafka, {
        ...{ topic, group: `${topic}-copying`, copiesRecords: true },
        onBatch({ partition, records }) {
          for (const { offset, value } of records.toArray())
            copies.push({ partition, offset, value: Buffer.from(value!) });
        },
      });
      const keeping = openReader(t, bench.kafka, { topic, group: `${topic}-keeping` });
      for (const reader of [copying, keeping])
        for (const partition of [0, 1]) await reader.untilPosition(partition, BigInt(count));
      const kept = [0, 1].flatMap((partition) =>
        keeping.records(partition).map(({ offset, value }) => ({ partition, offset, value: value! })),
      );
      for (const found of [copies, kept]) {
        assert.equal(found.length, 2 * count);
        for (const { partition, offset, value } of found)
          assert.ok(value.equals(contentOf(partition, Number(offset))), `${partition}@${offset}`);
      }
    },
  );
}
