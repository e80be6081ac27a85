/** `lab bench ingest` beside kafka-delta-ingest, as small as it can be: `npm run test:kdi`, with LAB_REFEREES naming the folder that has its binary. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { sharedBroker } from "./support/kafka.ts";
import { lab } from "./support/lab.ts";

const MESSAGES = 20_000;

type Recorded = {
  bench: string;
  machine: { cores: number };
  versions: Record<string, string>;
  result: {
    messages: number;
    bytes: number;
    runs: { by: string; seconds: number; cpuSeconds: number; peakBytes: number; bytesWritten: number }[];
    starts: { by: string; cpuSeconds: number }[];
    missing: { name: string; why: string }[];
  };
};

async function bench(t: TestContext, ...args: string[]): Promise<{ printed: Recorded; kept: string }> {
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-e2e-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const results = join(folder, "results.ndjson");
  const kafka = ["--kafka", (await sharedBroker()).join(",")];
  const small = ["--messages", String(MESSAGES), "--rounds", "1", "--results", results, "--json"];
  const { status, stdout, stderr } = await lab(["bench", "ingest", ...small, ...kafka, ...args], {
    cwd: folder,
  });
  assert.equal(status, 0, stderr);
  return { printed: JSON.parse(stdout), kept: await readFile(results, "utf8") };
}

test("ours and kafka-delta-ingest take in the same topic, each message counted once, and the result is kept", async (t) => {
  const { printed, kept } = await bench(t, "--peers", "kdi,kdi-plain");
  assert.deepEqual(JSON.parse(kept), printed);
  assert.equal(kept.split("\n").length, 2);
  assert.equal(printed.bench, "ingest");
  assert.ok(printed.machine.cores > 0);
  assert.match(printed.versions["kafka-delta-ingest"] ?? "", /^\d+\.\d+/);
  const { runs, starts, messages, bytes, missing } = printed.result;
  assert.equal(messages, MESSAGES);
  assert.ok(bytes / messages > 900 && bytes / messages < 1_050, `${bytes / messages} bytes each`);
  assert.deepEqual(missing, []);
  const labs = ["lab, clone", "lab, compiled"];
  assert.deepEqual(
    runs.map(({ by }) => by),
    [...labs, "kdi", "kdi-plain"],
  );
  for (const run of runs) {
    assert.ok(run.seconds > 0 && run.cpuSeconds > 0, JSON.stringify(run));
    assert.ok(run.peakBytes > 10e6 && run.bytesWritten > 0.05 * bytes, JSON.stringify(run));
  }
  assert.deepEqual(
    starts.map(({ by }) => by),
    labs,
  );
});

test("a peer that is not there is said, and ours is measured all the same", async (t) => {
  const { printed } = await bench(t, "--referees", join(tmpdir(), "lab-no-referees"), "--peers", "kdi");
  assert.equal(printed.result.missing[0]?.name, "kdi");
  assert.match(printed.result.missing[0]?.why ?? "", /there is no .*kafka-delta-ingest\.xz/);
  assert.equal(printed.result.runs.length, 2);
});
