/** What a transactional sink promises. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { isLabError } from "../core/errors.ts";
import { type Bench, type Check, newTopic } from "./bench.suite.ts";
import type { Admin, ExactRecord } from "./ports.ts";
import { openReader, until } from "./reader.suite.ts";

const never = new AbortController().signal;

function record(partition: number, value: string | null, more: Partial<ExactRecord> = {}): ExactRecord {
  return {
    ...{ partition, timestampMs: 1_700_000_000_000, key: null, headers: [] },
    value: value === null ? null : Buffer.from(value),
    ...more,
  };
}

const openWriter = (bench: Bench, transactionalId: string) =>
  bench.kafka.transactionalSink({ transactionalId, signal: never });

/** Waits until all that is before `end` can be read. */
const untilEnd = (admin: Admin, topic: string, end: bigint) =>
  until(`the end is ${end}`, async () => (await admin.watermarks(topic)).get(0)!.high === end);

export function transactionalSinkPromises(check: Check): void {
  check(
    "what a transactional sink sends is seen with its commit, in order, with key, time and null values, and not before",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 2);
      const other = await newTopic(admin, 1);
      const writer = await openWriter(bench, `tx-${randomUUID()}`);
      t.after(() => writer.close());
      const headers: ExactRecord["headers"] = [
        ["a", Buffer.from([0, 255])],
        ["b", null],
      ];
      const first = record(0, "0", { key: Buffer.from("k"), headers, timestampMs: 1_600_000_000_123 });
      await writer.send(topic, [first, record(1, "x"), record(0, null, { key: Buffer.alloc(0) })]);
      await writer.send(topic, [record(0, "2", { timestampMs: 1_500_000_000_000 })]);
      await writer.send(other, [record(0, "beside")]);
      for (const one of [topic, other]) assert.equal((await admin.watermarks(one)).get(0)!.high, 0n);
      await writer.commit();
      await untilEnd(admin, topic, 4n);
      await untilEnd(admin, other, 2n);
      const reader = openReader(t, bench.kafka, { topic, group: topic });
      await reader.untilPosition(0, 4n);
      await reader.untilPosition(1, 2n);
      assert.deepEqual(
        [...reader.records(0)],
        [
          { offset: 0n, ...withoutPartition(first) },
          { offset: 1n, ...withoutPartition(record(0, null, { key: Buffer.alloc(0) })) },
          { offset: 2n, ...withoutPartition(record(0, "2", { timestampMs: 1_500_000_000_000 })) },
        ],
      );
      assert.deepEqual(reader.values(1), ["x"]);
      await writer.send(topic, [record(1, "y")]);
      await writer.commit();
      await reader.untilPosition(1, 4n);
      assert.deepEqual(reader.values(1), ["x", "y"]);
    },
  );

  check("what a transactional sink did not commit is never seen", async (_t, bench, admin) => {
    const topic = await newTopic(admin, 1);
    const id = `tx-${randomUUID()}`;
    const writer = await openWriter(bench, id);
    await writer.send(topic, [record(0, "lost")]);
    await writer.close();
    await untilEnd(admin, topic, 2n);
    assert.equal(await admin.recordAt({ topic, partition: 0, nextOffset: 0n }, never), null);
    await assert.rejects(writer.send(topic, [record(0, "late")]), (error) => isLabError(error, "INTERNAL"));
  });

  check(
    "who opens a transactional id ends what its holder left open, and the holder is told when it goes on",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 1);
      const id = `tx-${randomUUID()}`;
      const elder = await openWriter(bench, id);
      t.after(() => elder.close());
      await elder.send(topic, [record(0, "kept")]);
      await elder.commit();
      await elder.send(topic, [record(0, "lost")]);
      const younger = await openWriter(bench, id);
      t.after(() => younger.close());
      // Whatever the elder left has ended: all that was committed can be read by now.
      const ended = async (end: bigint) => (await admin.watermarks(topic)).get(0)!.high >= end;
      // A marker at least: the broker may refuse what was still on its way.
      await until("the elder's transaction has ended", () => ended(3n));
      const goOn = async () => {
        await elder.send(topic, [record(0, "late")]);
        await elder.commit();
      };
      await assert.rejects(goOn(), (error) => isLabError(error, "PRODUCER_FENCED"));
      await assert.rejects(elder.commit(), (error) => isLabError(error, "PRODUCER_FENCED"));
      await younger.send(topic, [record(0, "new")]);
      await younger.commit();
      await until("the younger's transaction has ended", () => ended(5n));
      const values: (string | null)[] = [];
      for (let at = 0n; ; ) {
        const found = await admin.recordAt({ topic, partition: 0, nextOffset: at }, never);
        if (found === null) break;
        values.push(found.value?.toString() ?? null);
        at = found.offset + 1n;
      }
      assert.deepEqual(values, ["kept", "new"]);
    },
  );

  check("many transactions of many batches keep the order of each partition", async (t, bench, admin) => {
    const topic = await newTopic(admin, 3);
    const writer = await openWriter(bench, `tx-${randomUUID()}`);
    t.after(() => writer.close());
    const large = "x".repeat(60_000);
    let sent = 0;
    for (let round = 0; round < 4; round++) {
      for (let call = 0; call < 2; call++) {
        const records = Array.from({ length: 40 }, () => {
          const value = `${sent} ${large}`;
          return record(sent++ % 3 === 0 ? 0 : 1, value);
        });
        await writer.send(topic, records);
      }
      await writer.commit();
    }
    await writer.commit();
    const reader = openReader(t, bench.kafka, { topic, group: topic });
    const seen = () =>
      [0, 1].map((partition) => reader.values(partition).map((value) => Number.parseInt(value!, 10)));
    await until("all of it", () => seen().flat().length === sent);
    const all = Array.from({ length: sent }, (_, n) => n);
    assert.deepEqual(seen(), [all.filter((n) => n % 3 === 0), all.filter((n) => n % 3 !== 0)]);
  });

  check("a transactional sink refuses what the topic cannot take", async (_t, bench, admin) => {
    const topic = await newTopic(admin, 1, { "max.message.bytes": "2000" });
    const sending = async (name: string, one: ExactRecord) => {
      const writer = await openWriter(bench, `tx-${randomUUID()}`);
      try {
        await writer.send(name, [one]);
        await writer.commit();
      } finally {
        await writer.close();
      }
    };
    await assert.rejects(sending(topic, record(0, "x".repeat(5_000))), (error) =>
      isLabError(error, "MESSAGE_TOO_LARGE"),
    );
    await assert.rejects(sending(topic, record(7, "x")), (error) => isLabError(error, "TOPIC_MISSING"));
    await assert.rejects(sending(`no-${topic}`, record(0, "x")), (error) =>
      isLabError(error, "TOPIC_MISSING"),
    );
  });

  check("the settings that hold for a topic are told, defaults among them", async (_t, _bench, admin) => {
    const topic = await newTopic(admin, 1, { "message.timestamp.type": "LogAppendTime" });
    const config = await admin.topicConfig(topic);
    assert.equal(config.get("message.timestamp.type"), "LogAppendTime");
    assert.equal(config.get("cleanup.policy"), "delete");
    assert.equal(config.get("retention.ms"), "604800000");
    await assert.rejects(admin.topicConfig(`no-${topic}`), (error) => isLabError(error, "TOPIC_MISSING"));
  });
}

function withoutPartition({ partition: _, ...rest }: ExactRecord): Omit<ExactRecord, "partition"> {
  return rest;
}
