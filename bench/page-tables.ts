/** The sections of the page about tables that are there: queries over them, their logs opened, commits into them. Pure. */

import { exact, table, three, when } from "./markdown.ts";
import type { UsageSpread } from "./open.ts";
import type { QueryCase } from "./query.ts";
import type { PageRecord } from "./results.ts";

type RecordOf<Name extends PageRecord["bench"]> = Extract<PageRecord, { bench: Name }>;

export function query({ result, ...head }: RecordOf<"query">): string {
  const { large } = result;
  const first = (result.firstRow ?? []).map(({ process, files, ms }) => [process, exact(files), three(ms)]);
  const firstRow = `\n\nThe first row of \`lab query\`, from the start of its process:\n\n${table(["process", "files", "ms"], first)}`;
  const largeFiles = large
    ? `\n\nThe same of ${exact(large.rows)} rows in ${exact(large.files)} files, as a compaction leaves them:\n\n${queryCases(large.cases)}`
    : "";
  return `## Queries

${exact(result.rows)} rows in ${exact(result.files)} files, ${result.rounds} rounds; ${when(head)}. \`cold\` is a process from start to end, as in a clone, \`compiled\` the
same as in an image, \`fresh\` a table opened anew in a process that runs, \`warm\` one that is open. \`delta_scan\` is DuckDB's own delta extension; \`read_parquet\` is DuckDB alone over
the same files, of which it keeps what it can; with \`told which\` it is given those few files that ours finds by the log: what ours takes longer then is the
price of a table, to be seen where a query takes a millisecond.

${queryCases(result.cases)}${largeFiles}${first.length > 0 ? firstRow : ""}`;
}

function queryCases(cases: readonly QueryCase[]): string {
  const rows = cases.map(({ filter, process, peer, filesRead, oursMs, peerMs, ratio }) => [
    ...[filter, process, peer, `${exact(filesRead.read)} of ${exact(filesRead.total)}`],
    ...[three(oursMs), three(peerMs), three(ratio)],
  ]);
  return table(
    ["filter on", "process", "peer", "files read", "ours, ms", "peer's, ms", "ours by the peer's"],
    rows,
  );
}

export function open({ result, ...head }: RecordOf<"open">): string {
  const cells = ({ seconds, cpuSeconds, peakBytes }: UsageSpread, scale: number) => [
    ...[three(seconds), three(cpuSeconds), three(peakBytes, scale)],
  ];
  const rows = result.cases.flatMap(({ behind, step, ours, peer, ratio }) => [
    [exact(behind), step, "lab", ...cells(ours, 1e6)],
    [exact(behind), step, "deltalake", ...cells(peer, 1e6)],
    [exact(behind), step, "ours by the peer's", ...cells(ratio, 1)],
  ]);
  const follow = result.follow.map(({ files, heldBytes, refreshMs }) => [
    ...[
      exact(files),
      exact(Math.round(heldBytes / 1e6)),
      exact(Math.round(heldBytes / files)),
      three(refreshMs),
    ],
  ]);
  return `## Opening a table

A log of ${exact(result.files)} files in ${exact(result.commits)} commits, opened by a new process, ${result.rounds} rounds; ${when(head)}. \`start\` only loads the library, \`list\` looks at each file and
its statistics.

${table(["commits after the checkpoint", "step", "by", "seconds", "CPU seconds", "peak MB"], rows)}

A process that has it open, and sees one more commit:

${table(["files", "MB held", "bytes a file", "ms to see it"], follow)}`;
}

export function commit({ result, ...head }: RecordOf<"commit">): string {
  const rows = result.runs.map((run) => [
    ...[run.by, exact(run.writers), exact(run.commitsPerSecond)],
    ...[run.attemptsPerCommit, run.mostAttempts].map((value) =>
      value === null ? "not known" : exact(value),
    ),
    exact(run.slowestShare),
  ]);
  return `## Commits

Writers that race for one table, a file of ten rows each; ours are on the disk when they count, deltalake's need not be; ${when(head)}.

${table(["by", "writers", "commits/s", "attempts each", "most attempts", "slowest by an equal share"], rows)}`;
}
