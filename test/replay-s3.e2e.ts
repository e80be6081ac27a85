/** From a lab on S3 to Kafka and from there into another table on S3: what came out of the first is in the second, with a kill on the way. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connectKafka } from "../kafka/client.ts";
import { readTopic } from "./support/independent-reader.ts";
import { sharedBroker } from "./support/kafka.ts";
import { lab, startLab } from "./support/lab.ts";
import { s3Env, sharedS3 } from "./support/s3.ts";
import { until } from "./support/until.ts";

test("a table in MinIO goes back to Kafka as it came, also after a kill, and from there into a table in MinIO that has the same rows", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-replay-s3-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const brokers = await sharedBroker();
  const s3 = await sharedS3();
  const env = s3Env(s3);
  const store = ["--store", `s3://${s3.bucket}/tables`];
  const kafka = ["--kafka", brokers.join(",")];
  const run = async (args: readonly string[]) => {
    const ended = await lab(args, { cwd: folder, env });
    assert.equal(ended.status, 0, `${args.join(" ")}\n${ended.stderr}`);
    return ended.stdout;
  };
  const topic = `s3-${randomUUID().slice(0, 8)}`;
  const table = topic.replaceAll("-", "_");
  const target = `${topic}-again`;
  const orders = ["--source", "orders", "--seed", "7", "--partitions", "3", "--count", "2000"];
  await run(["produce", "--topic", topic, ...orders, ...kafka]);
  await run(["ingest", "--topic", topic, "--table", table, "--keep-raw", "on", "--once", ...store, ...kafka]);
  await run(["optimize", table, ...store]);

  const replay = ["replay", table, "--to-topic", target, "--json", ...store, ...kafka];
  const plan = JSON.parse(await run([...replay, "--dry-run"]));
  assert.deepEqual([plan.rows, plan.isTargetNew, plan.parts.length], [2000, true, 3]);
  const slow = [...replay, "--rate", "400/s", "--transaction-size", "20KiB", "--scratch", folder];
  const killed = startLab(slow, { cwd: folder, env, input: "" });
  t.after(() => killed.child.kill("SIGKILL"));
  const admin = await connectKafka({ brokers, clientId: "replay-s3", connectTimeoutMs: 30_000 }).admin();
  t.after(() => admin.close());
  await until("some of it", async () => {
    if ((await admin.partitions(target)) === null) return false;
    return [...(await admin.watermarks(target)).values()].some(({ high }) => high > 20n);
  });
  killed.child.kill("SIGKILL");
  await killed.ended;
  const result = JSON.parse(await run(replay));
  assert.deepEqual(
    [result.sent, result.reencoded, result.isResumed, result.comparison],
    [2000, 0, true, "same"],
  );

  const said = (one: Awaited<ReturnType<typeof readTopic>>) =>
    [...one]
      .sort((a, b) => a.partition - b.partition || Number(a.offset - b.offset))
      .map(({ offset: _, ...rest }) => JSON.stringify(rest));
  assert.deepEqual(said(await readTopic(brokers, target)), said(await readTopic(brokers, topic)));

  const second = `${table}_again`;
  await run(["ingest", "--topic", target, "--table", second, "--once", ...store, ...kafka]);
  const rows = (name: string) =>
    run(["query", `SELECT * EXCLUDE (_kafka) FROM ${name} ORDER BY ALL`, "--format", "ndjson", ...store]);
  assert.equal(await rows(second), await rows(table));
});
