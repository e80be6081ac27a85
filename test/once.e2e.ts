/** `--once` ends by itself, whatever the topic ends with (kafka-delta-ingest PR#153: run-until-caught-up never ended on quiet topics). */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connectKafka } from "../kafka/client.ts";
import { compactedRecords, transact } from "./chaos/writers.ts";
import { countRows } from "./support/count-rows.ts";
import { startBroker } from "./support/kafka.ts";
import { lab } from "./support/lab.ts";
import { assertLedger } from "./support/ledger.ts";

const between = (from: number) => from;

async function setting(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "lab-once-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const config = { "log.cleaner.backoff.ms": "200" };
  const { brokers } = await startBroker(t, { config });
  const admin = await connectKafka({ brokers, clientId: "once", connectTimeoutMs: 30_000 }).admin();
  t.after(() => admin.close());
  const kafka = ["--kafka", brokers.join(",")];
  return {
    brokers,
    admin,
    kafka,
    topicOf: async (what: string, partitions: number, config: Record<string, string> = {}) => {
      const topic = `once-${what}-${randomUUID()}`;
      await admin.createTopic(topic, { partitions, config });
      return topic;
    },
    /** Must end within a minute, which says nothing of how fast it is on a machine that is busy. */
    async once(topic: string, ...args: string[]) {
      const tableUri = join(folder, topic);
      const ended = await lab(
        ["ingest", "--topic", topic, "--table", tableUri, "--once", ...kafka, ...args],
        { cwd: folder },
      );
      assert.equal(ended.status, 0, ended.stderr.slice(-3000));
      return tableUri;
    },
  };
}

test("once ends on empty, quiet, transactional and compacted topics, with every record that can be seen", async (t) => {
  const { brokers, admin, kafka, topicOf, once } = await setting(t);

  const quiet = async () => {
    const topic = await topicOf("quiet", 3);
    await once(topic, "--format", "text");
    const produced = await lab(["produce", "--topic", topic, "--source", "-", ...kafka], {
      input: '{"id":1,"text":"only one partition has something"}\n',
    });
    assert.equal(produced.status, 0, produced.stderr);
    const tableUri = await once(topic, "--format", "text");
    assert.equal(await countRows(tableUri), 1);
    await once(topic, "--format", "text");
    assert.equal(await countRows(tableUri), 1);
  };

  const transactional = async () => {
    const topic = await topicOf("transactional", 2);
    const target = { brokers, topic, between };
    const few = { partitions: 2, transactions: 6, each: 4, pauseMs: 0, endsAborted: true };
    const { committed } = await transact(target, { ...few, abortedPercent: 30 });
    await assertLedger({ brokers, topic, tableUri: await once(topic) });
    // Nothing but what was aborted comes after that.
    await transact(target, { ...few, transactions: 2, abortedPercent: 100 });
    const counted = await assertLedger({ brokers, topic, tableUri: await once(topic) });
    assert.equal(counted.rows, committed);
    const ends = [...(await admin.watermarks(topic)).values()].map(({ high }) => Number(high));
    assert.ok(ends.reduce((sum, end) => sum + end, 0) > committed, "the ends are beyond what can be seen");
  };

  const compacted = async () => {
    const config = { "cleanup.policy": "compact", "segment.ms": "400", "min.cleanable.dirty.ratio": "0.01" };
    const topic = await topicOf("compacted", 2, config);
    await compactedRecords({ brokers, topic, between });
    await assertLedger({ brokers, topic, tableUri: await once(topic) });
  };

  await Promise.all([quiet(), transactional(), compacted()]);
});
