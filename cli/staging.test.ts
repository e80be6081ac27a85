import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { leftStaging, openStaging } from "./staging.ts";

test("what a killed ingester left goes at the next start; what runs, and what other machines made, stays", async (t) => {
  const data = await mkdtemp(join(tmpdir(), "staging-"));
  t.after(() => rm(data, { recursive: true, force: true }));
  const running = basename(await openStaging(data));
  const host = hostname().replace(/[^A-Za-z0-9]/g, "_");
  const gone = execFileSync(process.execPath, ["-p", "process.pid"], { encoding: "utf8" }).trim();
  const left = [`ingest-${host}-${gone}-abc`, `ingest-${host}-${gone}-abc-cache`];
  for (const name of [...left, "ingest-elsewhere-99999999-abc"]) {
    await mkdir(join(data, "staging", name));
    await writeFile(join(data, "staging", name, "half.parquet"), "half");
  }
  assert.deepEqual((await leftStaging(data)).map((path) => basename(path)).sort(), left);
  const next = basename(await openStaging(data));
  const kept = ["ingest-elsewhere-99999999-abc", running, next];
  assert.deepEqual((await readdir(join(data, "staging"))).sort(), kept.sort());
});

test("a data folder that is a file is refused with its name and a way out", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "staging-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const data = join(folder, "file");
  await writeFile(data, "");
  await assert.rejects(
    openStaging(data),
    (error) =>
      isLabError(error, "STORE_DENIED") && error.message.includes(data) && /--data/.test(error.hint ?? ""),
  );
});
