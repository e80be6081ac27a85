/** The section of the page about changes applied to a keyed table. Pure. */

import { exact, table, three, when } from "./markdown.ts";
import { changesPerSecond, type MergeBenchResult, type MergeRun, type ScaleRun } from "./merge-run.ts";
import type { PageRecord } from "./results.ts";
import { spread } from "./spread.ts";

/** Changes a second of 500 million a day. */
const WANTED = 500_000_000 / 86_400;

type MergeRecord = Extract<PageRecord, { bench: "merge" }>;

/** Each program in a row, by all its rounds. */
export function mergeRows(result: MergeBenchResult): { heads: string[]; rows: string[][] } {
  const heads = [
    ...["by", "batches", "changes/s", "CPU ms a batch", "first batch, s", "slowest of the others, s"],
    ...["KB of data written a batch", "KB of log a batch"],
  ];
  const rows = [...new Set(result.runs.map(({ by }) => by))].map((by) => {
    const its = result.runs.filter((run) => run.by === by);
    const of = (value: (run: MergeRun) => number) => three(spread(its.map(value)));
    return [
      ...[by, exact(its[0]!.batches), of((run) => Math.round(changesPerSecond(run, result.changes)))],
      of((run) => (run.cpuSeconds / (run.batches - 1)) * 1000),
      ...[of((run) => run.firstSeconds), of((run) => run.longestSeconds)],
      ...[of((run) => run.dataBytes / run.batches / 1e3), of((run) => run.logBytes / run.batches / 1e3)],
    ];
  });
  return { heads, rows };
}

/** Workers at once, each number of them in a row. */
export function scaleRows(scale: readonly ScaleRun[]): { heads: string[]; rows: string[][] } {
  const heads = [
    "changes to",
    "workers",
    "changes/s",
    "by those of one",
    "CPU ms a batch",
    "of what is wanted",
  ];
  const rate = (run: ScaleRun) => run.changes / run.seconds;
  const rows = scale.map((run) => {
    const one = scale.find(({ kind, workers }) => kind === run.kind && workers === 1);
    return [
      ...[run.kind, exact(run.workers), exact(Math.round(rate(run)))],
      one === undefined ? "" : exact(rate(run) / rate(one)),
      exact((run.cpuSeconds / run.batches) * 1000),
      `${exact(rate(run) / WANTED)} times`,
    ];
  });
  return { heads, rows };
}

/** What the middle round of ours makes of 500 million changes a day, in words. */
export function mergeReach({ runs, changes }: MergeBenchResult): string {
  const [first] = runs;
  const rates = runs.filter(({ by }) => by === first?.by).map((run) => changesPerSecond(run, changes));
  const times = (spread(rates).median / WANTED).toFixed(1);
  return `500 million changes a day are ${exact(Math.round(WANTED))} a second: one worker with deletion vectors does ${times} times that.`;
}

export function merge({ result, ...head }: MergeRecord): string {
  const { heads, rows } = mergeRows(result);
  return `## Changes applied to a keyed table

Batches of ${exact(result.changes)} inserts, updates and deletes, spread evenly over a table of ${exact(result.rows)} rows and ${exact(Math.round(result.tableBytes / 1e6))} MB, a version a batch; ${result.rounds} rounds; ${when(head)}.
The first batch reads the keys of the table, and is in no other figure but those of bytes.

${table(heads, rows)}

${mergeReach(result)} Joining small files, checkpoints and the column that orders changes are in it. \`deltalake\` is its \`merge\` of the same batches into the same rows.${scaled(result)}`;
}

function scaled({ scale = [], changes }: MergeBenchResult): string {
  if (scale.length === 0) return "";
  const { heads, rows } = scaleRows(scale);
  return `

**By workers.** The same changes, parted by their keys as a topic's partitions part them; each worker is a process of its own on this machine, and merges batches of ${exact(changes)}. What is
wanted is 500 million changes a day.

${table(heads, rows)}

Workers with a table each have nothing in common but the machine. Those of one table race for its versions, and each follows what the others write.`;
}
