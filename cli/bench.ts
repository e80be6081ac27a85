/** `lab bench`: measures, with everything it needs started and removed again. */

import type { CommitBenchResult } from "../bench/commit.ts";
import type { IngestBenchResult } from "../bench/ingest.ts";
import type { OpenBenchResult, UsageSpread } from "../bench/open.ts";
import type { QueryBenchResult } from "../bench/query.ts";
import type { Spread } from "../bench/spread.ts";
import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { integer, named } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { defineCommand } from "./command.ts";

export const bench = defineCommand({
  name: "bench",
  summary:
    "Measure how fast and how cheaply messages get into a table, commits into its log, tables open, and queries over many files",
  args: [{ name: "what", description: "ingest, commit, open or query", required: true }],
  examples: [
    "lab bench ingest",
    "lab bench ingest --messages 1000000 --json",
    "lab bench commit --writers 8",
    "lab bench commit --store s3://lab/bench",
    "lab bench open --files 1000000 --rounds 3",
    "lab bench query --files 20000 --rounds 5",
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
    partitions: setting<number>({
      flag: "--partitions",
      kind: integer(1, 1000),
      default: 4,
      description: "ingest: partitions of the topic",
    }),
    kafka: setting<string>({
      flag: "--kafka",
      kind: named("auto|docker|jvm|HOST:PORT"),
      default: "jvm",
      description: "ingest: the broker to measure with; one of its own unless an address is given",
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
  },
  stops: "gracefully",
  seeAlso: ["ingest"],
  async run({ screen, openLog, signal, common }, values, [what]) {
    const say = screen.note;
    const print = <T>(result: T, table: (result: T) => string) =>
      screen.out(common.json ? `${toJson(result, 2)}\n` : table(result));
    if (what === "ingest") {
      const { benchIngest } = await import("../bench/ingest.ts");
      print(await benchIngest({ ...values, log: await openLog(), say, signal }), ingestTable);
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
    } else
      throw new LabError("USAGE", `no such benchmark: ${what}`, {
        hint: "lab bench ingest, lab bench commit, lab bench open, or lab bench query",
      });
    return 0;
  },
});

function queryTable({ files, rows, rounds, cases }: QueryBenchResult): string {
  const exact = (value: number) => value.toLocaleString("en");
  const spread = ({ min, median, max }: Spread) => `${exact(min)} / ${exact(median)} / ${exact(max)}`;
  const head = ["filter on", "process", "files read", "ours, ms", "delta_scan, ms", "ratio"];
  const lines = cases.map((one) => [
    one.filter,
    one.process,
    `${exact(one.filesRead.read)} of ${exact(one.filesRead.total)}`,
    spread(one.oursMs),
    spread(one.peerMs),
    spread(one.ratio),
  ]);
  const text = [head, ...lines].map((cells) =>
    cells
      .map((cell) => cell.padEnd(32))
      .join("")
      .trimEnd(),
  );
  const what = `${exact(rows)} rows in ${exact(files)} files, ${rounds} rounds in alternating order; min / median / max`;
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
