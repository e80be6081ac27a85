import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openTable } from "../delta/open.ts";
import { localStore } from "../delta/store/local.ts";
import type { HistoryEntry } from "../delta/table.ts";
import { sharedBroker } from "./support/kafka.ts";
import { type LabRun, lab, startLab } from "./support/lab.ts";
import { assertLedger } from "./support/ledger.ts";
import { until } from "./support/until.ts";

const signal = new AbortController().signal;

test("two ingesters keep a table fast while it grows: each turn is one worker's, and nothing is lost or doubled", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-upkeep-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const brokers = await sharedBroker();
  const kafka = ["--kafka", brokers.join(",")];
  const topic = `upkeep-${randomUUID()}`;
  const table = join(folder, "table");
  const file = join(folder, "messages.ndjson");
  const lines = Array.from({ length: 40_000 }, (_, id) => JSON.stringify({ id, text: `message ${id}` }));
  await writeFile(file, `${lines.join("\n")}\nnot json\n`);
  const start = (args: string[]): LabRun => {
    const run = startLab(args);
    t.after(() => run.child.kill("SIGKILL"));
    return run;
  };
  const history = async (): Promise<HistoryEntry[]> => {
    const versions: HistoryEntry[] = [];
    for await (const version of (await openTable(localStore(table), signal)).history({ signal }))
      versions.push(version);
    return versions;
  };

  const producer = start([
    ...["produce", "--topic", topic, "--source", file, "--partitions", "4", "--rate", "1000/s"],
    ...kafka,
  ]);
  await producer.printed(/./);
  const ingest = ["ingest", "--topic", topic, "--table", table, "--flush-latency", "300ms", ...kafka];
  const upkeep = ["--upkeep", "optimize=5s,vacuum=10s,cleanup=10s", "--data", folder];
  const workers = [start([...ingest, ...upkeep]), start([...ingest, ...upkeep])];
  const optimizes = (versions: HistoryEntry[]) =>
    versions.filter(({ operation }) => operation === "OPTIMIZE");
  await until("three optimizes", async () => optimizes(await history().catch(() => [])).length >= 3, {
    deadlineMs: 90_000,
  });
  assert.equal((await producer.ended).status, 0, producer.stderr());
  for (const worker of workers) {
    worker.child.kill("SIGTERM");
    const { status } = await worker.ended;
    assert.equal(status, 0, worker.stderr().slice(-3000));
    assert.doesNotMatch(worker.stderr(), /upkeep failed/);
  }
  assert.equal((await lab([...ingest, "--once"])).status, 0);
  const { rows } = await assertLedger({ brokers, topic, tableUri: table });
  assert.equal(rows, 40_000);
  const versions = await history();
  const streamed = versions.filter(({ operation }) => operation === "STREAMING UPDATE").length;
  const { numFiles } = await (await openTable(localStore(table), signal)).latest(signal);
  assert.ok(numFiles < streamed / 2, `${numFiles} files after ${streamed} commits`);
  const turns = (chore: string) =>
    versions.filter(({ commitInfo }) => commitInfo?.operationParameters?.chore === chore);
  for (const chore of ["vacuum", "cleanup"]) assert.ok(turns(chore).length > 0, chore);
  const times = turns("optimize").map(({ timestampMs }) => timestampMs);
  const pauses = times.slice(1).map((later, at) => times[at]! - later);
  assert.ok(
    pauses.every((pause) => pause >= 4_000),
    `two workers took one turn: ${pauses}`,
  );
});
