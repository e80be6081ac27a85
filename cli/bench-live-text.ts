/** The results of `lab bench latency`, `start`, `memory` and `profile` for people. */

import type { LatencyBenchResult } from "../bench/latency.ts";
import type { MemoryHourResult } from "../bench/memory-hour.ts";
import type { ProfileBenchResult } from "../bench/profile.ts";
import { PARTS, type Part } from "../bench/profile-parts.ts";
import { spread } from "../bench/spread.ts";
import type { StartBenchResult } from "../bench/start.ts";
import { columns, exact, megabytes, threeOf } from "./bench-columns.ts";

export function latencyText({ runs, seconds, flushMs, partitions }: LatencyBenchResult): string {
  const rows = runs.map(({ rate, bytesEach, visibleMs, ackMs, coreShare, peakBytes }) => [
    `${exact(rate)}/s of ${exact(bytesEach)} bytes`,
    ...[visibleMs.p50, visibleMs.p99, visibleMs.p999, visibleMs.max, ackMs.p99].map(exact),
    coreShare === null ? "?" : `${exact(coreShare * 100)} %`,
    megabytes(peakBytes),
  ]);
  const heads = ["rate", "p50", "p99", "p99.9", "max", "p99 of the ack", "CPU of one core", "peak"];
  return `${columns(heads, rows)}
ms from the moment a message was due at the producer until a reader of the table's log found it committed;
${seconds} s each after a warm-up, flush after ${flushMs} ms, ${partitions} partitions; CPU and memory are the ingester's
`;
}

export function startText({ rounds }: StartBenchResult): string {
  const of = (pick: (round: StartBenchResult["rounds"][number]) => number) =>
    threeOf(spread(rounds.map(pick)));
  return `${columns(
    ["step", "seconds"],
    [
      ["git clone", of(({ clone }) => clone)],
      ["npm ci, packages in npm's cache", of(({ npmCi }) => npmCi)],
      ["first npm start to first row", of(({ firstStart }) => firstStart)],
      ["next npm start to first row", of(({ nextStart }) => nextStart)],
    ],
  )}
${rounds.length} clones; min / median / max; Kafka's files were in the user's cache
`;
}

export function memoryHourText({ runs, size }: MemoryHourResult): string {
  const rows = runs.map(({ messages, partitions, bytes, seconds, peakBytes }) => [
    exact(messages),
    exact(partitions),
    megabytes(bytes),
    `${exact(seconds)} s`,
    megabytes(peakBytes),
  ]);
  return `${columns(["messages", "partitions", "waiting", "time", "peak resident"], rows)}
messages of ${size} that were all there before the ingester started, at default settings
`;
}

export function profileText(result: ProfileBenchResult): string {
  const { messages, size, cpuSeconds, plainCpuSeconds } = result;
  const perMillion = (seconds: number) => ((seconds / messages) * 1e6).toFixed(2);
  const rows = (Object.entries(result.parts) as [Part, number][]).map(([part, seconds]) => [
    PARTS[part],
    perMillion(seconds),
    `${((seconds / cpuSeconds) * 100).toFixed(1)} %`,
  ]);
  return `${columns(["part", "CPU s per million", "share"], [...rows, ["all of the process", perMillion(cpuSeconds), "100 %"]])}
${exact(messages)} messages of ${size}; without a profiler the same took ${perMillion(plainCpuSeconds)} CPU s per million
`;
}
