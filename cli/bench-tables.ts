/** The results of `lab bench` as tables for people. */

import type { CommitBenchResult } from "../bench/commit.ts";
import type { MemoryBenchResult } from "../bench/memory.ts";
import type { OpenBenchResult, UsageSpread } from "../bench/open.ts";
import type { QueryBenchResult, QueryCase } from "../bench/query.ts";
import type { Spread } from "../bench/spread.ts";

export function queryTable({ files, rows, rounds, cases, firstRow = [], large }: QueryBenchResult): string {
  const note = `${rounds} rounds in alternating order after the warm-ups, which are as many on both sides; min / median / max`;
  const first = firstRow.map(
    (one) =>
      `first row of \`lab query\` from ${one.files.toLocaleString("en")} files, the start of the process in it, ${one.process}: ${spread(one.ms)} ms\n`,
  );
  const largeText = large ? `${queryCases(large)}\n` : "";
  return `${queryCases({ files, rows, cases })}\n${largeText}${note}\n${first.join("")}`;
}

const exact = (value: number) => value.toLocaleString("en");
const spread = ({ min, median, max }: Spread) => `${exact(min)} / ${exact(median)} / ${exact(max)}`;

function queryCases({
  files,
  rows,
  cases,
}: {
  files: number;
  rows: number;
  cases: readonly QueryCase[];
}): string {
  const head = ["filter on", "process", "warm-ups", "peer", "files read", "ours, ms", "peer's, ms", "ratio"];
  const lines = cases.map((one) => [
    one.filter,
    one.process,
    exact(one.warmUps),
    one.peer,
    `${exact(one.filesRead.read)} of ${exact(one.filesRead.total)}`,
    spread(one.oursMs),
    spread(one.peerMs),
    spread(one.ratio),
  ]);
  const text = [head, ...lines].map((cells) =>
    cells
      .map((cell, at) => cell.padEnd(at < 4 ? 14 : 32))
      .join("")
      .trimEnd(),
  );
  return `${exact(rows)} rows in ${exact(files)} files\n\n${text.join("\n")}\n`;
}

export function openTable({ files, commits, rounds, cases, follow }: OpenBenchResult): string {
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

export function commitTable({ store, runs }: CommitBenchResult): string {
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

export function memoryTable(result: MemoryBenchResult, chart: readonly string[]): string {
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
