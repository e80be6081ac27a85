import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { runLab } from "./lab.ts";

async function bench(...argv: string[]) {
  const written = { out: "", err: "" };
  const into = (key: "out" | "err") =>
    ({ write: (piece: string) => (written[key] += piece) }) as unknown as NodeJS.WriteStream;
  const streams = { stdin: Readable.from([]), stdout: into("out"), stderr: into("err") };
  const status = await runLab({ argv: ["bench", ...argv], env: {}, ...streams });
  return { status, ...written };
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "lab-bench-cli-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("an unknown benchmark is refused with those there are", async () => {
  const { status, err } = await bench("injest");
  assert.equal(status, 2);
  assert.match(err, /no such benchmark: injest \(USAGE\)/);
  assert.match(err, /lab bench ingest, latency, .*dashboard or report/);
});

test("results that could not be kept are refused before anything is measured", async (t) => {
  const file = join(await folder(t), "no-such-folder", "results.ndjson");
  const { status, err } = await bench("ingest", "--results", file);
  assert.equal(status, 2);
  assert.match(err, /no-such-folder/);
  assert.match(err, /--results/);
  assert.doesNotMatch(err, /filling/);
});

test("a report is refused where there are no results, and a size or peer that does not exist", async (t) => {
  const file = join(await folder(t), "results.ndjson");
  assert.equal((await bench("report", "--results", file)).status, 2);
  await writeFile(file, "\n");
  const { status, err } = await bench("report", "--results", file);
  assert.equal(status, 2);
  assert.match(err, /no result that the page tells of/);
  assert.equal(await readFile(file, "utf8"), "\n");
  assert.match((await bench("ingest", "--size", "2kb")).err, /is none of tiny, 1k, 2k, 3k/);
  assert.match((await bench("ingest", "--peers", "flink")).err, /is none of kdi, kdi-plain, spark, none/);
});
