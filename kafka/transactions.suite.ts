/** Only what was committed is seen. */

import assert from "node:assert/strict";
import { type Check, newTopic, numbered, send } from "./bench.suite.ts";
import type { Admin } from "./ports.ts";
import { openReader, until } from "./reader.suite.ts";

const never = new AbortController().signal;

/** Waits until all that is before `end` can be read. */
const untilEnd = (admin: Admin, topic: string, end: bigint) =>
  until(`the end is ${end}`, async () => (await admin.watermarks(topic)).get(0)!.high === end);

export function transactionPromises(check: Check): void {
  check(
    "what an aborted transaction wrote is never seen, and the position passes it",
    async (t, bench, admin) => {
      const topic = await newTopic(admin, 1);
      const reader = openReader(t, bench.kafka, { topic, group: topic });
      await bench.transaction(topic, 0, ["a", "b"], "commit");
      await bench.transaction(topic, 0, ["x", "y"], "abort");
      await bench.transaction(topic, 0, ["c"], "commit");
      await bench.transaction(topic, 0, ["z"], "abort");
      // Every transaction ends in a marker, which the broker writes after it has answered.
      const [high, end] = [10n, 13n];
      await untilEnd(admin, topic, high);
      await reader.untilPosition(0, high);
      await bench.transaction(topic, 0, ["v", "w"], "abort");
      await untilEnd(admin, topic, end);
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
      await untilEnd(admin, topic, 5n);
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
      await untilEnd(admin, topic, 8n);
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
}
