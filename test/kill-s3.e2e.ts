import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sharedBroker } from "./support/kafka.ts";
import { killRun } from "./support/kill-run.ts";
import { lab } from "./support/lab.ts";
import { assertLedger } from "./support/ledger.ts";
import { isCommit, startS3Proxy } from "./support/proxy.ts";
import { s3Env, s3StorageOptions, sharedS3 } from "./support/s3.ts";

test("an ingester killed at every step and at random loses and doubles nothing, on a table in MinIO", async (t) => {
  const s3 = await sharedS3();
  const tableUri = `s3://${s3.bucket}/tables/kill`;
  await killRun(t, { tableUri, env: s3Env(s3), storageOptions: s3StorageOptions(s3) });
});

test("a store that performs the commit and cuts the reply: the rows are there once", async (t) => {
  const s3 = await sharedS3();
  const proxy = await startS3Proxy(s3.endpoint);
  t.after(() => proxy.close());
  const brokers = await sharedBroker();
  const topic = `cut-${randomUUID()}`;
  const file = join(tmpdir(), `${topic}.ndjson`);
  t.after(() => rm(file, { force: true }));
  const lines = Array.from({ length: 500 }, (_, id) => JSON.stringify({ id, text: `message ${id}` }));
  await writeFile(file, `${lines.join("\n")}\n`);
  const kafka = ["--kafka", brokers.join(",")];
  const produced = await lab(["produce", "--topic", topic, "--source", file, ...kafka]);
  assert.equal(produced.status, 0, produced.stderr);

  // The first creates the table, the second commits the rows.
  const loss = proxy.loseReply(isCommit, 2);
  const tableUri = `s3://${s3.bucket}/tables/${topic}`;
  const ingested = await lab(["ingest", "--topic", topic, "--table", tableUri, "--once", ...kafka], {
    env: s3Env(s3, proxy.endpoint),
  });
  assert.equal(ingested.status, 0, ingested.stderr);
  assert.equal(loss.hit.length, 2, "two replies were cut");
  const counted = await assertLedger({ brokers, topic, tableUri, storageOptions: s3StorageOptions(s3) });
  assert.deepEqual([counted.rows, counted.version], [500, 1]);
});
