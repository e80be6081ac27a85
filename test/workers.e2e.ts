import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { countRows } from "./support/count-rows.ts";
import { sharedBroker } from "./support/kafka.ts";
import { type LabRun, lab, startLab } from "./support/lab.ts";
import { assertLedger } from "./support/ledger.ts";
import { until } from "./support/until.ts";

type Setting = { brokers: string[]; topic: string; table: string; produce: string[]; ingest: string[] };

async function setting(t: TestContext, count: number): Promise<Setting> {
  const folder = await mkdtemp(join(tmpdir(), "lab-workers-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const brokers = await sharedBroker();
  const topic = `workers-${randomUUID()}`;
  const file = join(folder, "messages.ndjson");
  const lines = Array.from({ length: count }, (_, id) => JSON.stringify({ id, text: `message ${id}` }));
  await writeFile(file, `${lines.join("\n")}\n`);
  const kafka = ["--kafka", brokers.join(",")];
  const table = join(folder, "table");
  return {
    brokers,
    topic,
    table,
    produce: ["produce", "--topic", topic, "--source", file, "--partitions", "4", ...kafka],
    ingest: ["ingest", "--topic", topic, "--table", table, "--flush-latency", "300ms", ...kafka],
  };
}

function start(t: TestContext, args: string[]): LabRun {
  const run = startLab(args);
  t.after(() => run.child.kill("SIGKILL"));
  return run;
}

async function stop(run: LabRun): Promise<void> {
  run.child.kill("SIGTERM");
  const { status } = await run.ended;
  assert.equal(status, 0, run.stderr().slice(-3000));
}

test("two ingesters that start at once on an empty folder make one version 0, and both go on", async (t) => {
  const { brokers, topic, table, produce, ingest } = await setting(t, 5_000);
  const produced = await lab(produce);
  assert.equal(produced.status, 0, produced.stderr);
  const workers = [start(t, ingest), start(t, ingest)];
  await Promise.all(workers.map((worker) => worker.printed(/"assigned"/)));
  await until("all rows", async () => (await countRows(table)) === 5_000, { deadlineMs: 60_000 });
  for (const worker of workers) assert.equal(worker.child.exitCode, null, worker.stderr().slice(-3000));
  await Promise.all(workers.map(stop));
  await assertLedger({ brokers, topic, tableUri: table });
  const first = await readFile(join(table, "_delta_log", `${"0".repeat(20)}.json`), "utf8");
  assert.equal(first.split("\n").filter((line) => line.includes('"metaData"')).length, 1);
});

test("a worker that joins and leaves under load: nothing is lost or doubled", async (t) => {
  const { brokers, topic, table, produce, ingest } = await setting(t, 60_000);
  const producer = start(t, [...produce, "--rate", "2000/s"]);
  await producer.printed(/./);
  const first = start(t, ingest);
  await first.printed(/"committed"/);
  for (let round = 0; round < 2; round++) {
    const second = start(t, ingest);
    await second.printed(/"assigned"/);
    // On a slow machine the load may be over by now: then there is nothing left for it to commit.
    await Promise.race([second.printed(/"committed"/).catch(() => {}), producer.ended]);
    await stop(second);
  }
  const { status } = await producer.ended;
  assert.equal(status, 0, producer.stderr());
  await stop(first);
  const last = await lab([...ingest, "--once"]);
  assert.equal(last.status, 0, last.stderr);
  assert.equal((await assertLedger({ brokers, topic, tableUri: table })).rows, 60_000);
});
