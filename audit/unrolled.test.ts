import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createTable } from "../delta/create.ts";
import { memoryStore } from "../delta/store/memory.ts";
import { quick, schema, signal } from "../delta/table.fixture.ts";
import { structOf } from "../test/support/sql-table.ts";
import { cleanupLog } from "../upkeep/cleanup.ts";
import { rollUp } from "./rollup.ts";
import { oldestUnrolled } from "./unrolled.ts";

const DAY_MS = 86_400_000;

test("a cleanup passes no commit that speaks to an audit before it is rolled up", async (t) => {
  const scratchDir = await mkdtemp(join(tmpdir(), "unrolled-"));
  t.after(() => rm(scratchDir, { recursive: true }));
  let nowMs = Date.UTC(2026, 0, 1, 12);
  const now = () => nowMs;
  const made = { ...quick, now };
  const table = await createTable(memoryStore({ name: "data", now }), { schema }, signal, made);
  const columns = {
    day: "string",
    topic: "string",
    stage: "string",
    origin: "string",
    epoch: "long",
  } as const;
  const words = { window_start: "timestamp", count: "long", checksum: "long" } as const;
  const auditSchema = structOf({ ...columns, ...words });
  const audit = await createTable(memoryStore({ name: "audit", now }), { schema: auditSchema }, signal, made);
  for (let day = 1; day <= 60; day++) {
    nowMs += DAY_MS;
    const windows = [{ start: nowMs, received: 1, letters: 0, checksum: 1, last: 0 }];
    // The first ten days nobody audited the topic.
    const spoken = day > 10 ? [{ topic: "t", origin: "o", epoch: 1, windows }] : [];
    const lab = { v: 1, app: "lab", generation: 0, partitions: [], audit: spoken };
    const readSnapshot = await table.latest(signal);
    const result = await table.commit({ readSnapshot, operation: "STREAMING UPDATE", info: { lab } }, signal);
    assert.equal(result.kind, "committed");
    if (day % 5 === 0 && result.kind === "committed") await table.checkpoint(result.snapshot, signal);
  }
  const clean = async (isRolledUpAnywhere: boolean) =>
    cleanupLog(
      table,
      {
        now,
        unread: async (before, asking) =>
          oldestUnrolled(table, isRolledUpAnywhere ? await audit.latest(asking) : null, before, asking),
      },
      signal,
    );
  for (const withAudit of [false, true]) {
    const { oldest, reason, unread } = await clean(withAudit);
    assert.deepEqual([oldest, unread], [10, 11], String(withAudit));
    assert.equal(reason, withAudit ? "unread" : null);
  }
  await rollUp({ table, audit, app: "lab", scratchDir, now, signal });
  const { oldest, reason, unread } = await clean(true);
  assert.deepEqual([oldest, reason, unread], [25, null, null]);
});
