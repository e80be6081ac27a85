/** Topics and offsets, and what cannot be written. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { isLabError } from "../core/errors.ts";
import { type Check, newTopic, numbered, send } from "./bench.suite.ts";
import { openReader } from "./reader.suite.ts";

export function adminPromises(check: Check): void {
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
