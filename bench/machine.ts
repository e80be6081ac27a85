/** What a result was measured on and with: figures mean nothing without. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg, platform, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export type Machine = { cores: number; cpu: string; memoryBytes: number; kernel: string };

/** What stands at the head of every result. */
export type Measurement = {
  /** UTC, ISO. */
  at: string;
  machine: Machine;
  /** Average number of processes that wanted a core in the minute before, the benchmark's own not yet among them. */
  loadBefore: number;
  /** By program. */
  versions: Record<string, string>;
};

/** The head of a result that begins now. `now` in ms since the epoch. */
export async function measurement(now: number): Promise<Measurement> {
  return {
    at: new Date(now).toISOString(),
    machine: {
      cores: availableParallelism(),
      cpu: cpus()[0]?.model.trim() ?? "unknown",
      memoryBytes: totalmem(),
      kernel: `${platform()} ${release()}`,
    },
    loadBefore: load(),
    versions: { node: process.version, lab: await labVersion(), kafka: await kafkaVersion() },
  };
}

/** The load of the last minute, to hundredths. */
export const load = (): number => Math.round((loadavg()[0] ?? 0) * 100) / 100;

/** The commit, with a plus where files differ from it; the package's version where there is no git. */
async function labVersion(): Promise<string> {
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  try {
    const git = async (...args: string[]) => (await promisify(execFile)("git", args, { cwd })).stdout.trim();
    // What a benchmark writes itself is no change of the program.
    const program = [".", ":!bench/results.ndjson", ":!docs"];
    const isChanged = (await git("status", "--porcelain", "--untracked-files=no", "--", ...program)) !== "";
    return `${await git("rev-parse", "--short=10", "HEAD")}${isChanged ? "+" : ""}`;
  } catch {
    const { version } = JSON.parse(await readFile(new URL("../package.json", import.meta.url), "utf8"));
    return String(version);
  }
}

async function kafkaVersion(): Promise<string> {
  const pom = await readFile(new URL("../services/kafka-jars/pom.xml", import.meta.url), "utf8");
  return /<artifactId>kafka_[\d.]+<\/artifactId>\s*<version>([^<]+)</.exec(pom)?.[1] ?? "unknown";
}
