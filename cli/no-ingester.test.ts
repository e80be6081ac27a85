import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { groupOf } from "../ingest/identity.ts";
import { fakeKafka } from "../kafka/fake.ts";
import { runFilePath, writeRunFile } from "../services/run-file.ts";
import { requireNoIngester } from "./no-ingester.ts";

const { signal } = new AbortController();
const tableUri = "file:///tables/orders";

async function check(t: TestContext) {
  const data = await mkdtemp(join(tmpdir(), "no-ingester-"));
  t.after(() => rm(data, { recursive: true, force: true }));
  const kafka = fakeKafka();
  kafka.createTopic("orders", 1);
  const notes: string[] = [];
  return {
    data,
    kafka,
    notes,
    ask: (appIds: string[] = ["lab/orders-0"]) =>
      requireNoIngester({ tableUri, appIds, data, kafka, note: (line) => notes.push(line), signal }),
  };
}

test("where nobody ingests, offsets may be taken back", async (t) => {
  const { ask, notes } = await check(t);
  await ask();
  assert.deepEqual(notes, []);
});

test("a member of the table's consumer group stands in the way, wherever it runs", async (t) => {
  const { ask, kafka } = await check(t);
  const source = kafka.source({ topics: ["orders"], group: groupOf("team/a", tableUri) });
  t.after(() => source.close());
  let isAssigned = () => {};
  const assigned = new Promise<void>((resolve) => {
    isAssigned = resolve;
  });
  void source.run({
    assigned: isAssigned,
    revoked() {},
    async batch() {},
    outage() {},
    fatal() {},
  });
  await assigned;
  await ask(["lab/orders-0"]);
  await assert.rejects(
    ask(["lab/orders-0", "team/a/orders-0"]),
    (error) => isLabError(error, "COMMIT_CONFLICT") && error.message.includes(groupOf("team/a", tableUri)),
  );
});

test("an ingester of this machine that does not say what it does stands in the way", async (t) => {
  const { ask, data } = await check(t);
  const startedAt = new Date().toISOString();
  const part = { name: "ingest-orders", kind: "ingest", pid: process.pid, opsPort: null, startedAt };
  await writeRunFile(runFilePath(data, part.name), part);
  await assert.rejects(
    ask(),
    (error) => isLabError(error, "COMMIT_CONFLICT") && /ingest-orders \(pid \d+\)/.test(error.message),
  );
});

test("a broker that does not answer is told, not taken for a no", async (t) => {
  const { ask, kafka, notes } = await check(t);
  kafka.outage(true);
  await ask();
  assert.match(notes.join(), /could not be asked/);
});
