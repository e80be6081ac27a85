/** Topics that grow, vanish, lose records, or hold more than plain records. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { readTopic } from "../../support/independent-reader.ts";
import { kafkaTool } from "../../support/kafka-tools.ts";
import { until } from "../../support/until.ts";
import type { Bench } from "../bench.ts";
import type { Scenario } from "../scenario.ts";
import { compactedRecords, transact } from "../writers.ts";

const broker = (bench: Bench) => bench.brokers[0] as string;

const grown: Scenario = {
  name: "partitions-added",
  injects: "a topic of 2 partitions gets 3, then 5, while two workers read and messages flow",
  expects: "the new partitions are found and read from their start, without a restart",
  isBounded: true,
  async run(bench) {
    const feed = await bench.feed({ partitions: 2, perSecond: 250 });
    const workers = [bench.worker(), bench.worker()];
    await Promise.all(workers.map((worker) => worker.printed(/"assigned"/)));
    for (const count of [3, 5]) {
      await kafkaTool("topics", broker(bench), [
        "--alter",
        "--topic",
        bench.topic,
        "--partitions",
        String(count),
      ]);
      bench.fault("partitions added");
      await delay(2_000);
    }
    const later = await bench.feed({ partitions: 5, perSecond: 250 });
    await delay(3_000);
    await Promise.all([feed.end(), later.end()]);
    await until(
      "a worker reads partition 4 without a restart",
      () => workers.some((worker) => /"4":"\d+"/.test(worker.stderr())),
      { deadlineMs: 120_000 },
    );
    for (const worker of workers) await worker.stop();
    await bench.drain();
    await bench.ledger();
  },
};

const remade: Scenario = {
  name: "topic-remade",
  injects:
    "the topic is deleted and made anew under a running worker, and filled beyond the old one's end at once",
  expects:
    "TOPIC_RESET with the ways out, exit 1; after `--on-topic-reset restart` the new topic's records stand beside the old one's",
  async run(bench) {
    const admin = await bench.admin();
    // No letters: they have no generation, and could not be told apart by offset.
    const message = (id: number) => JSON.stringify({ id, text: `message ${id}` });
    const feed = await bench.feed({ partitions: 2, perSecond: 250, message });
    const worker = bench.worker();
    await worker.printed(/"committed"/);
    await delay(bench.between(500, 1_500));
    await feed.end();
    const old = await readTopic(bench.brokers, bench.topic);
    await bench.drain({ args: ["--group", `${bench.topic}-2`] });
    await admin.deleteTopic(bench.topic);
    await admin.createTopic(bench.topic, { partitions: 2 });
    bench.fault("topic made anew");
    const again = await bench.feed({ partitions: 2, perSecond: 3_000, message });
    await delay(2_000);
    await again.end();
    await worker.failed(1, "TOPIC_RESET");
    const refused = bench.worker({ args: ["--once"] });
    await refused.failed(1, "TOPIC_RESET");
    await bench.drain({ args: ["--on-topic-reset", "restart"] });
    await bench.drain();
    const fresh = await readTopic(bench.brokers, bench.topic);
    await bench.ledger({ records: [...old, ...fresh] });
  },
};

const retention: Scenario = {
  name: "retention",
  injects:
    "retention takes records that are not read yet: from a worker that stands still, and from a table whose worker is off",
  expects:
    "OFFSET_EXPIRED with how many are gone, exit 1, never a silent gap; after `restart` all that is left is read",
  async run(bench) {
    const feed = await bench.feed({ partitions: 1, perSecond: 500 });
    const worker = bench.worker();
    await worker.printed(/"committed"/);
    worker.freeze();
    await delay(2_000);
    await feed.end();
    const before = await readTopic(bench.brokers, bench.topic);
    const low = BigInt(before.length) - 200n;
    await trim(bench, low);
    worker.thaw();
    await worker.failed(1, "OFFSET_EXPIRED");
    const refused = bench.worker({ args: ["--once"] });
    await refused.failed(1, "OFFSET_EXPIRED");
    const settled = await bench.settledOffset(0);
    assert.ok(settled < low, "records between the table and the topic are gone");
    await bench.drain({ args: ["--on-topic-reset", "restart"] });
    await bench.drain();
    const readable = before.filter(({ offset }) => offset <= settled || offset >= low);
    await bench.ledger({ records: readable });
  },
};

async function trim(bench: Bench, before: bigint): Promise<void> {
  const file = join(bench.folder, "trim.json");
  const partitions = [{ topic: bench.topic, partition: 0, offset: Number(before) }];
  await writeFile(file, JSON.stringify({ partitions, version: 1 }));
  await kafkaTool("delete-records", broker(bench), ["--offset-json-file", file]);
  bench.fault("records expired");
}

const poison: Scenario = {
  name: "poison",
  injects: "every tenth message is no JSON, an array, or no UTF-8; the worker is killed at random moments",
  expects: "each of them is one letter and the rest are rows",
  async run(bench) {
    const bad = ["{broken", "[1,2", "\u0000\u0001", "not json"];
    const message = (id: number) =>
      id % 10 === 3 ? `${bad[id % bad.length]} ${id}` : JSON.stringify({ id, text: `message ${id}` });
    const feed = await bench.feed({ perSecond: 1_000, message });
    for (let n = 0; n < 4; n++) {
      const worker = bench.worker();
      await worker.printed(/"assigned"/);
      await delay(bench.between(300, 2_000));
      await worker.kill();
      bench.fault("SIGKILL");
    }
    const messages = await feed.end();
    await bench.drain();
    const { letters } = await bench.ledger();
    bench.fault("poison message", letters);
    assert.ok(letters > messages / 20);
  },
};

const transactions: Scenario = {
  name: "transactions",
  injects:
    "a transactional producer that aborts 40 % of its transactions, the last one among them; the worker is killed twice",
  expects:
    "nothing aborted is seen, and `--once` ends though the topic ends with aborted records and markers",
  isBounded: true,
  async run(bench) {
    const admin = await bench.admin();
    await admin.createTopic(bench.topic, { partitions: 3 });
    const writing = transact(bench, {
      transactions: 120,
      each: 30,
      abortedPercent: 40,
      pauseMs: 60,
      endsAborted: true,
    });
    for (let n = 0; n < 2; n++) {
      const worker = bench.worker();
      await worker.printed(/"committed"/);
      await delay(bench.between(0, 1_500));
      await worker.kill();
      bench.fault("SIGKILL");
    }
    const { committed, aborted } = await writing;
    bench.fault("aborted transaction", aborted);
    await bench.drain();
    const { produced } = await bench.ledger();
    assert.equal(produced, committed);
  },
};

const compacted: Scenario = {
  name: "compacted",
  injects:
    "a compacted topic whose offsets have holes everywhere, at the end a range of aborted records alone; a kill in the middle",
  expects: "`--once` ends; each record that is left is there once",
  broker: { "log.cleaner.backoff.ms": "200", "log.cleaner.min.cleanable.ratio": "0.01" },
  async run(bench) {
    const admin = await bench.admin();
    const config = { "cleanup.policy": "compact", "segment.ms": "500", "min.cleanable.dirty.ratio": "0.01" };
    await admin.createTopic(bench.topic, { partitions: 2, config });
    await compactedRecords(bench);
    bench.fault("compaction");
    const worker = bench.worker();
    await worker.printed(/"committed"/);
    await worker.kill();
    bench.fault("SIGKILL");
    await bench.drain();
    await bench.ledger();
  },
};

export const topics: readonly Scenario[] = [grown, remade, retention, poison, transactions, compacted];
