/** How much memory processes take, as the kernel counts it. */

import { readFileSync } from "node:fs";

export type MemoryWatch = {
  watch(pid: number): void;
  /** The largest resident memory that any of them had, in MiB. */
  peakMiB(): number;
  end(): void;
};

const EVERY_MS = 500;

/** Asks the kernel for each process's own high-water mark, every now and then: a process that is gone cannot be asked. */
export function watchMemory(): MemoryWatch {
  const pids = new Set<number>();
  let peakKiB = 0;
  const look = () => {
    for (const pid of pids) {
      try {
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        peakKiB = Math.max(peakKiB, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0));
      } catch {
        pids.delete(pid);
      }
    }
  };
  const timer = setInterval(look, EVERY_MS);
  return {
    watch: (pid) => void pids.add(pid),
    peakMiB() {
      look();
      return Math.round(peakKiB / 1024);
    },
    end: () => clearInterval(timer),
  };
}
