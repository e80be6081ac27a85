import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { killRun } from "./support/kill-run.ts";

test("an ingester killed at every step and at random loses and doubles nothing, on a local table", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-kill-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await killRun(t, { tableUri: join(folder, "table"), env: {} });
});
