import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { createTable } from "./create.ts";
import { commitPath } from "./log-names.ts";
import { openTable } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import { collect, commit, committed, file, schema, signal } from "./table.fixture.ts";
import type { Table } from "./table.ts";

/** A table whose commit files have the given times. */
async function tableAt(times: readonly number[]): Promise<Table> {
  let clock = times[0]!;
  const store = memoryStore({ now: () => clock });
  const table = await createTable(store, { schema }, signal);
  for (const [at, time] of times.slice(1).entries()) {
    clock = time;
    await commit(table, { adds: [file(`f${at}`)] });
  }
  return table;
}

const versionAt = async (table: Table, timestampMs: number) =>
  (await table.at({ timestampMs }, signal)).version;

test("a time gives the newest version that is not younger", async () => {
  const table = await tableAt([1000, 2000, 3000]);
  assert.deepEqual(
    await Promise.all([1000, 1999, 2000, 2500, 3000, 9999].map((time) => versionAt(table, time))),
    [0, 0, 1, 1, 2, 2],
  );
});

test("a time before the oldest version is TIMESTAMP_NOT_FOUND and says which is the oldest", async () => {
  const table = await tableAt([1000, 2000]);
  await assert.rejects(
    versionAt(table, 999),
    (error) => isLabError(error, "TIMESTAMP_NOT_FOUND") && /1970-01-01T00:00:01.000Z/.test(error.hint!),
  );
});

test("equal and falling file times are made strictly increasing", async () => {
  const table = await tableAt([1000, 1000, 500, 1002]);
  assert.deepEqual(
    await Promise.all([1000, 1001, 1002, 1003].map((time) => versionAt(table, time))),
    [0, 1, 2, 3],
  );
  const history = await collect(table.history({ signal }));
  assert.deepEqual(
    history.map((entry) => entry.timestampMs),
    [1003, 1002, 1001, 1000],
  );
});

const timed = { configuration: { "delta.enableInCommitTimestamps": "true" } };

test("in-commit timestamps grow even where the clock does not, and rule over file times", async () => {
  let clock = 5000;
  const store = memoryStore({ now: () => 99 });
  const now = () => clock;
  const table = await createTable(store, { schema, ...timed }, signal, { now });
  clock = 4000;
  const first = committed(await commit(table, { adds: [file("a")] }));
  clock = 6000;
  const second = committed(await commit(table, { adds: [file("b")] }));
  assert.deepEqual([first.snapshot.timestampMs, second.snapshot.timestampMs], [5001, 6000]);
  const reader = await openTable(store, signal);
  assert.deepEqual(
    await Promise.all([5000, 5001, 5999, 6000].map((time) => versionAt(reader, time))),
    [0, 1, 1, 2],
  );
  await assert.rejects(versionAt(reader, 4999), (error) => isLabError(error, "TIMESTAMP_NOT_FOUND"));
  assert.deepEqual(
    (await collect(reader.history({ signal }))).map((entry) => entry.timestampMs),
    [6000, 5001, 5000],
  );
});

test("a commit that is retried behind a winner takes a later in-commit timestamp", async () => {
  const store = memoryStore();
  const now = () => 1000;
  const table = await createTable(store, { schema, ...timed }, signal, { now });
  const readSnapshot = await table.latest(signal);
  await commit(await openTable(store, signal, { now: () => 7000 }), { adds: [file("a")] });
  const { snapshot } = committed(
    await table.commit({ readSnapshot, operation: "WRITE", adds: [file("b")] }, signal),
  );
  assert.deepEqual([snapshot.version, snapshot.timestampMs], [2, 7001]);
});

test("a checkpoint without later commits keeps the in-commit timestamp of its version", async () => {
  const store = memoryStore({ now: () => 99 });
  const table = await createTable(store, { schema, ...timed }, signal, { now: () => 5000 });
  await table.checkpoint(await table.latest(signal), signal);
  assert.equal((await (await openTable(store, signal)).latest(signal)).timestampMs, 5000);
  await store.delete(commitPath(0), signal);
  assert.equal((await (await openTable(store, signal)).latest(signal)).timestampMs, 99);
});

test("in-commit timestamps switched on late say since when; older versions go by file times", async () => {
  let clock = 1000;
  const store = memoryStore({ now: () => clock });
  const now = () => clock;
  const table = await createTable(store, { schema }, signal, { now });
  clock = 2000;
  await commit(table, { adds: [file("a")] });
  clock = 3000;
  const { metadata } = await table.latest(signal);
  const { snapshot } = committed(
    await commit(table, {
      metadata: { ...metadata, ...timed },
      protocol: {
        minReaderVersion: 1,
        minWriterVersion: 7,
        writerFeatures: ["appendOnly", "invariants", "inCommitTimestamp"],
      },
    }),
  );
  assert.deepEqual(snapshot.metadata.configuration, {
    "delta.enableInCommitTimestamps": "true",
    "delta.inCommitTimestampEnablementVersion": "2",
    "delta.inCommitTimestampEnablementTimestamp": "3000",
  });
  clock = 4000;
  await commit(table, { adds: [file("b")] });
  assert.deepEqual(
    await Promise.all([1500, 2999, 3000, 3999, 4000].map((time) => versionAt(table, time))),
    [0, 1, 2, 2, 3],
  );
});

test("in-commit timestamps without their feature are refused", async () => {
  const table = await createTable(memoryStore(), { schema }, signal);
  const { metadata } = await table.latest(signal);
  await assert.rejects(commit(table, { metadata: { ...metadata, ...timed } }), (error) =>
    isLabError(error, "UNSUPPORTED_FEATURE"),
  );
});
