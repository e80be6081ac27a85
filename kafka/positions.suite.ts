/** A reader is where it says, and nowhere else without a word. */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { type Check, newTopic, numbered, send } from "./bench.suite.ts";
import { openReader, until } from "./reader.suite.ts";

export function positionPromises(check: Check): void {
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
      told.map(({ fetchedOffset, nextOffset, records }) => ({
        fetchedOffset,
        nextOffset,
        records: records.toArray(),
      })),
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
}
