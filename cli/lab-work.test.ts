import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Progress } from "../dashboard/work.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import { createLabWork } from "./lab-work.ts";

test("a chore is the command in a process of its own: it tells how far it is in numbers, and resolves with its document", async (t) => {
  const store = await mkdtemp(join(tmpdir(), "lab-work-"));
  t.after(() => rm(store, { recursive: true, force: true, maxRetries: 5 }));
  const orders = await sqlTable(join(store, "orders"), { id: "long" });
  for (const n of [1, 2, 3]) await orders.append({ select: `SELECT ${n}::BIGINT AS id` });
  const { signal } = new AbortController();
  const work = createLabWork({ common: ["--store", store], env: process.env, signal });
  const told: Progress[] = [];
  const perform = (chore: Parameters<typeof work.perform>[1]) =>
    work.perform("orders", chore, (progress) => told.push(progress), signal);
  const optimized = (await perform({ kind: "optimize" })) as { filesRemoved: number; filesAdded: number };
  assert.deepEqual([optimized.filesRemoved, optimized.filesAdded], [3, 1]);
  assert.deepEqual(told.splice(0).at(-1), { step: "optimize, MiB", done: 1, total: 1 });
  const vacuumed = (await perform({ kind: "vacuum", dryRun: true })) as { files: number; dryRun: boolean };
  assert.deepEqual([vacuumed.files, vacuumed.dryRun], [0, true]);
  const reading = told.filter(({ step }) => step === "reading the log");
  assert.ok(
    reading.some(({ done, total }) => done === total && done > 0),
    JSON.stringify(told),
  );
  await assert.rejects(perform({ kind: "restore", version: 99 }), { code: "VERSION_NOT_FOUND" });
});
