/** What the lab is meant to reach, and what the results say of it. Pure. */

import { COMPILED } from "./contender.ts";
import { ingestSummary } from "./ingest-summary.ts";
import { changesPerSecond, type MergeRun, PEER, VECTORS } from "./merge-run.ts";
import type { QueryCase } from "./query.ts";
import type { PageRecord } from "./results.ts";
import { spread } from "./spread.ts";

export type Goal = {
  what: string;
  goal: string;
  /** As measured, with its unit. */
  found: string;
  isReached: boolean;
};

const MB = 1e6;

/** Each goal that the results can answer, by medians; ours is the compiled program. */
export function goalsOf(records: readonly PageRecord[]): Goal[] {
  return records.flatMap((record) => {
    switch (record.bench) {
      case "ingest":
        return ingestGoals(record.result);
      case "latency":
        return latencyGoals(record.result);
      case "memory":
        return memoryGoals(record.result);
      case "merge":
        return mergeGoals(record.result);
      case "query":
        return queryGoals(record.result);
      case "open":
        return openGoals(record.result);
      case "dashboard":
        return dashboardGoals(record.result);
      default:
        return [];
    }
  });
}

type ResultOf<Name extends PageRecord["bench"]> = Extract<PageRecord, { bench: Name }>["result"];

function ingestGoals(result: ResultOf<"ingest">): Goal[] {
  const { programs, ratios } = ingestSummary(result);
  const ours = programs.find(({ by }) => by === COMPILED);
  if (ours === undefined) return [];
  const ratio = (peer: string) => ratios.find((one) => one.ours === COMPILED && one.peer === peer);
  const goals: Goal[] = [];
  const least = (what: string, factor: number, found: number | undefined) => {
    if (found === undefined) return;
    goals.push({
      ...{ what, goal: `at least ${factor} times` },
      ...{ found: `${found.toFixed(1)} times`, isReached: found >= factor },
    });
  };
  const most = (what: string, limit: number, unit: string, found: number, digits: number) => {
    const goal = `at most ${limit} ${unit}`.trim();
    goals.push({ what, goal, found: `${found.toFixed(digits)} ${unit}`.trim(), isReached: found <= limit });
  };
  if (result.size === "1k") {
    least("less CPU than kafka-delta-ingest with its usual transforms", 10, ratio("kdi")?.cpu.median);
    least("less CPU than kafka-delta-ingest without", 8, ratio("kdi-plain")?.cpu.median);
    least("less CPU than Spark", 10, ratio("spark")?.cpu.median);
    least("the rows/s of kafka-delta-ingest", 8, ratio("kdi")?.rows.median);
    most("bytes written by bytes of JSON", 0.15, "", ours.writtenShare.median, 3);
  }
  if (result.size === "tiny")
    most("CPU for a million messages of 104 bytes", 2, "s", ours.cpuSecondsPerMillion.median, 2);
  return goals;
}

function latencyGoals({ runs, size }: ResultOf<"latency">): Goal[] {
  const run = runs.find(({ rate }) => rate === 3_000);
  if (run === undefined || size !== "2k") return [];
  const { visibleMs, coreShare } = run;
  const seen: Goal = {
    ...{ what: "p99 from produced to visible, 3,000 messages/s, flush after 1 s", goal: "at most 1,500 ms" },
    ...{ found: `${visibleMs.p99.toLocaleString("en")} ms`, isReached: visibleMs.p99 <= 1_500 },
  };
  if (coreShare === null) return [seen];
  const share: Goal = {
    ...{ what: "CPU at 3,000 messages/s of 2 KB", goal: "under 10 % of a core" },
    ...{ found: `${(coreShare * 100).toFixed(1)} %`, isReached: coreShare < 0.1 },
  };
  return [seen, share];
}

function memoryGoals({ runs }: ResultOf<"memory">): Goal[] {
  const peak = Math.max(0, ...runs.map(({ peakBytes }) => peakBytes));
  const widest = Math.max(0, ...runs.map(({ partitions }) => partitions));
  return [
    {
      ...{ what: `peak memory, up to ${widest} partitions`, goal: "at most 350 MB" },
      ...{ found: `${Math.round(peak / MB)} MB`, isReached: peak <= 350 * MB },
    },
  ];
}

/** By the middle rounds. */
function mergeGoals({ runs, changes }: ResultOf<"merge">): Goal[] {
  const rate = (by: MergeRun["by"]) => {
    const its = runs.filter((run) => run.by === by).map((run) => changesPerSecond(run, changes));
    return its.length === 0 ? undefined : spread(its).median;
  };
  const [ours, peer] = [rate(VECTORS), rate(PEER)];
  if (ours === undefined || peer === undefined) return [];
  return [
    {
      ...{ what: "changes/s into a keyed table, by those of deltalake's merge", goal: "more than 1 times" },
      ...{ found: `${(ours / peer).toFixed(1)} times`, isReached: ours > peer },
    },
  ];
}

/** By the filter on which ours does worst: beside `delta_scan` of those that leave files out, which is what is wanted there, else of all. */
function queryGoals({ files, cases, firstRow = [], large }: ResultOf<"query">): Goal[] {
  const tables = [{ of: `${files.toLocaleString("en")} small files`, cases }];
  if (large) {
    const [count, rows] = [large.files, large.rows / large.files].map((value) => value.toLocaleString("en"));
    tables.unshift({ of: `${count} files of ${rows} rows`, cases: large.cases });
  }
  const worst = (peer: string, process: string, what: string, limit: number): Goal[] =>
    tables.flatMap(({ of, cases: its }) => {
      const isAsked = ({ filter }: QueryCase) => peer !== "delta_scan" || filter !== "values";
      const ratios = its.filter((one) => one.peer === peer && one.process === process && isAsked(one));
      if (ratios.length === 0) return [];
      const found = Math.max(...ratios.map(({ ratio }) => ratio.median));
      return [ratioGoal(`a filter's time by ${what}, ${of}`, limit, found)];
    });
  return [
    ...worst("delta_scan", "fresh", "delta_scan's where files are left out, table opened anew", 1),
    ...worst("delta_scan", "warm", "delta_scan's where files are left out, table open", 1),
    ...worst("read_parquet", "warm", "bare read_parquet's of the same files, table open", 1.1),
    ...firstRow.map(({ process, files, ms }) => ({
      ...{ what: `first row of \`lab query\` on ${files} files, ${process}`, goal: "at most 400 ms" },
      ...{ found: `${Math.round(ms.median)} ms`, isReached: ms.median <= 400 },
    })),
  ];
}

function openGoals({ files, cases }: ResultOf<"open">): Goal[] {
  const at = `table of ${files.toLocaleString("en")} files opened`;
  const opened = cases.filter(({ step }) => step === "open");
  return opened.flatMap(({ behind, ratio }) => [
    ratioGoal(`time by deltalake's, ${at}, ${behind} commits behind`, 1, ratio.seconds.median),
    ratioGoal(`CPU by deltalake's, ${at}, ${behind} commits behind`, 1, ratio.cpuSeconds.median),
    ratioGoal(`memory by deltalake's, ${at}, ${behind} commits behind`, 0.5, ratio.peakBytes.median),
  ]);
}

function dashboardGoals({ commits, load, drag, jump, step }: ResultOf<"dashboard">): Goal[] {
  const of = `of ${commits.toLocaleString("en")} versions`;
  const under = (what: string, limit: number, ms: number): Goal => ({
    ...{
      what,
      goal: `under ${limit.toLocaleString("en")} ms`,
      found: `${ms.toFixed(1)} ms`,
      isReached: ms < limit,
    },
  });
  return [
    under(`page ${of}: first paint`, 1_000, load.paintMs.median),
    under(`page ${of}: rows of any version, 95 of 100`, 100, jump.rowsMs95.median),
    under(`page ${of}: rows of the version before, 95 of 100`, 100, step.rowsMs95.median),
    {
      ...{ what: `page ${of}: a frame while it is dragged, main thread`, goal: "at most 16.7 ms" },
      ...{ found: `${drag.mainThreadMs.median.toFixed(1)} ms`, isReached: drag.mainThreadMs.median <= 16.7 },
    },
  ];
}

function ratioGoal(what: string, limit: number, found: number): Goal {
  return { what, goal: `at most ${limit}`, found: found.toFixed(2), isReached: found <= limit };
}
