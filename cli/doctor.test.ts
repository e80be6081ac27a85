import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { serializeSchema } from "../delta/schema.ts";
import { memoryStore } from "../delta/store/memory.ts";
import type { Store } from "../delta/store/store.ts";
import { writeRunFile } from "../services/run-file.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import {
  checkBroker,
  checkDisk,
  checkEngine,
  checkLeftovers,
  checkMemory,
  checkNode,
  checkPort,
  checkStore,
} from "./doctor-checks.ts";
import { checkColumns } from "./doctor-columns.ts";
import { checkWriters } from "./doctor-writers.ts";

const signal = new AbortController().signal;

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "doctor-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("an old Node fails with the fix", () => {
  assert.equal(checkNode("20.19.0").verdict, "ok");
  assert.equal(checkNode("24.0.0").verdict, "ok");
  assert.equal(checkNode("20.18.3").verdict, "failed");
  assert.match(checkNode("18.20.0").fix ?? "", /20\.19/);
});

test("a taken port fails where it is needed, and is a note where another will do", async (t) => {
  const dataDir = await folder(t);
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const needed = await checkPort(port, { name: "dashboard", needed: true, flag: "--port", dataDir });
  assert.equal(needed.verdict, "failed");
  assert.ok(needed.detail.includes(`pid ${process.pid}`));
  assert.ok(needed.fix?.includes("--port"));
  assert.equal((await checkPort(port, { name: "broker", needed: false, flag: "", dataDir })).verdict, "note");

  const startedAt = new Date().toISOString();
  const file = { name: "dashboard", kind: "dashboard", pid: process.pid, opsPort: null, startedAt };
  await writeRunFile(join(dataDir, "run", "dashboard.json"), file);
  assert.equal(
    (await checkPort(port, { name: "dashboard", needed: true, flag: "--port", dataDir })).verdict,
    "ok",
  );
});

test("a store is raced, timed, and left as it was", async (t) => {
  const store = await folder(t);
  const checks = await checkStore(store, {}, signal);
  assert.deepEqual(
    checks.map(({ name, verdict }) => [name, verdict]),
    [
      ["store", "ok"],
      ["put-if-absent", "ok"],
      ["clock", "ok"],
    ],
  );
  assert.deepEqual(await readdir(store), []);
  const fresh = join(store, "not", "yet");
  assert.equal((await checkStore(fresh, {}, signal))[0]?.verdict, "ok");
  assert.equal(existsSync(join(store, "not")), false);
});

test("a store that cannot be used fails with code and fix", async (t) => {
  const file = join(await folder(t), "file");
  await writeFile(file, "no folder");
  for (const uri of [file, "gs://bucket", "s3://"]) {
    const [check] = await checkStore(uri, {}, signal);
    assert.equal(check?.verdict, "failed");
    assert.ok(check?.fix !== undefined && check.fix !== "");
  }
});

test("a broker address that does not answer fails", async () => {
  const access = async () => ({ brokers: ["127.0.0.1:1"] });
  const where = { cacheDir: "/nowhere", dataDir: "/nowhere", signal, access };
  const [check] = await checkBroker("127.0.0.1:1", where);
  assert.equal(check?.verdict, "failed");
  assert.ok(check?.fix !== undefined);
});

test("what a killed lab left is told apart from what still runs", async (t) => {
  const dataDir = await folder(t);
  assert.equal((await checkLeftovers(dataDir)).detail, "nothing left over");
  await mkdir(dataDir, { recursive: true });
  await writeFile(join(dataDir, "lab.lock"), "stale");
  assert.equal((await checkLeftovers(dataDir)).verdict, "note");
  const startedAt = new Date().toISOString();
  const file = { name: "ingest", kind: "ingest", pid: process.pid, opsPort: null, startedAt };
  await writeRunFile(join(dataDir, "run", "ingest.json"), file);
  const orphan = await checkLeftovers(dataDir);
  assert.equal(orphan.verdict, "warning");
  assert.ok(orphan.detail.includes(`ingest (pid ${process.pid})`));
});

test("memory is told in words a person reads", async () => {
  assert.match((await checkMemory()).detail, /^\d+(\.\d+)?[GM]iB available$/);
});

test("Spark's commits on a table that is ingested are a warning; on other tables they are not", async (t) => {
  const store = await folder(t);
  const lab = { lab: { v: 1, app: "lab", generation: 0, partitions: [] } };
  const spark = { engineInfo: "Apache-Spark/4.1.0 Delta-Lake/4.1.0" };
  for (const [name, infos] of Object.entries({ both: [spark, lab], ingested: [lab], sparks: [spark] })) {
    const { append } = await sqlTable(join(store, name), { id: "long" });
    for (const info of infos) await append({ info });
  }
  const checks = await checkWriters(store, signal);
  assert.deepEqual(
    checks.map(({ verdict }) => verdict),
    ["warning"],
  );
  assert.match(checks[0]!.detail, /^both is ingested, and Apache-Spark.* version 1/);
  assert.match(checks[0]!.fix ?? "", /docs\/others\.md/);
});

test("a column that became text because of few messages is noted with those messages and the way out", async (t) => {
  const store = await folder(t);
  const why = "1 of 1,000 messages had text there, first orders/3@17, where the others had a number";
  await sqlTable(join(store, "plain"), { amount: "string" });
  const { table } = await sqlTable(join(store, "orders"), { id: "long", amount: "string" });
  const readSnapshot = await table.latest(signal);
  const fields = readSnapshot.schema.fields.map((field) =>
    field.name === "amount" ? { ...field, metadata: { "lab.mixed": why } } : field,
  );
  const metadata = {
    ...readSnapshot.metadata,
    schemaString: serializeSchema({ type: "struct", fields }),
  };
  await table.commit({ readSnapshot, operation: "WRITE", metadata }, signal);
  const [found, ...others] = await checkColumns(store, signal);
  assert.deepEqual([found?.verdict, others], ["note", []]);
  assert.equal(found?.detail, `orders: column amount is STRING: ${why}`);
  assert.match(found?.fix ?? "", /docs\/formats\.md/);
});

test("a disk that is nearly full is a warning, one that is full a failure, each with what can go", async (t) => {
  const path = join(await folder(t), "not", "yet");
  assert.match((await checkDisk(path)).detail, /^\d+\.\dGiB free for .*yet$/);
  const free = (bytes: number) => checkDisk(path, async () => bytes);
  assert.equal((await free(3 * 1024 ** 3)).verdict, "ok");
  const low = await free(1024 ** 3);
  assert.equal(low.verdict, "warning");
  assert.match(low.fix ?? "", /lab vacuum/);
  assert.equal((await free(1024 ** 2)).verdict, "failed");
});

test("an engine that npm left out is named with the command that brings it", async () => {
  assert.match((await checkEngine()).detail, /^DuckDB v?\d/);
  const missing = await checkEngine(() =>
    Promise.reject(new Error("Cannot find module '@duckdb/x'\nRequire stack")),
  );
  assert.equal(missing.verdict, "failed");
  assert.match(missing.detail, /Cannot find module '@duckdb\/x'$/);
  assert.match(missing.fix ?? "", /npm ci/);
});

test("a memory that is short, a clock that is off and a store that is not atomic are each told with what to do", async () => {
  assert.equal((await checkMemory(async () => 1024 ** 3)).verdict, "warning");
  assert.equal((await checkMemory(async () => 3 * 1024 ** 3)).verdict, "ok");
  const memory = memoryStore();
  const hourAgo: Store = {
    ...memory,
    async *list(prefix, options) {
      for await (const one of memory.list(prefix, options))
        yield { ...one, modifiedMs: one.modifiedMs - 3_600_000 };
    },
  };
  const clock = (await checkStore("s3://b/p", {}, signal, async () => hourAgo)).find(
    ({ name }) => name === "clock",
  );
  assert.equal(clock?.verdict, "warning");
  assert.match(clock?.detail ?? "", /^-3600\.\d s apart/);
  const careless: Store = { ...memory, putIfAbsent: async () => "created" };
  const race = (await checkStore("s3://b/p", {}, signal, async () => careless)).find(
    ({ name }) => name === "put-if-absent",
  );
  assert.equal(race?.verdict, "failed");
  assert.match(race?.detail ?? "", /^20 of 20/);
  assert.match(race?.fix ?? "", /another store/);
});
