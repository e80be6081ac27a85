/** Each benchmark of `lab bench`: its defaults, its run, and its result as a text for people. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PEERS } from "../bench/peers.ts";
import type { Log } from "../core/log.ts";
import type { Values } from "../core/settings.ts";
import type { BENCH_SETTINGS } from "./bench-settings.ts";

type Around = { say: (line: string) => void; log: Log; now: () => number; signal: AbortSignal };

export type Ran = {
  result: object;
  text: string;
  /** Of programs beside the lab's own. */
  versions?: Record<string, string>;
  exit?: number;
};

type Bench = (values: Values<typeof BENCH_SETTINGS>, around: Around) => Promise<Ran>;

const ROOT = fileURLToPath(new URL("..", import.meta.url));
/** Where those who work on the lab have the programs that it is compared with. */
const REFEREES = join(ROOT, "..", "shared");

const ingest: Bench = async (values, around) => {
  const { benchIngest } = await import("../bench/ingest.ts");
  const { ingestText } = await import("./bench-ingest-text.ts");
  const { seed, messages = 500_000, kafka, partitions = 4, size = "1k", rounds = 3 } = values;
  const { versions, ...result } = await benchIngest({
    ...{ messages, size, seed, partitions, rounds, kafka, ...around },
    peers: PEERS.filter((name) => values.peers.includes(name)),
    peersFolder: join(values.referees || REFEREES, "peers"),
  });
  return { result, text: ingestText(result), versions };
};

const latency: Bench = async (values, around) => {
  const { benchLatency } = await import("../bench/latency.ts");
  const { latencyText } = await import("./bench-live-text.ts");
  const { seed, kafka, rates, partitions = 4, size = "2k" } = values;
  const result = await benchLatency({
    ...{ rates, seconds: values.for / 1000, size, seed, partitions, kafka, ...around },
  });
  return { result, text: latencyText(result) };
};

const start: Bench = async ({ rounds = 3, kafka }, around) => {
  const { benchStart } = await import("../bench/start.ts");
  const { startText } = await import("./bench-live-text.ts");
  const result = await benchStart({ rounds, kafka, ...around });
  return { result, text: startText(result) };
};

const memory: Bench = async (values, around) => {
  const { streams, backlog, outage, small } = values;
  const isOfStreams = small || [streams, backlog, outage].some((value) => value !== undefined);
  if (isOfStreams) return memoryOfStreams(values, around);
  const { benchMemoryHour } = await import("../bench/memory-hour.ts");
  const { memoryHourText } = await import("./bench-live-text.ts");
  const { seed, kafka, messages = 3_600_000, partitions = 200, size = "1k" } = values;
  const result = await benchMemoryHour({ messages, partitions, size, seed, kafka, ...around });
  return { result, text: memoryHourText(result) };
};

const memoryOfStreams: Bench = async (values, around) => {
  const { benchMemory } = await import("../bench/memory.ts");
  const { memoryChart } = await import("../bench/memory-chart.ts");
  const { memoryTable } = await import("./bench-tables.ts");
  const { small, streams = small ? 10 : 50, seed, kafka } = values;
  const result = await benchMemory({
    ...{ streams, partitions: values.partitions ?? streams * 4, seed, kafka },
    backlogBytes: values.backlog ?? (small ? 100e6 : 1e9),
    outageSeconds: (values.outage ?? (small ? 10_000 : 60_000)) / 1000,
    ...{ budgetBytes: values.budget, encoderBytes: values.memory, ...around },
  });
  const text = memoryTable(result, memoryChart(result.samples, result.limitBytes));
  return { result, text, exit: result.isWithin ? 0 : 3 };
};

const profile: Bench = async (values, around) => {
  const { benchProfile } = await import("../bench/profile.ts");
  const { profileText } = await import("./bench-live-text.ts");
  const { seed, kafka, messages = 500_000, partitions = 4, size = "1k" } = values;
  const result = await benchProfile({ messages, partitions, size, seed, kafka, ...around });
  return { result, text: profileText(result) };
};

const commit: Bench = async (values, around) => {
  const { benchCommit } = await import("../bench/commit.ts");
  const { commitTable } = await import("./bench-tables.ts");
  const result = await benchCommit({ ...values, commits: values.commits ?? 100, ...around });
  return { result, text: commitTable(result) };
};

const replay: Bench = async (values, around) => {
  const { benchReplay } = await import("../bench/replay.ts");
  const { replayText } = await import("./bench-replay-text.ts");
  const { seed, kafka, messages = 200_000, partitions = 4, size = "1k", rounds = 3 } = values;
  const result = await benchReplay({ messages, size, seed, partitions, rounds, kafka, ...around });
  return { result, text: replayText(result) };
};

const merge: Bench = async ({ messages: rows = 1_000_000, commits = 120, rounds = 3, seed }, around) => {
  const { benchMerge } = await import("../bench/merge.ts");
  const { mergeText } = await import("./bench-merge-text.ts");
  const result = await benchMerge({
    rows,
    batches: commits,
    changes: 1000,
    seed,
    rounds,
    scaleBatches: Math.ceil(commits / 4),
    ...around,
  });
  return { result, text: mergeText(result) };
};

const query: Bench = async ({ files = 2000, rounds = 11 }, around) => {
  const { benchQuery } = await import("../bench/query.ts");
  const { queryTable } = await import("./bench-tables.ts");
  const result = await benchQuery({ files, rounds, ...around });
  return { result, text: queryTable(result) };
};

const open: Bench = async ({ files = 100_000, commits = 5000, rounds = 11 }, around) => {
  const { benchOpen } = await import("../bench/open.ts");
  const { openTable } = await import("./bench-tables.ts");
  const result = await benchOpen({ files, commits, rounds, ...around });
  return { result, text: openTable(result) };
};

const dashboard: Bench = async ({ commits = 5000, rounds = 3 }, around) => {
  const { benchDashboard } = await import("../bench/dashboard.ts");
  const { dashboardText } = await import("./bench-dashboard-text.ts");
  const result = await benchDashboard({ commits, rounds, ...around });
  return { result, text: dashboardText(result) };
};

/** By the name that the command takes. */
export const BENCHES: Readonly<Record<string, Bench>> = {
  ...{ ingest, latency, start, memory, profile, replay, merge, commit, open, query, dashboard },
};

/** Writes the page and its charts into the clone's docs; resolves with their paths. */
export async function writeReport(results = join(ROOT, "bench", "results.ndjson")): Promise<string[]> {
  const { writePage } = await import("../bench/write-page.ts");
  return writePage(results, join(ROOT, "docs"));
}
