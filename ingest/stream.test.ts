import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isLabError, LabError } from "../core/errors.ts";
import { createTable } from "../delta/create.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { failing, faultyStore } from "../test/support/faulty-store.ts";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";

const { signal } = new AbortController();
const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => json({ id: from + n }));
const ids = async (fixture: Fixture) =>
  (await fixture.rows("SELECT id FROM t ORDER BY id")).map((row) => Number(row.id));
const statistics = async (uri: string) => {
  const snapshot = await (await openTable(await openStore(uri, { signal }), signal)).latest(signal);
  return [...snapshot.files()].map((add) => add.stats);
};
const range = (to: number) => Array.from({ length: to }, (_, n) => n);

async function topicOf(t: TestContext, count: number, partitions = 1): Promise<Fixture> {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", partitions);
  if (count > 0) fixture.kafka.append("t", 0, numbered(0, count));
  return fixture;
}

test("messages become rows, and a restart goes on where the log is", async (t) => {
  const fixture = await topicOf(t, 10);
  const first = fixture.start();
  await fixture.hasRows(10);
  await first.end();
  fixture.kafka.append("t", 0, numbered(10, 20));
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), range(20));
});

test("each row says where it came from, and each commit what it settled", async (t) => {
  const fixture = await topicOf(t, 3);
  await fixture.start({ once: true }).ended;
  const [row] = await fixture.rows(
    "SELECT _kafka.topic AS topic, _kafka.partition AS p, _kafka.offset AS o, _kafka.timestamp_type AS tt FROM t ORDER BY o DESC",
  );
  assert.deepEqual(row, { topic: "t", p: 0, o: 2n, tt: "create" });
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  const snapshot = await table.latest(signal);
  assert.equal(snapshot.txn("lab/t-0"), 2n);
  for await (const entry of table.history({ limit: 1, signal })) {
    const lab = entry.commitInfo?.lab as { v: number; app: string; partitions: Record<string, unknown>[] };
    assert.deepEqual([lab.v, lab.app], [1, "lab"]);
    const { partition, first, last, rows, letters, skipped } = lab.partitions[0] ?? {};
    assert.deepEqual(
      { partition, first, last, rows, letters, skipped },
      { partition: 0, first: "0", last: "2", rows: 3, letters: 0, skipped: 0 },
    );
  }
});

test("the group's own offsets are never believed", async (t) => {
  const fixture = await topicOf(t, 10);
  await fixture.start({ once: true, group: "g", tableUri: `${fixture.tableUri}-other` }).ended;
  assert.equal(fixture.kafka.groupOffset("g", { topic: "t", partition: 0 }), 10n);
  await fixture.start({ once: true, group: "g" }).ended;
  assert.deepEqual(await ids(fixture), range(10));
});

test("a batch from another offset, and a client that resets itself, do no harm", async (t) => {
  const fixture = await topicOf(t, 10);
  const worker = fixture.start();
  await fixture.hasRows(10);
  await fixture.kafka.misdeliver({ topic: "t", partition: 0, nextOffset: 2n });
  fixture.kafka.drift({ topic: "t", partition: 0, nextOffset: 0n });
  fixture.kafka.append("t", 0, numbered(10, 20));
  await fixture.hasRows(20);
  await worker.end();
  assert.deepEqual(await ids(fixture), range(20));
});

test("aborted transactions leave no rows, and once still ends", async (t) => {
  const fixture = await topicOf(t, 5);
  const aborted = fixture.kafka.transaction("t");
  aborted.append(0, numbered(100, 105));
  aborted.abort();
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), range(5));
});

test("once ends on an empty topic and on a table that is up to date", async (t) => {
  const fixture = await topicOf(t, 0);
  await fixture.start({ once: true }).ended;
  fixture.kafka.append("t", 0, numbered(0, 3));
  await fixture.start({ once: true }).ended;
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), range(3));
});

test("a bad message becomes a letter with all that is needed to replay it, and the rest are rows", async (t) => {
  const fixture = await topicOf(t, 2);
  const bad = { key: "k", value: "{broken", headers: { h: "v" } };
  fixture.kafka.append("t", 0, [bad, json({ id: 2 }), { key: null, value: null }, { key: null, value: "" }]);
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), range(3));
  const letters = await fixture.rows(
    'SELECT "offset" AS o, decode("key") AS k, decode("value") AS v, headers[1].key AS h, stage, attempt FROM letters ORDER BY o',
    "letters",
  );
  assert.deepEqual(
    letters.map(({ o, stage }) => [o, stage]),
    [
      [2n, "decode"],
      [4n, "decode"],
      [5n, "decode"],
    ],
  );
  assert.deepEqual(
    [letters[0]?.k, letters[0]?.v, letters[0]?.h, letters[0]?.attempt],
    ["k", "{broken", "h", 1],
  );
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  assert.equal((await table.latest(signal)).txn("lab/t-0"), 5n);
  assert.deepEqual(await statistics(`${fixture.tableUri}__dead_letters`), [
    '{"numRecords":3,"minValues":{"partition":0,"offset":2},"maxValues":{"partition":0,"offset":5},"nullCount":{"partition":0,"offset":0}}',
  ]);
});

test("a table's properties decide which columns of its files have statistics", async (t) => {
  const fixture = await topicOf(t, 2);
  await fixture.start({ once: true, tableProperties: { "delta.dataSkippingNumIndexedCols": "0" } }).ended;
  const [stats] = await statistics(fixture.tableUri);
  assert.deepEqual(JSON.parse(stats!).nullCount, { _kafka: { partition: 0, offset: 0, timestamp: 0 } });
});

test("letters that a killed run left behind are final: neither tried again nor written again", async (t) => {
  const fixture = await topicOf(t, 2);
  fixture.kafka.append("t", 0, [{ key: null, value: "{broken" }, json({ id: 2 })]);
  class Killed extends Error {}
  const killed = fixture.start(
    {},
    {
      onStep: (step) => {
        if (step === "after-letters") throw new Killed("power cut");
      },
    },
  );
  await assert.rejects(killed.ended, /power cut/);
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), range(3));
  assert.equal((await fixture.rows("SELECT 1 FROM letters", "letters")).length, 1);
});

test("with stop instead of letters the first bad record ends the stream, with nothing behind it settled", async (t) => {
  const fixture = await topicOf(t, 2);
  fixture.kafka.append("t", 0, [{ key: null, value: "{broken" }]);
  await assert.rejects(fixture.start({ onBadRecord: "stop" }).ended, (error) => {
    assert.ok(isLabError(error, "BAD_RECORD"));
    assert.match(error.message, /t-0 offset 2/);
    return true;
  });
});

test("a store that is away is waited for, and what was read is not lost", async (t) => {
  const fixture = await topicOf(t, 10);
  let isAway = true;
  const outage = () => new LabError("STORE_UNREACHABLE", "the store is away");
  fixture.wrap = (store) =>
    faultyStore(store, ({ op, path }) =>
      isAway && op === "put" && path.endsWith(".parquet") ? outage() : undefined,
    );
  const worker = fixture.start();
  await until("the outage is reported", () => worker.ingest?.reports()[0]?.state === "paused");
  isAway = false;
  await fixture.hasRows(10);
  await worker.end();
  assert.deepEqual(await ids(fixture), range(10));
});

test("a commit whose reply is lost is there once", async (t) => {
  const fixture = await topicOf(t, 10);
  fixture.wrap = (store) => faultyStore(store, failing("putIfAbsent", /0000000[1-9]\.json$/, "lose-reply"));
  await fixture.start({ once: true }).ended;
  assert.deepEqual(await ids(fixture), range(10));
});

test("two workers on one empty folder make one version 0 and share the partitions", async (t) => {
  const fixture = await topicOf(t, 0, 2);
  const workers = [fixture.start(), fixture.start()];
  for (let n = 0; n < 40; n++) fixture.kafka.append("t", n % 2, numbered(n, n + 1));
  await fixture.hasRows(40);
  await Promise.all(workers.map((worker) => worker.end()));
  assert.deepEqual(await ids(fixture), range(40));
});

test("rebalances under load lose and double nothing", async (t) => {
  const fixture = await topicOf(t, 0, 3);
  const steady = fixture.start();
  for (let n = 0; n < 300; n++) {
    fixture.kafka.append("t", n % 3, numbered(n, n + 1));
    if (n % 60 === 59) {
      const guest = fixture.start();
      await new Promise((resolve) => setTimeout(resolve, 120));
      await guest.end();
    }
  }
  await fixture.hasRows(300);
  await steady.end();
  assert.deepEqual(await ids(fixture), range(300));
});

test("a position that another writer of the app moved is given up, not overwritten", async (t) => {
  const fixture = await topicOf(t, 5);
  const worker = fixture.start({}, { onStep: () => {} });
  await fixture.hasRows(5);
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  const foreign = await table.commit(
    {
      readSnapshot: await table.latest(signal),
      operation: "STREAMING UPDATE",
      txns: [{ appId: "lab/t-0", version: 9n }],
    },
    signal,
  );
  assert.equal(foreign.kind, "committed");
  fixture.kafka.append("t", 0, numbered(5, 15));
  await fixture.hasRows(10);
  await worker.end();
  assert.deepEqual(await ids(fixture), [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]);
});

test("a field that the table lacks becomes a column in the commit of its first row", async (t) => {
  const fixture = await topicOf(t, 2);
  await fixture.start({ once: true }).ended;
  fixture.kafka.append("t", 0, [json({ id: 2, note: "new", deep: { a: 1 } })]);
  await fixture.start({ once: true }).ended;
  const found = await fixture.rows("SELECT id, note, deep.a AS a FROM t ORDER BY id");
  assert.deepEqual(found.at(-1), { id: 2n, note: "new", a: 1n });
  assert.deepEqual(found[0]?.note, null);
});

test("a date partition is derived from the record's time where nothing else gives it", async (t) => {
  const fixture = await topicOf(t, 0);
  fixture.kafka.append("t", 0, [{ ...json({ id: 0 }), timestampMs: Date.UTC(2026, 0, 2, 23, 59) }]);
  await fixture.start({ once: true, partitionBy: ["date"] }).ended;
  assert.deepEqual(await fixture.rows("SELECT id, date FROM t"), [{ id: 0n, date: "2026-01-02" }]);
});

test("text messages keep key and value, nulls and empty ones included", async (t) => {
  const fixture = await topicOf(t, 0);
  fixture.kafka.append("t", 0, [
    { key: "Key1", value: "One!" },
    { key: null, value: null },
    { key: "", value: "" },
  ]);
  await fixture.start({ once: true, format: "text" }).ended;
  assert.deepEqual(await fixture.rows("SELECT key, value FROM t ORDER BY _kafka.offset"), [
    { key: "Key1", value: "One!" },
    { key: null, value: null },
    { key: "", value: "" },
  ]);
});

test("memory stays bounded: reading pauses at the byte budget while commits are held up", async (t) => {
  const fixture = await streamFixture(t, { mostRecordsPerBatch: 10 });
  fixture.kafka.createTopic("t", 1);
  let isAway = true;
  const outage = () => new LabError("STORE_UNREACHABLE", "the store is away");
  fixture.wrap = (store) =>
    faultyStore(store, ({ op, path }) =>
      isAway && op === "put" && path.endsWith(".parquet") ? outage() : undefined,
    );
  const big = "x".repeat(100_000);
  for (let id = 0; id < 300; id++) fixture.kafka.append("t", 0, [json({ id, big })]);
  const worker = fixture.start(
    { flush: { latencyMs: 50, rows: 1_000_000, bytes: 1 << 20 } },
    { chunkBytes: 1 << 20, budgetBytes: 4 << 20 },
  );
  await until("the budget is full", () => (worker.ingest?.reports()[0]?.buffer.bytes ?? 0) > 3 << 20);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const held = worker.ingest.reports()[0]?.buffer.bytes ?? 0;
  assert.ok(held < 8 << 20, `${held} bytes are held`);
  isAway = false;
  await fixture.hasRows(300);
  await worker.end();
  assert.deepEqual(await ids(fixture), range(300));
});

test("metrics and state agree with what was put in, lag 0 included", async (t) => {
  const fixture = await topicOf(t, 7);
  fixture.kafka.append("t", 0, [{ key: null, value: "{broken" }]);
  const worker = fixture.start();
  const report = await until("lag 0", () => {
    const found = worker.ingest?.reports()[0];
    return found?.partitions[0]?.lag === "0" && found.totals.rows === 7 && found;
  });
  assert.deepEqual(
    [report.totals.rows, report.totals.letters, report.partitions[0]?.settled, report.state],
    [7, 1, "7", "running"],
  );
  const text = await fixture.registry.metrics();
  assert.match(text, /lab_ingest_rows_total\{[^}]*\} 7\n/);
  assert.match(text, /lab_ingest_letters_total\{[^}]*\} 1\n/);
  assert.match(text, /lab_ingest_lag_records\{[^}]*\} 0\n/);
  await worker.end();
});

test("a missing topic and a folder with another table's column are refused with a way out", async (t) => {
  const fixture = await streamFixture(t);
  await assert.rejects(fixture.start({ once: true }).ended, (error) => isLabError(error, "TOPIC_MISSING"));
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [json({ id: "text" })]);
  const field = { name: "id", type: "long" as const, nullable: true, metadata: {} };
  await createTable(
    await openStore(fixture.tableUri, { signal }),
    { schema: { type: "struct", fields: [field] } },
    signal,
  );
  await fixture.start({ once: true }).ended;
  const letters = await fixture.rows("SELECT stage FROM letters", "letters");
  assert.deepEqual(letters, [{ stage: "schema" }]);
});
