import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { CLONE, COMPILED } from "./contender.ts";
import { goalsOf } from "./goals.ts";
import { PEER, TABLES, VECTORS } from "./merge-run.ts";
import { pageRecords, performancePage } from "./page.ts";
import { pageCharts } from "./page-charts.ts";
import { type PageRecord, readResults } from "./results.ts";
import { writePage } from "./write-page.ts";

const HEAD = {
  ...{ at: "2026-01-02T03:04:05.000Z", loadBefore: 0.25, versions: { node: "v20.0.0" } },
  machine: { cores: 2, cpu: "A & B <fast>", memoryBytes: 8 * 2 ** 30, kernel: "linux 6.1" },
};
const run = (by: string, cpuSeconds: number, seconds: number) => ({
  ...{ by, round: 1, seconds, cpuSeconds, peakBytes: 2e8, bytesWritten: 140_000, files: 2, load: 0 },
});
const INGEST = {
  ...{ ...HEAD, bench: "ingest" },
  result: {
    ...{ messages: 1_000, size: "1k", bytes: 1_000_000, partitions: 4, seed: 1, rounds: 1 },
    runs: [run(CLONE, 0.02, 1), run(COMPILED, 0.01, 1), run("kdi", 0.11, 7), run("kdi-plain", 0.07, 9)],
    starts: [{ by: CLONE, round: 1, seconds: 1.25, cpuSeconds: 0.5, peakBytes: 1e8 }],
    missing: [{ name: "spark", why: "there is no pom.xml" }],
  },
} satisfies PageRecord as PageRecord;
const LATENCY = {
  ...{ ...HEAD, bench: "latency" },
  result: {
    ...{ size: "2k", seconds: 60, partitions: 4, flushMs: 1_000 },
    runs: [
      {
        ...{
          rate: 3_000,
          messages: 180_000,
          bytesEach: 2_192,
          coreShare: 0.125,
          peakBytes: 2e8,
          commits: 60,
        },
        visibleMs: { p50: 600, p99: 1_200, p999: 1_700, max: 1_800 },
        ackMs: { p50: 3, p99: 9, p999: 20, max: 30 },
      },
    ],
  },
} satisfies PageRecord as PageRecord;
const MEMORY = {
  ...{ ...HEAD, bench: "memory" },
  result: {
    size: "1k",
    runs: [
      {
        ...{ messages: 3_600_000, partitions: 200, bytes: 3.5e9, seconds: 40, peakBytes: 300 * 2 ** 20 },
        samples: [
          { atSeconds: 0.2, bytes: 1e8 },
          { atSeconds: 40, bytes: 300 * 2 ** 20 },
        ],
      },
    ],
  },
} satisfies PageRecord as PageRecord;
const START = {
  ...{ ...HEAD, bench: "start" },
  result: { rounds: [{ clone: 0.5, npmCi: 12.25, firstStart: 9.5, nextStart: 7.75 }] },
} satisfies PageRecord as PageRecord;
const PROFILE = {
  ...{ ...HEAD, bench: "profile" },
  result: {
    ...{ messages: 1_000_000, size: "1k", bytes: 976e6, partitions: 4, cpuSeconds: 8, plainCpuSeconds: 7.5 },
    parts: { fetch: 2, native: 6 },
  },
} satisfies PageRecord as PageRecord;

const same = (value: number) => ({ min: value, median: value, max: value });
const QUERY = {
  ...{ ...HEAD, bench: "query" },
  result: {
    ...{ files: 2_000, rows: 200_000, rounds: 11 },
    cases: [
      {
        ...{
          filter: "partition",
          peer: "delta_scan",
          process: "cold",
          warmUps: 1,
          filesRead: { read: 20, total: 2_000 },
        },
        ...{ oursMs: same(350), peerMs: same(700), ratio: same(0.5) },
      },
      ...(["statistics", "values"] as const).map((filter) => ({
        ...({ filter, peer: "delta_scan", process: "fresh", warmUps: 10 } as const),
        ...{ oursMs: same(filter === "values" ? 110 : 90), peerMs: same(100) },
        ...{ ratio: same(filter === "values" ? 1.1 : 0.9), filesRead: { read: 2, total: 2_000 } },
      })),
      ...[0.75, 1.25].map((ratio) => ({
        ...({ filter: "values", peer: "read_parquet", process: "warm", warmUps: 10 } as const),
        ...{ oursMs: same(100 * ratio), peerMs: same(100), ratio: same(ratio) },
        filesRead: { read: 2_000, total: 2_000 },
      })),
    ],
    firstRow: [{ process: "compiled", files: 100, ms: same(312) }],
    large: {
      ...{ files: 100, rows: 10_000_000 },
      cases: [
        {
          ...{ filter: "statistics", peer: "read_parquet", process: "warm", warmUps: 10 },
          ...{ oursMs: same(10.5), peerMs: same(10), ratio: same(1.05), filesRead: { read: 2, total: 100 } },
        },
      ],
    },
  },
} satisfies PageRecord as PageRecord;
const DASHBOARD = {
  ...{ ...HEAD, bench: "dashboard" },
  result: {
    ...{ commits: 5_000, rounds: 3, window: [1440, 900] },
    load: { paintMs: same(250), timelineMs: same(400), rowsMs: same(500) },
    drag: { seconds: 4, framesPerSecond: same(60), frameMs95: same(17), mainThreadMs: same(16.9) },
    jump: { versionMs: same(20), rowsMs: same(60), rowsMs95: same(99.5) },
    step: { rowsMs: same(30), rowsMs95: same(120) },
  },
} satisfies PageRecord as PageRecord;
const used = (value: number, bytes: number) => ({
  ...{ seconds: same(value), cpuSeconds: same(value * 2), peakBytes: same(bytes) },
});
const OPEN = {
  ...{ ...HEAD, bench: "open" },
  result: {
    ...{ files: 100_000, commits: 5_000, rounds: 3 },
    cases: [
      { behind: 100, step: "open", ours: used(0.25, 9e7), peer: used(0.5, 18e7), ratio: used(0.5, 0.5) },
    ],
    follow: [{ files: 100_000, heldBytes: 12e6, refreshMs: same(4.5), bytesRead: 4_000 }],
  },
} satisfies PageRecord as PageRecord;
const COMMIT = {
  ...{ ...HEAD, bench: "commit" },
  result: {
    store: "a folder",
    runs: [
      {
        ...{ by: "lab", writers: 8, commits: 800, seconds: 4, commitsPerSecond: 200, attemptsPerCommit: 1.5 },
        ...{ mostAttempts: null, slowestShare: 0.75 },
      },
    ],
  },
} satisfies PageRecord as PageRecord;
const merged = (by: typeof VECTORS | typeof PEER, batches: number, seconds: number) => ({
  ...{ by, round: 1, batches, seconds, cpuSeconds: seconds / 2, firstSeconds: 1.25, longestSeconds: 0.5 },
  ...{ dataBytes: 1e5 * batches, logBytes: 2e4 * batches, load: 0.25 },
});
const MERGE = {
  ...{ ...HEAD, bench: "merge" },
  result: {
    ...{ rows: 1_000_000, batches: 101, changes: 1000, seed: 1, rounds: 1, tableBytes: 32e6 },
    runs: [merged(VECTORS, 101, 5), merged(PEER, 11, 20)],
    scale: [1, 2].map((workers) => ({
      ...{ kind: TABLES, workers, seconds: 10 / workers, changes: 100_000, batches: 100 },
      ...{ cpuSeconds: 10 + workers, uncompacted: 0, load: 0.25 },
    })),
  },
} satisfies PageRecord as PageRecord;
const ALL = [INGEST, LATENCY, MEMORY, START, PROFILE, QUERY, OPEN, COMMIT, MERGE, DASHBOARD];

test("the committed page and its charts say what the committed results say, and nothing else", async () => {
  // lab bench report
  const records = pageRecords(await readResults(new URL("./results.ndjson", import.meta.url)));
  const docs = new URL("../docs/", import.meta.url);
  assert.equal(readFileSync(new URL("performance.md", docs), "utf8"), performancePage(records));
  for (const [name, svg] of Object.entries(pageCharts(records)))
    assert.equal(readFileSync(new URL(`images/${name}`, docs), "utf8"), svg, name);
});

test("every number of the results is on the page, as it was measured", () => {
  const page = performancePage(ALL);
  for (const line of [
    `| ${CLONE} | 1,000 / 1,000 / 1,000 | 1 / 1 / 1 | 20 / 20 / 20 | 200 / 200 / 200 | 140,000 | 0.14 | 2 / 2 / 2 |`,
    `| ${COMPILED} | kdi | 11 / 11 / 11 | 7 / 7 / 7 | 1 / 1 / 1 |`,
    `| ${CLONE} | 0.5 / 0.5 / 0.5 | 1.25 / 1.25 / 1.25 |`,
    "Not measured: spark, there is no pom.xml.",
    "2026-01-02, load before 0.25",
    "| 3,000 of 2,192 bytes | 600 | 1,200 | 1,700 | 1,800 | 9 | 12.5 % | 200 |",
    "| 3,600,000 | 200 | 3,500 | 40 | 315 |",
    "| `npm ci`, packages in npm's cache | 12.25 / 12.25 / 12.25 |",
    "| fetch: sockets, protocol, group | 2.00 | 25.0 % |",
    "| all of the process | 8.00 | 100 % |",
    "| partition | cold | delta_scan | 20 of 2,000 | 350 / 350 / 350 | 700 / 700 / 700 | 0.5 / 0.5 / 0.5 |",
    "| compiled | 100 | 312 / 312 / 312 |",
    "| statistics | warm | read_parquet | 2 of 100 | 10.5 / 10.5 / 10.5 | 10 / 10 / 10 | 1.05 / 1.05 / 1.05 |",
    "| a version anywhere in the history: its rows | 60 / 60 / 60 |",
    "it draws 60 / 60 / 60 frames/s",
    "| 100 | open | lab | 0.25 / 0.25 / 0.25 | 0.5 / 0.5 / 0.5 | 90 / 90 / 90 |",
    "| 100 | open | ours by the peer's | 0.5 / 0.5 / 0.5 | 1 / 1 / 1 | 0.5 / 0.5 / 0.5 |",
    "| 100,000 | 12 | 120 | 4.5 / 4.5 / 4.5 |",
    "| lab | 8 | 200 | 1.5 | not known | 0.75 |",
    "| deltalake | 11 | 500 / 500 / 500 | 1,000 / 1,000 / 1,000 | 1.25 / 1.25 / 1.25 | 0.5 / 0.5 / 0.5 | 100 / 100 / 100 | 20 / 20 / 20 |",
    "| a table for each worker | 2 | 20,000 | 2 | 120 | 3.46 times |",
    "one worker with deletion vectors does 3.5 times that",
    "| changes/s into a keyed table, by those of deltalake's merge | more than 1 times | 40.0 times | yes |",
    "- 2 cores (A & B <fast>), 8 GiB, linux 6.1",
  ])
    assert.ok(page.includes(line), `${line}\nis not in\n${page}`);
});

test("a goal is reached or not by the median of what was measured", () => {
  const verdicts = goalsOf(ALL).map(({ what, found, isReached }) => [...[what, found, isReached]]);
  assert.deepEqual(verdicts, [
    ["less CPU than kafka-delta-ingest with its usual transforms", "11.0 times", true],
    ["less CPU than kafka-delta-ingest without", "7.0 times", false],
    ["the rows/s of kafka-delta-ingest", "7.0 times", false],
    ["bytes written by bytes of JSON", "0.140", true],
    ["p99 from produced to visible, 3,000 messages/s, flush after 1 s", "1,200 ms", true],
    ["CPU at 3,000 messages/s of 2 KB", "12.5 %", false],
    ["peak memory, up to 200 partitions", "315 MB", true],
    [
      "a filter's time by delta_scan's where files are left out, table opened anew, 2,000 small files",
      "0.90",
      true,
    ],
    [
      "a filter's time by bare read_parquet's of the same files, table open, 100 files of 100,000 rows",
      "1.05",
      true,
    ],
    [
      "a filter's time by bare read_parquet's of the same files, table open, 2,000 small files",
      "1.25",
      false,
    ],
    ["first row of `lab query` on 100 files, compiled", "312 ms", true],
    ["time by deltalake's, table of 100,000 files opened, 100 commits behind", "0.50", true],
    ["CPU by deltalake's, table of 100,000 files opened, 100 commits behind", "1.00", true],
    ["memory by deltalake's, table of 100,000 files opened, 100 commits behind", "0.50", true],
    ["changes/s into a keyed table, by those of deltalake's merge", "40.0 times", true],
    ["page of 5,000 versions: first paint", "250.0 ms", true],
    ["page of 5,000 versions: rows of any version, 95 of 100", "99.5 ms", true],
    ["page of 5,000 versions: rows of the version before, 95 of 100", "120.0 ms", false],
    ["page of 5,000 versions: a frame while it is dragged, main thread", "16.9 ms", false],
  ]);
});

test("the page tells of the newest result of each kind and size, and of none that has no place on it", () => {
  const later = { ...START, at: "2026-02-02T00:00:00.000Z" };
  const tiny = { ...INGEST, result: { ...INGEST.result, size: "tiny" } } as PageRecord;
  const streams = { ...HEAD, bench: "memory", at: "2026-03-03T00:00:00.000Z", result: { streams: 50 } };
  const other = { ...HEAD, bench: "unheard-of", result: {} };
  const chosen = pageRecords([tiny, later, streams, other, START, MEMORY, INGEST]);
  assert.deepEqual(chosen, [INGEST, tiny, MEMORY, later]);
});

test("charts are images whose words are text, with a bar for each program and a line for each run", () => {
  const charts = pageCharts([INGEST, MEMORY]);
  assert.deepEqual(Object.keys(charts), ["performance-cpu.svg", "performance-memory.svg"]);
  assert.equal(charts["performance-cpu.svg"]?.match(/<rect /g)?.length, 1 + 4);
  assert.equal(charts["performance-memory.svg"]?.match(/<polyline /g)?.length, 1);
  assert.deepEqual(pageCharts([START]), {});
  assert.ok(!performancePage([INGEST]).includes("performance-memory.svg"));
});

test("results that cannot be read, or are none, are refused with their place", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-results-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "results.ndjson");
  const refused = (message: RegExp) => (error: unknown) =>
    isLabError(error, "USAGE") && message.test(error.message);
  await assert.rejects(writePage(file, folder), refused(/no results can be read/));
  await writeFile(file, `${JSON.stringify(START)}\n{"bench":\n`);
  await assert.rejects(writePage(file, folder), refused(/results\.ndjson:2 is no result/));
  await writeFile(file, `${JSON.stringify({ ...START, bench: "unheard-of" })}\n`);
  await assert.rejects(writePage(file, folder), refused(/no result that the page tells of/));
  await writeFile(file, `${JSON.stringify(START)}\n`);
  assert.deepEqual(await writePage(file, folder), [join(folder, "performance.md")]);
  assert.equal(await readFile(join(folder, "performance.md"), "utf8"), performancePage([START]));
});
