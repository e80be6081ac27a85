/** Log compaction files: ignored where the commits are there, needed where they are not. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Action } from "./actions.ts";
import { serializeCommit } from "./commit-file.ts";
import { createTable } from "./create.ts";
import { commitPath } from "./log-names.ts";
import { openTable, readVersion } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import type { Store } from "./store/store.ts";
import { commit, file, removal, schema, signal } from "./table.fixture.ts";

const compactionPath = (from: number, to: number) =>
  `_delta_log/${String(from).padStart(20, "0")}.${String(to).padStart(20, "0")}.compacted.json`;

/** Versions 0 to 5: "1".."4" are added, "2" goes in version 5; txn "a" follows. */
async function tableOfSix(): Promise<Store> {
  const store = memoryStore();
  const table = await createTable(store, { schema }, signal);
  for (const name of ["1", "2", "3", "4"])
    await commit(table, { adds: [file(name)], txns: [{ appId: "a", version: BigInt(name) }] });
  await commit(table, { removes: [removal("2")], reads: "table" });
  return store;
}

async function compact(store: Store, from: number, to: number, actions: Action[]): Promise<void> {
  await store.put(compactionPath(from, to), serializeCommit(actions), signal);
}

async function drop(store: Store, ...versions: number[]): Promise<void> {
  for (const version of versions) await store.delete(commitPath(version), signal);
}

const names = async (store: Store, version: number) =>
  [...(await readVersion(store, version, signal)).files()].map((add) => add.path).sort();

test("a compaction beside its commits is not read", async () => {
  const store = await tableOfSix();
  await store.put(compactionPath(1, 3), Buffer.from("damaged"), signal);
  assert.deepEqual(await names(store, 5), ["1", "3", "4"]);
});

test("a compaction stands in for commits that are missing, for versions from its last one on", async () => {
  const store = await tableOfSix();
  const txn = { appId: "a", version: 3n };
  await compact(store, 1, 3, [{ add: file("1") }, { add: file("2") }, { add: file("3") }, { txn }]);
  await drop(store, 1, 2, 3);
  assert.deepEqual(await names(store, 3), ["1", "2", "3"]);
  assert.deepEqual(await names(store, 5), ["1", "3", "4"]);
  const table = await openTable(store, signal);
  assert.equal((await table.latest(signal)).txn("a"), 4n);
  await assert.rejects(
    readVersion(store, 2, signal),
    (error) => isLabError(error, "CORRUPT_LOG") && error.message.includes(commitPath(1)),
  );
});

test("one that begins before the gap does as well, and the longest that fits is taken", async () => {
  const store = await tableOfSix();
  await compact(store, 2, 3, [{ add: file("2") }, { add: file("3") }]);
  await compact(
    store,
    1,
    4,
    [1, 2, 3, 4].map((name) => ({ add: file(String(name)) })),
  );
  await compact(store, 2, 9, [{ remove: removal("1") }]);
  await drop(store, 3);
  assert.deepEqual(await names(store, 4), ["1", "2", "3", "4"]);
  assert.deepEqual(await names(store, 3), ["1", "2", "3"]);
  assert.deepEqual(await names(store, 5), ["1", "3", "4"]);
});

test("where a compaction holds both words on a file, the file is gone", async () => {
  for (const order of [0, 1]) {
    const store = await tableOfSix();
    const actions: Action[] = [{ add: file("2") }, { remove: removal("2") }];
    const rest: Action[] = ["1", "3", "4"].map((name) => ({ add: file(name) }));
    await compact(store, 1, 5, [...(order === 0 ? actions : actions.reverse()), ...rest]);
    await drop(store, 1, 2, 3, 4, 5);
    assert.deepEqual(await names(store, 5), ["1", "3", "4"]);
  }
});

test("a follower whose commits are replaced by a compaction goes on", async () => {
  const store = await tableOfSix();
  let nowMs = 0;
  const reader = await openTable(store, signal, { now: () => nowMs });
  const writer = await openTable(store, signal);
  for (const name of ["6", "7"]) await commit(writer, { adds: [file(name)] });
  await compact(store, 6, 7, [{ add: file("6") }, { add: file("7") }]);
  await drop(store, 6, 7);
  nowMs += 10_000;
  const snapshot = await reader.latest(signal);
  assert.deepEqual([snapshot.version, snapshot.numFiles], [7, 5]);
  assert.equal((await reader.latest(signal)).version, 7);
});
