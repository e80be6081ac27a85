import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { createTable } from "../delta/create.ts";
import { openTable, readVersion } from "../delta/open.ts";
import { writerFeaturesOf } from "../delta/protocol.ts";
import { memoryStore } from "../delta/store/memory.ts";
import { collect, commit, committed, file, quick, schema, signal } from "../delta/table.fixture.ts";
import { cleanupLog } from "./cleanup.ts";

const DAY = 86_400_000;
const START = Date.parse("2026-01-01T12:00:00Z");

/** A table over the memory store whose clock is turned by hand: one commit a day, a checkpoint at every `every`th. */
async function daily(
  t: TestContext,
  days: number,
  options: { every?: number; configuration?: Record<string, string> } = {},
) {
  let nowMs = START;
  const now = () => nowMs;
  const store = memoryStore({ name: t.name, now });
  const { configuration = {} } = options;
  const table = await createTable(store, { schema, configuration }, signal, { ...quick, now });
  for (let day = 1; day <= days; day++) {
    nowMs += DAY;
    const { snapshot } = committed(await commit(table, { adds: [file(`f${day}`)] }));
    if (options.every !== undefined && day % options.every === 0) await table.checkpoint(snapshot, signal);
  }
  return {
    store,
    table,
    now,
    pass: (ms: number) => {
      nowMs += ms;
    },
    log: async () => (await collect(store.list("_delta_log/", { signal }))).map(({ path }) => path.slice(11)),
  };
}

const commitName = (version: number) => `${String(version).padStart(20, "0")}.json`;
const checkpointName = (version: number) => `${String(version).padStart(20, "0")}.checkpoint.parquet`;

test("what is older than the newest old checkpoint goes; it, its commit and all after stay, and read the same", async (t) => {
  const { table, store, now, log } = await daily(t, 60, { every: 10 });
  const before = await Promise.all([20, 25, 60].map((version) => readVersion(store, version, signal)));
  const result = await cleanupLog(table, { now }, signal);
  assert.equal(new Date(result.cutoffMs).toISOString(), "2026-01-31T00:00:00.000Z");
  assert.deepEqual(
    [result.oldest, result.deleted, result.reason],
    [20, { commits: 20, checkpoints: 1, checksums: 0, compactions: 0, sidecars: 0 }, null],
  );
  const left = await log();
  assert.equal(left.includes(commitName(19)), false);
  assert.equal(left.includes(commitName(20)) && left.includes(checkpointName(20)), true);
  for (const snapshot of before) {
    const again = await readVersion(store, snapshot.version, signal);
    assert.deepEqual([...again.files()], [...snapshot.files()]);
    assert.equal(again.timestampMs, snapshot.timestampMs);
  }
  await assert.rejects(readVersion(store, 19, signal), (error) => isLabError(error, "VERSION_NOT_FOUND"));
  const fresh = await openTable(store, signal);
  assert.equal((await fresh.at({ timestampMs: START + 25 * DAY + 5 }, signal)).version, 25);
  assert.equal((await collect(fresh.history({ signal }))).length, 41);
});

test("a commit that somebody has yet to read stays, with the checkpoint before it and all after it", async (t) => {
  const { table, now, log } = await daily(t, 60, { every: 10 });
  const asked: number[] = [];
  const unread = (version: number | undefined) => async (before: number) => {
    asked.push(before);
    return version;
  };
  const held = await cleanupLog(table, { now, unread: unread(5) }, signal);
  assert.deepEqual([held.deleted.commits, held.reason, held.unread], [0, "unread", 5]);
  const some = await cleanupLog(table, { now, unread: unread(15) }, signal);
  assert.deepEqual([some.oldest, some.deleted.commits, some.reason, some.unread], [10, 10, null, 15]);
  const all = await cleanupLog(table, { now, unread: unread(undefined) }, signal);
  assert.deepEqual([all.oldest, all.deleted.commits, all.reason, all.unread], [20, 10, null, null]);
  assert.deepEqual(asked, [20, 20, 20]);
  assert.equal((await log()).includes(commitName(20)), true);
});

test("readers and writers that were open before go on afterwards", async (t) => {
  const { table, store, now } = await daily(t, 60, { every: 10 });
  const reader = await openTable(store, signal, quick);
  await cleanupLog(table, { now }, signal);
  assert.equal((await reader.latest(signal)).version, 60);
  committed(await commit(reader, { adds: [file("more")] }));
  assert.equal((await table.latest(signal)).numFiles, 61);
});

test("a log that loses a version at a time is readable at every step, also where cleanup stops half way", async (t) => {
  const { table, store, now } = await daily(t, 45, { every: 5 });
  const live = async () =>
    [...(await (await openTable(store, signal)).latest(signal)).files()].map(({ path }) => path);
  const wanted = await live();
  let steps = 0;
  const watched = {
    ...store,
    async delete(path: string, abort: AbortSignal) {
      await store.delete(path, abort);
      const mine = ++steps;
      assert.deepEqual(await live(), wanted);
      if (mine === 7) throw new Error("cut");
    },
  };
  await assert.rejects(cleanupLog(await openTable(watched, signal), { now }, signal), /cut/);
  const done = await cleanupLog(table, { now }, signal);
  assert.equal(done.oldest, 10);
});

test("without an old checkpoint nothing goes, and the reason is told", async (t) => {
  const { table, now, log } = await daily(t, 60);
  const before = await log();
  const result = await cleanupLog(table, { now }, signal);
  assert.deepEqual([result.oldest, result.reason], [null, "no checkpoint"]);
  assert.deepEqual(await log(), before);
});

test("a checkpoint that cannot be read is not relied on", async (t) => {
  const { table, store, now } = await daily(t, 60, { every: 10 });
  await store.put(`_delta_log/${checkpointName(20)}`, Buffer.from("garbage"), signal);
  assert.equal((await cleanupLog(table, { now }, signal)).oldest, 10);
});

test("a young log and one whose property says so are left alone", async (t) => {
  const { table, now } = await daily(t, 20, { every: 5 });
  assert.equal((await cleanupLog(table, { now }, signal)).reason, "young");
  const off = await daily(t, 60, {
    every: 10,
    configuration: { "delta.enableExpiredLogCleanup": "false" },
  });
  assert.equal((await cleanupLog(off.table, { now: off.now }, signal)).reason, "off");
  assert.equal((await off.log()).length, 61 + 6 + 1);
});

test("the table's own log retention counts; checksums and compactions go with their versions", async (t) => {
  const { table, store, now, log } = await daily(t, 20, {
    every: 5,
    configuration: { "delta.logRetentionDuration": "interval 7 days" },
  });
  const version = (n: number) => String(n).padStart(20, "0");
  const extra = [
    `${version(9)}.crc`,
    `${version(10)}.crc`,
    `${version(9)}.${version(12)}.compacted.json`,
    `${version(11)}.${version(12)}.compacted.json`,
  ];
  for (const name of extra) await store.put(`_delta_log/${name}`, Buffer.from("{}"), signal);
  const { oldest, deleted } = await cleanupLog(table, { now }, signal);
  assert.deepEqual(
    [oldest, deleted],
    [10, { commits: 10, checkpoints: 1, checksums: 1, compactions: 1, sidecars: 0 }],
  );
  const left = await log();
  assert.deepEqual(
    extra.filter((name) => left.includes(name)),
    [extra[1], extra[3]],
  );
});

test("a version whose time rests on those before it is not made the oldest", async (t) => {
  // All commits up to 30 carry the same file time, as in a copied folder: each time but the first rests on its neighbour.
  let nowMs = START;
  const now = () => nowMs;
  const store = memoryStore({ name: t.name, now });
  const table = await createTable(store, { schema }, signal, { ...quick, now });
  for (let version = 1; version <= 40; version++) {
    if (version > 30) nowMs += 2 * DAY;
    const { snapshot } = committed(await commit(table, { adds: [file(`f${version}`)] }));
    if (version % 5 === 0) await table.checkpoint(snapshot, signal);
  }
  nowMs += 18 * DAY;
  const { oldest, reason } = await cleanupLog(table, { now }, signal);
  assert.deepEqual([oldest, reason], [null, "no checkpoint"]);
  nowMs += 10 * DAY;
  assert.equal((await cleanupLog(table, { now }, signal)).oldest, 35);
});

test("sidecars that no checkpoint names go once they are a day old", async (t) => {
  const { table, store, now, pass, log } = await daily(t, 60, { every: 10 });
  const line = (action: object) => `${JSON.stringify(action)}\n`;
  const { protocol, metadata } = await table.latest(signal);
  const name = `${String(60).padStart(20, "0")}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json`;
  const body =
    line({ checkpointMetadata: { version: 60 } }) +
    line({ protocol }) +
    line({ metaData: metadata }) +
    line({ sidecar: { path: "used.parquet", sizeInBytes: 1, modificationTime: 1 } });
  await store.put(`_delta_log/${name}`, Buffer.from(body), signal);
  for (const sidecar of ["used", "spare"])
    await store.put(`_delta_log/_sidecars/${sidecar}.parquet`, Buffer.from("x"), signal);
  assert.equal((await cleanupLog(table, { now }, signal)).deleted.sidecars, 0);
  pass(DAY + 1);
  assert.equal((await cleanupLog(table, { now }, signal)).deleted.sidecars, 1);
  assert.equal((await log()).includes("_sidecars/used.parquet"), true);
});

test("a table that protects its checkpoints, as one does that lost a feature, is written, and no version of it goes", async (t) => {
  const { table, now, log } = await daily(t, 60, { every: 10 });
  const { protocol } = await table.latest(signal);
  const writerFeatures = [...writerFeaturesOf(protocol), "checkpointProtection"];
  committed(await commit(table, { protocol: { minReaderVersion: 1, minWriterVersion: 7, writerFeatures } }));
  committed(await commit(table, { adds: [file("more")] }));
  const before = await log();
  await assert.rejects(
    cleanupLog(table, { now }, signal),
    (error) => isLabError(error, "UNSUPPORTED_FEATURE") && error.message.includes("checkpointProtection"),
  );
  assert.deepEqual(await log(), before);
});

test("a dry run deletes nothing and says what would go", async (t) => {
  const { table, now, log } = await daily(t, 60, { every: 10 });
  const before = await log();
  const { deleted } = await cleanupLog(table, { isDryRun: true, now }, signal);
  assert.equal(deleted.commits, 20);
  assert.deepEqual(await log(), before);
});
