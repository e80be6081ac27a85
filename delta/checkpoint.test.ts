import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { isLabError } from "../core/errors.ts";
import type { Action } from "./actions.ts";
import { rowsOf } from "./checkpoint.fixture.ts";
import { type CheckpointMark, isCheckpointDue, writeCheckpoint } from "./checkpoint.ts";
import { contentOf } from "./checkpoint-content.ts";
import { writeWithSidecars } from "./checkpoint-sidecars.ts";
import { encodeCheckpoint } from "./checkpoint-write.ts";
import { jsonChecksum } from "./checksum.ts";
import { createTable } from "./create.ts";
import { readHint } from "./last-checkpoint.ts";
import { beforeVersion, checkpointPath, LAST_CHECKPOINT } from "./log-names.ts";
import { openTable } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import type { Store } from "./store/store.ts";
import { collect, commit, committed, file, removal, schema, signal } from "./table.fixture.ts";
import type { Snapshot } from "./table.ts";

const everyKind: Action[] = [
  {
    protocol: {
      minReaderVersion: 3,
      minWriterVersion: 7,
      readerFeatures: ["deletionVectors"],
      writerFeatures: ["deletionVectors", "x"],
    },
  },
  {
    metaData: {
      id: "i",
      format: { provider: "parquet", options: { o: "p" } },
      schemaString: '{"type":"struct","fields":[]}',
      partitionColumns: ["p", "q"],
      configuration: { k: "v", "": "" },
      createdTime: 1_700_000_000_000,
    },
  },
  { txn: { appId: "lab/t-0", version: 2n ** 63n - 1n } },
  { txn: { appId: "other", version: 3n, lastUpdated: 5 } },
  { domainMetadata: { domain: "d", configuration: '{"a":1}', removed: false } },
  { remove: removal("gone%20x", { dataChange: false, partitionValues: { p: null } }) },
  { remove: { path: "bare", dataChange: false } },
  {
    add: file("a%20b", {
      dataChange: false,
      partitionValues: { p: "ä 😀", q: null },
      stats: '{"numRecords":9007199254740993}',
    }),
  },
  { add: file("no-stats", { dataChange: false, size: 2 ** 40 }) },
  {
    add: file("full", {
      dataChange: false,
      stats: "",
      tags: { t: "u" },
      deletionVector: { storageType: "u", pathOrInlineDv: "ab", offset: 1, sizeInBytes: 2, cardinality: 7n },
      baseRowId: 3n,
      defaultRowCommitVersion: 4n,
      clusteringProvider: "c",
    }),
  },
];

test("every action comes back from a checkpoint as it went in", async () => {
  const { bytes, rows } = await encodeCheckpoint(everyKind);
  assert.equal(rows, everyKind.length);
  const back = await rowsOf(bytes);
  for (const action of everyKind) {
    assert.ok(
      back.some((row) => isDeepStrictEqual(row, action)),
      Object.keys(action)[0],
    );
  }
  assert.equal(back.length, everyKind.length);
});

test("a checkpoint of more rows than are encoded at once is whole", async () => {
  const adds = Array.from(
    { length: 40_000 },
    (_, n): Action => ({ add: file(`f${n}`, { size: n, dataChange: false }) }),
  );
  const rows = await rowsOf((await encodeCheckpoint(adds)).bytes);
  assert.equal(rows.length, 40_000);
  assert.equal(new Set(rows.map((row) => "add" in row && row.add.path)).size, 40_000);
});

test("feature lists are null where the protocol has no lists", async () => {
  const { bytes } = await encodeCheckpoint([{ protocol: { minReaderVersion: 1, minWriterVersion: 2 } }]);
  assert.deepEqual(await rowsOf(bytes), [{ protocol: { minReaderVersion: 1, minWriterVersion: 2 } }]);
});

async function tableOf(versions: number, options = {}, configuration: Record<string, string> = {}) {
  const store = memoryStore();
  const table = await createTable(store, { schema, configuration }, signal, options);
  for (let n = 1; n <= versions; n++) await commit(table, { adds: [file(`f${n}`)] });
  return { store, table };
}

test("the hint follows the checkpoint and says what is in it", async () => {
  const { store, table } = await tableOf(3);
  await table.checkpoint(await table.latest(signal), signal);
  const { sizeInBytes, ...hint } = (await readHint(store, signal))!;
  const { checksum, ...fields } = hint as typeof hint & { checksum: string };
  assert.deepEqual(fields, { version: 3, size: 5, numOfAddFiles: 3 });
  assert.equal(checksum, jsonChecksum(JSON.stringify({ ...fields, sizeInBytes })));
  assert.equal(sizeInBytes, (await store.get(checkpointPath(3), signal)).length);
});

test("the step between file and hint is announced there", async () => {
  let seen: [boolean, boolean] | undefined;
  const { store, table } = await tableOf(1);
  const there = new Set<string>();
  const watched: Store = {
    ...store,
    async put(path, body, given) {
      await store.put(path, body, given);
      there.add(path);
    },
  };
  const onStep = () => {
    seen = [there.has(checkpointPath(1)), there.has(LAST_CHECKPOINT)];
  };
  const again = await openTable(watched, signal, { onStep });
  await again.checkpoint(await table.latest(signal), signal);
  assert.deepEqual(seen, [true, false]);
});

test("an older checkpoint does not turn the hint back", async () => {
  const { store, table } = await tableOf(3);
  await table.checkpoint(await table.latest(signal), signal);
  await table.checkpoint(await table.at({ version: 1 }, signal), signal);
  assert.equal((await readHint(store, signal))?.version, 3);
});

test("tombstones go once they are older than the table keeps removed files", async () => {
  const now = () => 10 * 86_400_000;
  const { store, table } = await tableOf(
    3,
    { now },
    { "delta.deletedFileRetentionDuration": "interval 2 days" },
  );
  await commit(table, {
    removes: [
      removal("f1", { deletionTimestamp: 8 * 86_400_000 - 1 }),
      removal("f2", { deletionTimestamp: 9 * 86_400_000 }),
    ],
  });
  await table.checkpoint(await table.latest(signal), signal);
  const removed = (await rowsOf(await store.get(checkpointPath(4), signal))).filter((row) => "remove" in row);
  assert.deepEqual(
    removed.map((row) => row.remove.path),
    ["f2"],
  );
});

test("maintain writes a checkpoint after the interval, once, whoever asks", async () => {
  const { store, table } = await tableOf(9);
  assert.equal(await table.maintain(await table.latest(signal), signal), false);
  const { snapshot } = committed(await commit(table, { adds: [file("x")] }));
  const other = await openTable(store, signal);
  assert.equal(await table.maintain(snapshot, signal), true);
  assert.equal(await table.maintain(snapshot, signal), false);
  assert.equal(await other.maintain(await other.latest(signal), signal), false);
  assert.equal((await readHint(store, signal))?.version, 10);
});

test("a checkpoint that would not read back the same is not written", async () => {
  const { store, table } = await tableOf(2);
  const snapshot: Snapshot = { ...(await table.latest(signal)), numFiles: 3 };
  await assert.rejects(table.checkpoint(snapshot, signal), (error) => isLabError(error, "INTERNAL"));
  await assert.rejects(store.get(checkpointPath(2), signal), (error) => isLabError(error, "OBJECT_MISSING"));
});

test("checkpoints come less often the larger they are against what is written", async () => {
  const { table } = await tableOf(0);
  const snapshot = { ...(await table.latest(signal)), numFiles: 100_000 };
  const mark: CheckpointMark = {
    version: 1000,
    sizeInBytes: 10_000_000,
    numFiles: 100_000,
    bytesWritten: 500,
  };
  const due = (version: number, bytes: number) =>
    isCheckpointDue({ ...snapshot, version }, mark, 500 + bytes);
  assert.equal(due(1009, 1e12), false);
  assert.equal(due(1010, 199_000_000), false);
  assert.equal(due(1010, 200_000_000), true);
  assert.equal(due(1499, 0), false);
  assert.equal(due(1500, 0), true);
  const small = { ...snapshot, numFiles: 100 };
  assert.equal(isCheckpointDue({ ...small, version: 1010 }, mark, 500), true);
  const often = { ...small.metadata, configuration: { "delta.checkpointInterval": "3" } };
  assert.equal(isCheckpointDue({ ...small, metadata: often, version: 1003 }, mark, 500), true);
});

const uuid = "80a083e8-7026-4e79-81be-64bd76c43a11";

/** Replaces the commits of a table of three files by a checkpoint of another kind. */
async function recheckpointed(write: (store: Store, actions: Action[]) => Promise<void>): Promise<Snapshot> {
  const { store, table } = await tableOf(3);
  const snapshot = await table.latest(signal);
  const adds = [...snapshot.files()].map((add): Action => ({ add }));
  await write(store, [{ protocol: snapshot.protocol }, { metaData: snapshot.metadata }, ...adds]);
  for (let version = 0; version <= 2; version++) await store.delete(`${beforeVersion(version)}.json`, signal);
  return (await openTable(store, signal)).latest(signal);
}

test("transactions are forgotten only where the table says so and they say when they were written", async () => {
  const now = () => 10 * 86_400_000;
  const keep = { "delta.setTransactionRetentionDuration": "interval 2 days" };
  const { store, table } = await tableOf(0, { now }, keep);
  const txns = [
    { appId: "stream", version: 1n },
    { appId: "old", version: 2n, lastUpdated: 8 * 86_400_000 },
    { appId: "new", version: 3n, lastUpdated: 8 * 86_400_000 + 1 },
  ];
  await commit(table, { txns });
  await table.checkpoint(await table.latest(signal), signal);
  const kept = (await rowsOf(await store.get(checkpointPath(1), signal))).filter((row) => "txn" in row);
  assert.deepEqual(
    kept.map((row) => row.txn.appId),
    ["stream", "new"],
  );
});

const V2 = { "delta.checkpointPolicy": "v2" };

/** Paths below a prefix. */
async function pathsOf(store: Store, prefix: string): Promise<string[]> {
  return (await collect(store.list(prefix, { signal }))).map(({ path }) => path);
}

test("a table that asks for V2 checkpoints gets sidecars and the file that names them, last", async () => {
  const { store, table } = await tableOf(3, {}, V2);
  const order: string[] = [];
  const watched: Store = {
    ...store,
    async put(path, body, given) {
      order.push(path.replace(/[0-9a-f-]{36}/, "UUID"));
      await store.put(path, body, given);
    },
  };
  const again = await openTable(watched, signal);
  await again.checkpoint(await table.latest(signal), signal);
  assert.deepEqual(order, [
    "_delta_log/_sidecars/UUID.parquet",
    `${beforeVersion(3)}.checkpoint.UUID.json`,
    LAST_CHECKPOINT,
  ]);
  const { size, numOfAddFiles } = (await readHint(store, signal))!;
  // Three files; protocol, metadata, checkpointMetadata and sidecar.
  assert.deepEqual([size, numOfAddFiles], [7, 3]);
  for (let version = 0; version <= 3; version++) await store.delete(`${beforeVersion(version)}.json`, signal);
  assert.equal((await (await openTable(store, signal)).latest(signal)).numFiles, 3);
});

test("many files go to many sidecars, and no files to none", async () => {
  const { store, table } = await tableOf(5, {}, V2);
  const snapshot = await table.latest(signal);
  await writeWithSidecars(store, snapshot, contentOf(snapshot, 0), signal, 2);
  assert.equal((await pathsOf(store, "_delta_log/_sidecars/")).length, 3);
  for (let version = 0; version <= 5; version++) await store.delete(`${beforeVersion(version)}.json`, signal);
  const names = [...(await (await openTable(store, signal)).latest(signal)).files()].map((add) => add.path);
  assert.deepEqual(names.sort(), ["f1", "f2", "f3", "f4", "f5"]);

  const empty = await tableOf(0, {}, V2);
  await empty.table.checkpoint(await empty.table.latest(signal), signal);
  assert.deepEqual(await pathsOf(empty.store, "_delta_log/_sidecars/"), []);
  await empty.store.delete(`${beforeVersion(0)}.json`, signal);
  assert.equal((await (await openTable(empty.store, signal)).latest(signal)).numFiles, 0);
});

test("the policy asks in vain where the protocol has no such feature", async () => {
  const { store, table } = await tableOf(1);
  const snapshot = await table.latest(signal);
  const metadata = { ...snapshot.metadata, configuration: V2 };
  await writeCheckpoint(store, { ...snapshot, metadata }, { now: () => 0 }, signal);
  assert.deepEqual(await pathsOf(store, "_delta_log/_sidecars/"), []);
});

test("a checkpoint in parts is read, whole or not at all", async () => {
  const part = (n: number) => `${beforeVersion(3)}.checkpoint.000000000${n}.0000000002.parquet`;
  const snapshot = await recheckpointed(async (store, actions) => {
    await store.put(part(1), (await encodeCheckpoint(actions.slice(0, 3))).bytes, signal);
    await store.put(part(2), (await encodeCheckpoint(actions.slice(3))).bytes, signal);
  });
  assert.equal(snapshot.numFiles, 3);
  await assert.rejects(
    recheckpointed(async (store, actions) =>
      store.put(part(1), (await encodeCheckpoint(actions)).bytes, signal),
    ),
    (error) => isLabError(error, "CORRUPT_LOG"),
  );
});

test("a V2 checkpoint with sidecars is read, as JSON and under a classic name", async () => {
  const sidecar = `${uuid}.parquet`;
  const snapshot = await recheckpointed(async (store, actions) => {
    const lines = [
      { checkpointMetadata: { version: 3 } },
      ...actions.slice(0, 2),
      { sidecar: { path: sidecar, sizeInBytes: 1, modificationTime: 1 } },
    ];
    await store.put(
      `_delta_log/_sidecars/${sidecar}`,
      (await encodeCheckpoint(actions.slice(2))).bytes,
      signal,
    );
    await store.put(
      `${beforeVersion(3)}.checkpoint.${uuid}.json`,
      Buffer.from(lines.map((line) => JSON.stringify(line)).join("\n")),
      signal,
    );
  });
  assert.equal(snapshot.numFiles, 3);
});
