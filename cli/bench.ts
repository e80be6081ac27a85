/** `lab bench`: measures, with everything it needs started and removed again. */

import type { CommitBenchResult } from "../bench/commit.ts";
import type { IngestBenchResult } from "../bench/ingest.ts";
import type { MemoryBenchResult } from "../bench/memory.ts";
import type { OpenBenchResult, UsageSpread } from "../bench/open.ts";
import type { QueryBenchResult } from "../bench/query.ts";
import type { Spread } from "../bench/spread.ts";
import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { bytes, duration, integer, named, toggle } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { defineCommand } from "./command.ts";

export const bench = defineCommand({
  name: "bench",
  summary:
    "Measure how fast and how cheaply messages get into a table, commits into its log, tables open, queries over many files, and what many streams take in memory",
  args: [{ name: "what", description: "ingest, commit, open, query or memory", required: true }],
  examples: [
    "lab bench ingest",
    "lab bench ingest --messages 1000000 --json",
    "lab bench commit --writers 8",
    "lab bench commit --store s3://lab/bench",
    "lab bench open --files 1000000 --rounds 3",
    "lab bench query --files 20000 --rounds 5",
    "lab bench memory --streams 50 --outage 60s",
  ],
  settings: {
    messages: setting<number>({
      flag: "--messages",
      kind: integer(1),
      default: 500_000,
      description: "ingest: messages of about 1 KB of JSON",
    }),
    seed: setting<number>({
      flag: "--seed",
      kind: integer(0, 2 ** 31),
      default: 1,
      description: "ingest: what they are made from",
    }),
    partitions: setting<number | undefined>({
      flag: "--partitions",
      kind: integer(1, 1000),
      default: undefined,
      description: "ingest: partitions of the topic, 4 unless given; memory: of all topics, 4 each",
    }),
    kafka: setting<string>({
      flag: "--kafka",
      kind: named("auto|docker|jvm|HOST:PORT"),
      default: "jvm",
      description: "ingest and memory: the broker to measure with; one of its own unless an address is given",
    }),
    writers: setting<number>({
      flag: "--writers",
      kind: integer(1, 100),
      default: 8,
      description: "commit: processes that race for one table",
    }),
    commits: setting<number | undefined>({
      flag: "--commits",
      kind: integer(1),
      default: undefined,
      description:
        "commit: commits of each writer, 100 unless given; open: commits of the table, 5000 unless given",
    }),
    store: setting<string | undefined>({
      flag: "--store",
      env: "LAB_BENCH_STORE",
      kind: named("folder|s3://bucket/prefix"),
      default: undefined,
      description:
        "commit: where the tables are made and removed again; a local folder of its own unless given",
    }),
    python: setting<string>({
      flag: "--python",
      kind: named("program"),
      default: "python3",
      description: "commit: an interpreter with deltalake, to compare with; left out where it has none",
    }),
    files: setting<number | undefined>({
      flag: "--files",
      kind: integer(40, 1_000_000),
      default: undefined,
      description: "query and open: data files of the table; 2000 and 100000 unless given",
    }),
    rounds: setting<number>({
      flag: "--rounds",
      kind: integer(1, 1000),
      default: 11,
      description: "query and open: times that each of both is asked",
    }),
    streams: setting<number | undefined>({
      flag: "--streams",
      kind: integer(1, 1000),
      default: undefined,
      defaultText: "50",
      description: "memory: streams in one process",
    }),
    backlog: setting<number | undefined>({
      flag: "--backlog",
      kind: bytes,
      default: undefined,
      defaultText: "1GB",
      description: "memory: raw bytes that wait in the broker",
    }),
    outage: setting<number | undefined>({
      flag: "--outage",
      kind: duration,
      default: undefined,
      defaultText: "60s",
      description: "memory: how long the store is away",
    }),
    budget: setting<number>({
      flag: "--budget",
      kind: bytes,
      default: 256 * 1024 * 1024,
      description: "memory: the ingester's --budget",
    }),
    memory: setting<number>({
      flag: "--memory",
      kind: bytes,
      default: 256 * 1024 * 1024,
      description: "memory: the ingester's --memory, of the encoder",
    }),
    small: setting<boolean>({
      flag: "--small",
      kind: toggle,
      default: false,
      description: "memory: 10 streams, 100 MB and 10 s unless given, for a quick look",
    }),
  },
  stops: "gracefully",
  seeAlso: ["ingest"],
  async run({ screen, openLog, signal, common }, values, [what]) {
    const say = screen.note;
    const print = <T>(result: T, table: (result: T) => string) =>
      screen.out(common.json ? `${toJson(result, 2)}\n` : table(result));
    if (what === "ingest") {
      const { benchIngest } = await import("../bench/ingest.ts");
      const partitions = values.partitions ?? 4;
      print(await benchIngest({ ...values, partitions, log: await openLog(), say, signal }), ingestTable);
    } else if (what === "commit") {
      const { benchCommit } = await import("../bench/commit.ts");
      print(await benchCommit({ ...values, commits: values.commits ?? 100, say, signal }), commitTable);
    } else if (what === "query") {
      const { benchQuery } = await import("../bench/query.ts");
      print(await benchQuery({ ...values, files: values.files ?? 2000, say, signal }), queryTable);
    } else if (what === "open") {
      const { benchOpen } = await import("../bench/open.ts");
      const { files = 100_000, commits = 5000, rounds } = values;
      print(await benchOpen({ files, commits, rounds, say, signal }), openTable);
    } else if (what === "memory") {
      const { benchMemory } = await import("../bench/memory.ts");
      const { memoryChart } = await import("../bench/memory-chart.ts");
      const streams = values.streams ?? (values.small ? 10 : 50);
      const result = await benchMemory({
        ...{ streams, partitions: values.partitions ?? streams * 4, seed: values.seed, kafka: values.kafka },
        backlogBytes: values.backlog ?? (values.small ? 100e6 : 1e9),
        outageSeconds: (values.outage ?? (values.small ? 10_000 : 60_000)) / 1000,
        ...{ budgetBytes: values.budget, encoderBytes: values.memory },
        ...{ log: await openLog(), say, signal },
      });
      print(result, (found) => memoryTable(found, memoryChart(found.samples, found.limitBytes)));
      return result.isWithin ? 0 : 3;
    } else
      throw new LabError("USAGE", `no such benchmark: ${what}`, {
        hint: "lab bench ingest, lab bench commit, lab bench open, lab bench query, or lab bench memory",
      });
    return 0;
  },
});

function queryTable({ files, rows, rounds, cases }: QueryBenchResult): string {
  const exact = (value: number) => value.toLocaleString("en");
  const spread = ({ min, median, max }: Spread) => `${exact(min)} / ${exact(median)} / ${exact(max)}`;
  const head = ["filter on", "process", "warm-ups", "files read", "ours, ms", "delta_scan, ms", "ratio"];
  const lines = cases.map((one) => [
    one.filter,
    one.process,
    exact(one.warmUps),
    `${exact(one.filesRead.read)} of ${exact(one.filesRead.total)}`,
    spread(one.oursMs),
    spread(one.peerMs),
    spread(one.ratio),
  ]);
  const text = [head, ...lines].map((cells) =>
    cells
      .map((cell, at) => cell.padEnd(at < 3 ? 13 : 32))
      .join("")
      .trimEnd(),
  );
  const what = `${exact(rows)} rows in ${exact(files)} files, ${rounds} rounds in alternating order after the warm-ups, which are as many on both sides; min / median / max`;
  return `${text.join("\n")}\n\n${what}\n`;
}

function openTable({ files, commits, rounds, cases, follow }: OpenBenchResult): string {
  const exact = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 2 });
  const spread = ({ min, median, max }: Spread, scale = 1) =>
    [min, median, max].map((value) => exact(value / scale)).join(" / ");
  const cells = (by: string, { seconds, cpuSeconds, peakBytes }: UsageSpread, scale = 1e6) => [
    by,
    spread(seconds),
    spread(cpuSeconds),
    spread(peakBytes, scale),
  ];
  const head = ["commits behind", "step", "by", "seconds", "CPU seconds", "peak MB"];
  const lines = cases.flatMap(({ behind, step, ours, peer, ratio }) => [
    [exact(behind), step, ...cells("lab", ours)],
    ["", "", ...cells("deltalake", peer)],
    ["", "", ...cells("ratio", ratio, 1)],
  ]);
  const widths = [16, 8, 11, 26, 26, 26];
  const text = [head, ...lines].map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join("")
      .trimEnd(),
  );
  const followed = follow.map(
    (one) =>
      `${exact(one.files)} files: the open table holds ${exact(one.heldBytes / 1e6)} MB, ${exact(one.heldBytes / one.files)} bytes a file; ` +
      `one more commit is seen in ${spread(one.refreshMs)} ms, reading ${exact(one.bytesRead)} bytes`,
  );
  const what = `${exact(files)} files in ${exact(commits)} commits, ${rounds} rounds in alternating order; min / median / max
start: everything loaded, nothing opened; list: opened, and every file looked at with its statistics
seconds begin when everything is loaded; CPU seconds and peak memory are of the whole process`;
  return `${text.join("\n")}\n\n${what}\n\n${followed.join("\n")}\n`;
}

function commitTable({ store, runs }: CommitBenchResult): string {
  const head = ["by", "writers", "commits/s", "attempts", "most", "slowest's share"];
  const lines = runs.map((run) => [
    run.by,
    run.writers,
    run.commitsPerSecond,
    run.attemptsPerCommit ?? "-",
    run.mostAttempts ?? "-",
    run.slowestShare,
  ]);
  const text = [head, ...lines].map((cells) =>
    cells
      .map((cell) => String(cell).padEnd(12))
      .join("")
      .trimEnd(),
  );
  const what = "each commit puts one Parquet file of ten rows and one log entry, checkpoints included";
  return `${text.join("\n")}\n\nin ${store}; ${what}\n`;
}

function memoryTable(result: MemoryBenchResult, chart: readonly string[]): string {
  const exact = (value: number) => value.toLocaleString("en");
  const megabytes = (value: number) => `${exact(Math.round(value / 1e6))} MB`;
  const rows: [string, string][] = [
    ["streams", `${exact(result.streams)} in one process, ${exact(result.partitions)} partitions in all`],
    ["backlog", `${megabytes(result.backlogBytes)} in ${exact(result.messages)} messages`],
    ["store away", `${result.outageSeconds} s, of ${result.seconds} s`],
    [
      "peak memory",
      `${megabytes(result.peakBytes)} resident; ${megabytes(result.peakInOutageBytes)} in the outage`,
    ],
    [
      "budget",
      `${megabytes(result.budgetBytes)} of messages, ${megabytes(result.encoderBytes)} for the encoder`,
    ],
    ["overhead", `${megabytes(result.overheadBytes)} stated on top`],
    ["limit", `${megabytes(result.limitBytes)}: ${result.isWithin ? "kept" : "BROKEN"}`],
  ];
  const text = rows.map(([name, value]) => `${name.padEnd(18)} ${value}\n`).join("");
  return `${text}\nMB resident; ":" while the store was away, "-" the limit\n${chart.join("\n")}\n`;
}

function ingestTable(result: IngestBenchResult): string {
  const exact = (value: number) => value.toLocaleString("en");
  const rows: [string, string][] = [
    ["messages", `${exact(result.messages)} of ${Math.round(result.bytes / result.messages)} bytes`],
    ["time", `${result.seconds} s, start-up and group join included`],
    ["messages/s", exact(result.messagesPerSecond)],
    ["MB/s", String(result.megabytesPerSecond)],
    ["CPU s per million", `${result.cpuSecondsPerMillion} (user and system, all threads)`],
    ["peak memory", `${result.peakMegabytes} MB`],
    [
      "written",
      `${exact(result.bytesWritten)} bytes in ${result.files} files, ${(result.bytesWritten / result.bytes).toFixed(3)} of the JSON`,
    ],
  ];
  return rows.map(([name, value]) => `${name.padEnd(18)} ${value}\n`).join("");
}
