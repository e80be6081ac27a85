import assert from "node:assert/strict";
import { readdir, readFile, rm } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { isLabError, LabError } from "../core/errors.ts";
import { createTable } from "../delta/create.ts";
import { openTable } from "../delta/open.ts";
import { serializeSchema } from "../delta/schema.ts";
import { openStore } from "../delta/store/open.ts";
import { failing, faultyStore, type StoreOp } from "../test/support/faulty-store.ts";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";
import { routedUri } from "./route-name.ts";

const { signal } = new AbortController();
const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => json({ id: from + n }));
const ids = async (fixture: Fixture) =>
  (await fixture.rows("SELECT id FROM t ORDER BY id")).map((row) => Number(row.id));
const range = (to: number) => Array.from({ length: to }, (_, n) => n);
const away = () => new LabError("STORE_UNREACHABLE", "the store is away");

/** Lets one kind of call fail from now on; `back` ends it. */
function outage(fixture: Fixture, op: StoreOp, path: RegExp) {
  let isAway = false;
  fixture.wrap = (store) =>
    faultyStore(store, (call) => (isAway && call.op === op && path.test(call.path) ? away() : undefined));
  return {
    begin() {
      isAway = true;
    },
    back() {
      isAway = false;
    },
  };
}

const outages: [what: string, op: StoreOp, path: RegExp][] = [
  ["data files", "put", /\.parquet$/],
  ["commits", "putIfAbsent", /\.json$/],
];
for (const [what, op, path] of outages)
  test(`a stop while the store takes no ${what} ends within its grace, says so, and loses nothing`, async (t) => {
    const fixture = await streamFixture(t);
    fixture.kafka.createTopic("t", 1);
    fixture.kafka.append("t", 0, numbered(0, 5));
    const store = outage(fixture, op, path);
    const worker = fixture.start({}, { stopGraceMs: 300 });
    await fixture.hasRows(5);
    store.begin();
    fixture.kafka.append("t", 0, numbered(5, 10));
    await until("the outage is reported", () => worker.ingest.reports()[0]?.state === "paused");
    const startedMs = Date.now();
    await assert.rejects(worker.end(), (error) => isLabError(error, "STORE_UNREACHABLE"));
    assert.ok(Date.now() - startedMs < 5_000);
    store.back();
    await fixture.start({ once: true }).ended;
    assert.deepEqual(await ids(fixture), range(10));
  });

test("a stop before the table could be made ends at once", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.wrap = (store) => faultyStore(store, failing("putIfAbsent", /0\.json$/, "hang", 9));
  const worker = fixture.start({ format: "text" }, { stopGraceMs: 300 });
  await until("the stream has begun", () => worker.ingest?.reports()[0]);
  await worker.end();
});

test("a stop while the brokers are away ends, and loses nothing", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, numbered(0, 5));
  const worker = fixture.start({ flush: { latencyMs: 60_000, rows: 1e6, bytes: 1 << 28 } });
  await until("all is read", () => worker.ingest?.reports()[0]?.buffer.rows === 5);
  fixture.kafka.outage(true);
  await worker.end();
  fixture.kafka.outage(false);
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), range(5));
});

test("once waits out an outage that comes in the middle, and ends", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, numbered(0, 5));
  fixture.wrap = (store) =>
    faultyStore(store, failing("put", /parquet$/, away(), 3), failing("putIfAbsent", /1\.json$/, away(), 3));
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), range(5));
});

test("an outage of whatever call a routed commit and its letters make is waited out", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  const bad = { key: null, value: "{bad" };
  fixture.kafka.append("t", 0, [json({ id: 0, country: "de" }), json({ id: 1, country: "fr" }), bad]);
  const failed = new Set<string>();
  let isMade = false;
  fixture.wrap = (store) =>
    faultyStore(store, ({ op, path }) => {
      if (op === "putIfAbsent") isMade = true;
      const call = `${op} ${path.replace(/part-.*/, "")} ${store.root}`;
      if (op === "putIfAbsent" || !isMade || failed.has(call)) return undefined;
      failed.add(call);
      return away();
    });
  await fixture.start({ once: true, route: "country" }).ended;
  for (const [id, value] of ["de", "fr"].entries())
    assert.deepEqual(await fixture.rowsOf(routedUri(fixture.tableUri, value), "SELECT id FROM t"), [
      { id: BigInt(id) },
    ]);
  assert.equal((await fixture.rows("SELECT * FROM letters", "letters")).length, 1);
});

test("memory stays bounded where keys and headers are large and values have no byte", async (t) => {
  const fixture = await streamFixture(t, { mostRecordsPerBatch: 10 });
  fixture.kafka.createTopic("t", 1);
  const store = outage(fixture, "put", /\.parquet$/);
  store.begin();
  const large = Buffer.alloc(50_000, "x");
  for (let n = 0; n < 300; n++)
    fixture.kafka.append("t", 0, [{ key: large, value: Buffer.alloc(0), headers: { h: large } }]);
  const worker = fixture.start(
    { format: "text", flush: { latencyMs: 50, rows: 1_000_000, bytes: 1 << 20 } },
    { chunkBytes: 1 << 20, budgetBytes: 4 << 20 },
  );
  await until("reading pauses", () => (worker.ingest?.reports()[0]?.buffer.rows ?? 0) >= 40);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const held = worker.ingest.reports()[0]?.buffer.rows ?? 0;
  assert.ok(held < 90, `${held} messages of 100 kB are held`);
  store.back();
  await fixture.hasRows(300);
  await worker.end();
  const [found] = await fixture.rows(
    "SELECT count(*) AS n, min(length(value)) AS v, min(length(key)) AS k FROM t",
  );
  assert.deepEqual([Number(found?.n), Number(found?.v), Number(found?.k)], [300, 0, 50_000]);
});

/** Parquet files in the folders that encoders stage in. */
async function staged(fixture: Fixture): Promise<string[]> {
  const names = await readdir(fixture.folder, { recursive: true });
  return names.filter((name) => name.startsWith("staging-") && name.endsWith(".parquet"));
}

test("a store that copies what it is given leaves no staged file behind, committed or not", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.wrap = (store) => ({
    ...store,
    put: async (path, body, signal) =>
      store.put(path, body instanceof Uint8Array ? body : new Uint8Array(await readFile(body.file)), signal),
  });
  fixture.kafka.append("t", 0, numbered(0, 5));
  const worker = fixture.start();
  await fixture.hasRows(5);
  await until("the staging folder is empty", async () => (await staged(fixture)).length === 0);
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  const txns = [{ appId: "lab/t-0", version: 7n }];
  await table.commit(
    { readSnapshot: await table.latest(signal), operation: "STREAMING UPDATE", txns },
    signal,
  );
  fixture.kafka.append("t", 0, numbered(5, 10));
  await fixture.hasRows(7);
  await until("the staging folder is empty", async () => (await staged(fixture)).length === 0);
  await worker.end();
});

test("a table that is removed under its writer ends it, and the next start makes it anew", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, numbered(0, 5));
  const worker = fixture.start();
  await fixture.hasRows(5);
  await rm(fileURLToPath(fixture.tableUri), { recursive: true });
  fixture.kafka.append("t", 0, numbered(5, 10));
  await assert.rejects(worker.ended, (error) => isLabError(error, "NOT_A_TABLE"));
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), range(10));
});

test("a table made anew under a writer is not written by what that knew of the old one", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, numbered(0, 5));
  const worker = fixture.start();
  await fixture.hasRows(5);
  await rm(fileURLToPath(fixture.tableUri), { recursive: true });
  const other = { name: "other", type: "long" as const, nullable: true, metadata: {} };
  const store = await openStore(fixture.tableUri, { signal });
  await createTable(store, { schema: { type: "struct", fields: [other] } }, signal);
  fixture.kafka.append("t", 0, numbered(5, 10));
  await assert.rejects(worker.ended, (error) => isLabError(error, "NOT_A_TABLE"));
  assert.equal((await (await openTable(store, signal)).latest(signal)).version, 0);
});

test("a column that another writer adds in between costs a second look, and no record", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, numbered(0, 5));
  const worker = fixture.start();
  await fixture.hasRows(5);
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  const snapshot = await table.latest(signal);
  const added = { name: "added", type: "string" as const, nullable: true, metadata: {} };
  const schema = { type: "struct" as const, fields: [...snapshot.schema.fields, added] };
  const metadata = { ...snapshot.metadata, schemaString: serializeSchema(schema) };
  await table.commit({ readSnapshot: snapshot, operation: "ADD COLUMNS", metadata }, signal);
  fixture.kafka.append("t", 0, [...numbered(5, 10), json({ id: 10, added: "x", more: 1 })]);
  await fixture.hasRows(11);
  await worker.end();
  assert.deepEqual(await ids(fixture), range(11));
  assert.deepEqual(await fixture.rows("SELECT added, more FROM t WHERE id = 10"), [{ added: "x", more: 1n }]);
});
