import assert from "node:assert/strict";
import { test } from "node:test";
import { createTable } from "../delta/create.ts";
import { memoryStore } from "../delta/store/memory.ts";
import { commit, committed, file, quick, removal, schema, signal } from "../delta/table.fixture.ts";
import { vacuum } from "./vacuum.ts";
import { markReader } from "./version-marks.ts";

const DAY = 86_400_000;

test("checkpoints, and versions whose files a vacuum took: before it none, after it those, found again at once", async () => {
  let nowMs = Date.parse("2026-01-01T12:00:00Z");
  const now = () => nowMs;
  const store = memoryStore({ name: "marks", now });
  const table = await createTable(store, { schema }, signal, { ...quick, now });
  for (const path of ["a", "b", "c"]) {
    await store.put(path, Buffer.from("1234567890"), signal);
    committed(await commit(table, { adds: [file(path)] }));
  }
  committed(await commit(table, { removes: [removal("b", { deletionTimestamp: nowMs })] }));
  await table.checkpoint(await table.latest(signal), signal);
  const read = markReader(table, now);
  assert.deepEqual(await read(signal), { checkpoints: [4], unreadable: [] });
  nowMs += 8 * DAY;
  // Files of 2 and 3, the versions that had "b"; 4 is the one that took it out.
  await vacuum(table, { now }, signal);
  assert.deepEqual((await read(signal)).unreadable, [[2, 3]]);
});

test("what another engine deletes without a word in the log is seen ten minutes later", async () => {
  let nowMs = Date.parse("2026-01-01T12:00:00Z");
  const now = () => nowMs;
  const store = memoryStore({ name: "silent", now });
  const table = await createTable(store, { schema }, signal, { ...quick, now });
  await store.put("a", Buffer.from("1234567890"), signal);
  committed(await commit(table, { adds: [file("a")] }));
  committed(await commit(table, { removes: [removal("a", { deletionTimestamp: nowMs })] }));
  const read = markReader(table, now);
  assert.deepEqual((await read(signal)).unreadable, []);
  await store.delete("a", signal);
  assert.deepEqual((await read(signal)).unreadable, []);
  nowMs += 600_001;
  assert.deepEqual((await read(signal)).unreadable, [[1, 1]]);
});
