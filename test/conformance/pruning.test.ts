/** Queries with generated conditions over the referees' tables: files that are left out hold none of the rows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkPruning } from "./pruning.ts";
import { unpackTables } from "./tables.ts";

test("a query that leaves files out gives the rows of one that reads them all", async (t) => {
  const { folder, close } = await unpackTables();
  t.after(close);
  const { signal } = new AbortController();
  const { files, wrong } = await checkPruning({ tablesDir: folder, signal, log: console.log });
  assert.deepEqual(wrong, []);
  assert.ok(files.pruned > 0, "no file was left out: nothing is proven");
});
