import assert from "node:assert/strict";
import { test } from "node:test";
import { createTable } from "./create.ts";
import { commitPath } from "./log-names.ts";
import { openTable } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import { collect, commit, committed, file, quick, schema, signal } from "./table.fixture.ts";

test("a commit into a number that cleanup has freed is no commit: it is taken back, said, and can be made anew", async () => {
  const store = memoryStore();
  const busy = await createTable(store, { schema }, signal, quick);
  const frozen = await openTable(store, signal, quick);
  const old = await frozen.latest(signal);
  for (let n = 0; n < 5; n++) committed(await commit(busy, { adds: [file(`busy-${n}`)] }));
  await busy.checkpoint(await busy.latest(signal), signal);
  for (let version = 0; version < 5; version++) await store.delete(commitPath(version), signal);

  const request = { readSnapshot: old, operation: "WRITE", adds: [file("late")] };
  const result = await frozen.commit(request, signal);
  assert.equal(result.kind === "conflict" && result.reason, "expired");
  const left = (await collect(store.list("_delta_log/", { signal }))).map(({ path }) => path);
  assert.ok(!left.includes(commitPath(1)), "what nobody would read is not left behind");

  assert.equal(committed(await commit(frozen, { adds: [file("late")] })).version, 6);
  const paths = [...(await (await openTable(store, signal)).latest(signal)).files()].map(({ path }) => path);
  assert.deepEqual(paths.sort(), ["busy-0", "busy-1", "busy-2", "busy-3", "busy-4", "late"]);
});

test("a listing that lags behind makes no commit look stranded", async () => {
  const real = memoryStore();
  await createTable(real, { schema }, signal);
  const store = {
    ...real,
    async *list(...args: Parameters<typeof real.list>) {
      for await (const object of real.list(...args)) if (object.path !== commitPath(1)) yield object;
    },
  };
  const table = await openTable(store, signal, quick);
  committed(await commit(table, { adds: [file("a")] }));
  const readSnapshot = (await openTable(real, signal)).at({ version: 1 }, signal);
  const request = { readSnapshot: await readSnapshot, operation: "WRITE", adds: [file("b")] };
  assert.equal(committed(await table.commit(request, signal)).version, 2);
});
