/** How long a process was at work, for peers that wait for a clock before they write what they have. Linux. */

import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

const STEP_MS = 200;
/** Below a tenth of a core it waits. */
const AWAKE_SHARE = 0.1;
const TICKS_PER_SECOND = 100;

export type CpuSample = { atMs: number; cpuSeconds: number };

/** Seconds of the spans between samples in which it used at least a tenth of a core. */
export function secondsAwake(samples: readonly CpuSample[]): number {
  return samples.slice(1).reduce((sum, { atMs, cpuSeconds }, n) => {
    const before = samples[n]!;
    const seconds = (atMs - before.atMs) / 1000;
    return cpuSeconds - before.cpuSeconds >= AWAKE_SHARE * seconds ? sum + seconds : sum;
  }, 0);
}

/** User and system time of a process in seconds; null where there is none or no /proc. */
export async function cpuSecondsOf(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (stat === null) return null;
  // The name of the program, in brackets, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Samples the first child of a process, once there is one, until `until` settles. */
export async function sampleChild(parent: number, until: Promise<unknown>): Promise<CpuSample[]> {
  const samples: CpuSample[] = [];
  let isOver = false;
  const over = until.then(
    () => {
      isOver = true;
    },
    () => {
      isOver = true;
    },
  );
  while (!isOver) {
    await Promise.race([delay(STEP_MS), over]);
    const children = await readFile(`/proc/${parent}/task/${parent}/children`, "utf8").catch(() => "");
    const child = Number.parseInt(children, 10);
    const cpuSeconds = Number.isNaN(child) ? null : await cpuSecondsOf(child);
    if (cpuSeconds !== null) samples.push({ atMs: performance.now(), cpuSeconds });
  }
  return samples;
}
