/** A group shares its partitions, and what happens to a member. */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type Check, newTopic, numbered, openSink, send } from "./bench.suite.ts";
import type { FetchedRecords } from "./ports.ts";
import { openReader, until } from "./reader.suite.ts";

export function memberPromises(check: Check): void {
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
    "two members share the partitions; each record is handled once when one joins and leaves",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 4);
      const handled = new Map<string, number>();
      const positions = new Map<number, bigint>();
      const note = (batch: { partition: number; nextOffset: bigint; records: FetchedRecords }) => {
        positions.set(batch.partition, batch.nextOffset);
        for (const { offset } of batch.records.toArray()) {
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

  check(
    "a rejoin ends one generation and begins another, and each record is handled once",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 2);
      await send(t, bench, topic, [...numbered(0, 0, 5), ...numbered(1, 0, 5)]);
      const reader = openReader(t, bench.kafka, { topic, group: topic });
      await reader.untilPosition(0, 5n);
      await reader.untilPosition(1, 5n);
      const before = reader.assigned.length;
      const asked = Date.now();
      await reader.source.rejoin();
      await until("the next generation", () => reader.partitions().length === 2);
      assert.ok(Date.now() - asked < bench.sessionMs, "it left the group: no session was waited for");
      assert.equal(reader.assigned.length, before + 1);
      await send(t, bench, topic, [...numbered(0, 5, 1), ...numbered(1, 5, 1)]);
      await reader.untilPosition(0, 6n);
      await reader.untilPosition(1, 6n);
      for (const partition of [0, 1])
        assert.deepEqual(reader.values(partition), ["0", "1", "2", "3", "4", "5"]);
      assert.deepEqual([reader.breaches, reader.outages, reader.fatals], [[], [], []]);
      await Promise.all([reader.source.rejoin(), reader.source.rejoin()]);
      await until("another generation", () => reader.partitions().length === 2);
      await reader.source.close();
      await reader.source.rejoin();
      assert.equal(await admin.groupMembers(topic), 0, "a source that is closed stays away");
    },
  );

  check(
    "members of one group that read different topics get each the partitions of their own",
    async (t, bench, admin) => {
      const [one, other] = [await newTopic(admin, 3), await newTopic(admin, 2)];
      const readers = [one, other, other].map((topic) =>
        openReader(t, bench.kafka, { topic, group: one, metadataMaxAgeMs: 500 }),
      );
      const owned = (n: number) => readers[n]!.partitions();
      const topicsOf = () => readers.map(({ assigned }) => assigned.at(-1)?.partitions.map((p) => p.topic));
      await until("all are read", () => owned(0).length === 3 && owned(1).length + owned(2).length === 2);
      assert.deepEqual(owned(0).sort(), [0, 1, 2]);
      assert.deepEqual([...owned(1), ...owned(2)].sort(), [0, 1]);
      assert.deepEqual(topicsOf(), [[one, one, one], [other], [other]]);
      // Noticed by those who read it, though another member leads the group.
      for (const [topic, total] of [
        [one, 4],
        [other, 4],
      ] as const)
        await bench.addPartitions(topic, total);
      await until(
        "the new ones, too",
        () => owned(0).length === 4 && owned(1).length === 2 && owned(2).length === 2,
      );
      await send(t, bench, other, numbered(3, 0, 1));
      const reader = readers.slice(1).find((each) => each.partitions().includes(3))!;
      await reader.untilPosition(3, 1n);
      for (const { breaches, fatals } of readers) assert.deepEqual([breaches, fatals], [[], []]);
    },
  );

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

  check("the members of a group are counted while they are in it", async (t, bench, admin) => {
    const topic = await newTopic(admin, 1);
    assert.equal(await admin.groupMembers(topic), 0);
    const reader = openReader(t, bench.kafka, { topic, group: topic });
    await until("the assignment", () => reader.partitions().length === 1);
    assert.equal(await admin.groupMembers(topic), 1);
    await reader.source.close();
    assert.equal(await admin.groupMembers(topic), 0);
  });
}
