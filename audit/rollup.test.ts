import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createTable } from "../delta/create.ts";
import { openTable } from "../delta/open.ts";
import { localStore } from "../delta/store/local.ts";
import { memoryStore } from "../delta/store/memory.ts";
import type { Store } from "../delta/store/store.ts";
import { quick, schema, signal } from "../delta/table.fixture.ts";
import type { Table } from "../delta/table.ts";
import type { DataType } from "../delta/types.ts";
import { openQuery } from "../query/query.ts";
import { structOf } from "../test/support/sql-table.ts";
import { auditVersion } from "./audit-version.ts";
import { WINDOW_MS } from "./header.ts";
import { readSettled } from "./read-settled.ts";
import { rolledUp, rollUpTxn } from "./rolled.ts";
import { rollUp } from "./rollup.ts";

const DAY = Date.UTC(2026, 4, 4);
const SPAN = { startMs: DAY, endMs: DAY + 86_400_000 };
/** As heartbeats make it. */
const COLUMNS: Record<string, DataType> = {
  ...{ day: "string", topic: "string", stage: "string", origin: "string", epoch: "long", host: "string" },
  ...{ sent_at: "timestamp", low_event_time: "timestamp", closed: "boolean", window_start: "timestamp" },
  ...{ count: "long", checksum: "long", revision: "long" },
};

async function rollUpLab(t: TestContext, columns = COLUMNS) {
  const folder = await mkdtemp(join(tmpdir(), "rollup-"));
  const query = openQuery({ store: folder });
  t.after(async () => {
    await query.close();
    await rm(folder, { recursive: true });
  });
  const auditStore = localStore(join(folder, "audit"));
  const partitionColumns = ["day"];
  await createTable(auditStore, { schema: structOf(columns), partitionColumns }, signal, quick);
  const table = await createTable(memoryStore({ name: randomUUID() }), { schema }, signal, quick);
  const roll = async (store: Store = auditStore) =>
    rollUp({
      ...{
        table,
        audit: await openTable(store, signal, quick),
        app: "lab",
        scratchDir: join(folder, "scratch"),
      },
      ...{ now: () => DAY, signal },
    });
  const settled = async (): Promise<
    [window: number, received: number, letters: number, checksum: number][]
  > => {
    const version = await auditVersion(query, "audit", signal);
    const parts = await readSettled(version, table, await table.latest(signal), SPAN, signal);
    return parts.settled
      .filter(({ windowMs }) => windowMs < SPAN.endMs)
      .map(({ windowMs, received, letters, checksum }): [number, number, number, number] => [
        ...([(windowMs - DAY) / WINDOW_MS, received, letters, checksum] as const),
      ])
      .sort(([a], [b]) => a - b);
  };
  return { folder, query, auditStore, table, roll, settled };
}

/** A commit that settled so many messages of windows of the day, 2^52 - 1 as each one's checksum. */
async function settle(table: Table, windows: readonly (readonly [window: number, received: number])[]) {
  const audit = [
    {
      ...{ topic: "t", origin: 'it\'s "a" shop', epoch: 7 },
      windows: windows.map(([window, received]) => ({
        ...{
          start: DAY + window * WINDOW_MS,
          received,
          letters: 1,
          checksum: 2 ** 52 - 1,
          last: received - 1,
        },
      })),
    },
  ];
  const lab = { v: 1, app: "lab", generation: 0, partitions: [], audit };
  const readSnapshot = await table.latest(signal);
  const result = await table.commit({ readSnapshot, operation: "STREAMING UPDATE", info: { lab } }, signal);
  assert.equal(result.kind, "committed");
}

test("a roll-up says what the commits said, a second one adds nothing, and commits since are added to it", async (t) => {
  const { table, roll, settled, auditStore, query } = await rollUpLab(t);
  await settle(table, [[0, 5]]);
  await settle(table, [
    [0, 3],
    [7, 2],
  ]);
  const both = await settled();
  assert.deepEqual(both, [
    [0, 8, 2, 2 ** 52 - 2],
    [7, 2, 1, 2 ** 52 - 1],
  ]);
  assert.deepEqual(await roll(), { upTo: 2, rows: 2, version: 1, missing: 0 });
  assert.deepEqual(await settled(), both);
  assert.deepEqual(await roll(), { upTo: 2, rows: 0, version: null, missing: 0 });
  await settle(table, [[7, 4]]);
  assert.deepEqual((await settled())[1], [7, 6, 2, 2 ** 52 - 2]);
  assert.equal((await roll()).rows, 1);
  assert.deepEqual((await settled())[1], [7, 6, 2, 2 ** 52 - 2]);
  const audit = await (await openTable(auditStore, signal)).latest(signal);
  assert.equal(rolledUp(audit, (await table.latest(signal)).metadata.id)?.version, 3);
  const { rows } = await query.query(
    `SELECT "day", topic, origin, epoch, window_start, sum("count"), sum(letters) FROM audit
     WHERE stage = 'settled' GROUP BY ALL ORDER BY window_start`,
    { signal },
  );
  assert.deepEqual(rows[1], [
    ...["2026-05-04", "t", 'it\'s "a" shop', "7", "2026-05-04T00:35:00.000000Z", "6", "2"],
  ]);
});

test("the days of windows are those of the table's partitions, whatever the types of its columns", async (t) => {
  const text: typeof COLUMNS = { ...COLUMNS, day: "date", window_start: "string", sent_at: "string" };
  const { table, roll, settled, auditStore } = await rollUpLab(t, text);
  await settle(table, [
    [0, 1],
    [287, 1],
    [288, 1],
  ]);
  const both = await settled();
  await roll();
  assert.deepEqual(await settled(), both);
  const files = [...(await (await openTable(auditStore, signal)).latest(signal)).files()];
  assert.deepEqual(files.map(({ partitionValues }) => partitionValues.day).sort(), [
    "2026-05-04",
    "2026-05-05",
  ]);
});

test("killed before its commit, and done again, a roll-up counts each commit once", async (t) => {
  const { table, roll, settled, auditStore } = await rollUpLab(t);
  await settle(table, [[1, 5]]);
  const dies: Store = {
    ...auditStore,
    putIfAbsent: () => Promise.reject(new Error("killed")),
  };
  await assert.rejects(roll(dies), /killed/);
  assert.deepEqual(await settled(), [[1, 5, 1, 2 ** 52 - 1]]);
  // The commit stood, and nobody was there to hear of it.
  const deaf: Store = {
    ...auditStore,
    async putIfAbsent(...args) {
      await auditStore.putIfAbsent(...args);
      throw new Error("killed");
    },
  };
  await assert.rejects(roll(deaf), /killed/);
  assert.deepEqual(await roll(), { upTo: 1, rows: 0, version: null, missing: 0 });
  assert.deepEqual(await settled(), [[1, 5, 1, 2 ** 52 - 1]]);
});

test("of two roll-ups at one time one counts", async (t) => {
  const { table, roll, settled } = await rollUpLab(t);
  await settle(table, [[1, 5]]);
  const done = await Promise.all([roll(), roll(), roll()]);
  assert.deepEqual(done.map(({ rows }) => rows).sort(), [0, 0, 1]);
  assert.deepEqual(await settled(), [[1, 5, 1, 2 ** 52 - 1]]);
});

test("who rolled up first names the transaction: another app goes on where it was", async (t) => {
  const { table, roll, auditStore, folder } = await rollUpLab(t);
  await settle(table, [[1, 5]]);
  await roll();
  await settle(table, [[1, 5]]);
  const audit = await openTable(auditStore, signal, quick);
  const other = { table, audit, app: "other", scratchDir: folder, now: Date.now, signal };
  assert.equal((await rollUp(other)).rows, 1);
  const { metadata } = await table.latest(signal);
  assert.deepEqual([...(await audit.latest(signal)).txns().keys()], [rollUpTxn("lab", metadata.id)]);
});

test("a table that nobody audits is not spoken of", async (t) => {
  const { table, roll, auditStore } = await rollUpLab(t);
  const readSnapshot = await table.latest(signal);
  await table.commit({ readSnapshot, operation: "WRITE" }, signal);
  assert.deepEqual(await roll(), { upTo: -1, rows: 0, version: null, missing: 0 });
  assert.equal((await (await openTable(auditStore, signal)).latest(signal)).version, 0);
});

test("commits that were cleaned up before they were rolled up are told, also after the next roll-up", async (t) => {
  const { table, roll, auditStore, query } = await rollUpLab(t);
  for (let n = 0; n < 3; n++) await settle(table, [[n, 5]]);
  await table.checkpoint(await table.latest(signal), signal);
  for (const version of [0, 1, 2])
    await table.store.delete(`_delta_log/${String(version).padStart(20, "0")}.json`, signal);
  const forgotten = async () => {
    const version = await auditVersion(query, "audit", signal);
    const parts = await readSettled(version, table, await table.latest(signal), SPAN, signal);
    return [parts.settled.length, parts.isBehind, parts.forgottenMs !== undefined];
  };
  assert.deepEqual(await forgotten(), [1, true, true]);
  assert.equal((await roll()).missing, 3);
  assert.deepEqual(await forgotten(), [1, false, true]);
  assert.equal((await (await openTable(auditStore, signal)).latest(signal)).version, 1);
});
