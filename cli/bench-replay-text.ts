/** What `lab bench replay` prints. */

import type { ReplayBenchResult } from "../bench/replay.ts";

export function replayText({ messages, size, partitions, rounds, runs }: ReplayBenchResult): string {
  const whats = [...new Set(runs.map(({ what }) => what))];
  const lines = whats.map((what) => {
    const its = runs.filter((run) => run.what === what);
    const rate = Math.max(...its.map(({ seconds }) => messages / seconds));
    const cpu = Math.min(...its.map(({ cpuSeconds }) => (cpuSeconds / messages) * 1e6));
    return `${what.padEnd(14)}${Math.round(rate).toLocaleString("en").padStart(12)} records/s${cpu.toFixed(1).padStart(8)} CPU s per million`;
  });
  const head = `${messages.toLocaleString("en")} messages of ${size}, ${partitions} partitions, best of ${rounds}`;
  return `${head}\n${lines.join("\n")}\n`;
}
