import assert from "node:assert/strict";
import { test } from "node:test";
import { CLONE, COMPILED } from "./contender.ts";
import type { IngestBenchResult, IngestRun } from "./ingest.ts";
import { ingestSummary } from "./ingest-summary.ts";

const run = (
  by: string,
  round: number,
  seconds: number,
  cpuSeconds: number,
  megabytes: number,
): IngestRun => ({
  ...{ by, round, seconds, cpuSeconds, peakBytes: megabytes * 1e6, bytesWritten: 150_000, files: 2, load: 0 },
});
const RESULT: Omit<IngestBenchResult, "versions"> = {
  ...{
    messages: 1_000,
    size: "1k",
    bytes: 1_000_000,
    partitions: 4,
    seed: 1,
    rounds: 3,
    missing: [],
    versions: {},
  },
  runs: [
    ...[run(CLONE, 1, 2, 1, 300), run("kdi", 1, 10, 8, 900)],
    // The peer has a bad round: its ratio is by ours of that round.
    ...[run("kdi", 2, 40, 30, 900), run(CLONE, 2, 4, 3, 300)],
    ...[run(CLONE, 3, 2, 1, 100), run("kdi", 3, 10, 6, 900)],
  ],
  starts: [{ by: CLONE, round: 1, seconds: 1, cpuSeconds: 0.5, peakBytes: 1e8 }],
};

test("figures are of the whole process, by program, as smallest, middle and largest", () => {
  const [clone, kdi] = ingestSummary(RESULT).programs;
  assert.deepEqual(clone?.rowsPerSecond, { min: 250, median: 500, max: 500 });
  assert.deepEqual(clone?.megabytesPerSecond, { min: 0.25, median: 0.5, max: 0.5 });
  assert.deepEqual(clone?.cpuSecondsPerMillion, { min: 1000, median: 1000, max: 3000 });
  assert.deepEqual(clone?.peakMegabytes, { min: 100, median: 300, max: 300 });
  assert.deepEqual(clone?.writtenShare, { min: 0.15, median: 0.15, max: 0.15 });
  assert.deepEqual(clone?.start?.cpuSeconds, { min: 0.5, median: 0.5, max: 0.5 });
  assert.equal(kdi?.start, null);
});

test("ratios compare what ran in the same round", () => {
  assert.deepEqual(ingestSummary(RESULT).ratios, [
    {
      ...{ ours: CLONE, peer: "kdi" },
      cpu: { min: 6, median: 8, max: 10 },
      rows: { min: 5, median: 5, max: 10 },
      memory: { min: 3, median: 3, max: 9 },
    },
  ]);
});

test("a peer without a run in a round is compared in the others, and both of ours are", () => {
  const runs = [
    ...RESULT.runs.filter(({ by, round }) => by !== "kdi" || round !== 2),
    run(COMPILED, 1, 5, 4, 450),
  ];
  const ratios = ingestSummary({ ...RESULT, runs }).ratios;
  assert.deepEqual(
    ratios.map(({ ours, cpu }) => [ours, cpu.min, cpu.max]),
    [
      [CLONE, 6, 8],
      [COMPILED, 2, 2],
    ],
  );
});
