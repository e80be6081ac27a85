import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createTable } from "./create.ts";
import { checkpointPath } from "./log-names.ts";
import { openTable } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import { commit, file, schema, signal } from "./table.fixture.ts";

const FILES = 20_000;
/** Numbers of a file, its places in columns and index, its path; about a hundred of it for growing ahead. */
const BYTES_PER_FILE = 350;

/** Bytes of objects and buffers that cannot be collected. */
function held(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

test("an open table holds a file in few bytes beside its checkpoint, however long its statistics are", async () => {
  const store = memoryStore();
  const table = await createTable(store, { schema }, signal);
  const random = (n: number) => (Math.imul(n + 1, 0x9e3779b1) >>> 0).toString(16);
  const statsOf = (n: number) =>
    `{"numRecords":${n},"minValues":{"text":"${random(n).repeat(80)}"},"nullCount":{}}`;
  for (let from = 0; from < FILES; from += 5000)
    await commit(table, {
      adds: Array.from({ length: 5000 }, (_, at) =>
        file(`part-${random(from + at)}-${from + at}`, { stats: statsOf(from + at) }),
      ),
    });
  await table.checkpoint(await table.latest(signal), signal);
  const checkpoint = (await store.get(checkpointPath(4), signal)).length;
  const before = held();
  const opened = await openTable(store, signal);
  const perFile = (held() - before - checkpoint) / FILES;
  assert.ok(perFile < BYTES_PER_FILE, `${Math.round(perFile)} bytes a file`);
  let files = 0;
  for (const { stats } of (await opened.latest(signal)).files()) if (stats === statsOf(files)) files++;
  assert.equal(files, FILES);
});
