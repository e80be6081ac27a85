/** What a run of the lab uses, from start to end: each of its processes tells at its own. */

import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LabError } from "../core/errors.ts";

export type Usage = {
  /** From the start of the process to its end. */
  seconds: number;
  /** User and system time of all its threads, and of the Node processes that it started. */
  cpuSeconds: number;
  /** Most memory that was resident; of several processes the sum of their peaks. */
  peakBytes: number;
};

/** Runs Node with `args` in `cwd`. INTERNAL with the end of its stderr unless it ends with status 0. */
export async function measured(
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: NodeJS.ProcessEnv },
  signal: AbortSignal,
): Promise<Usage> {
  const folder = await mkdtemp(join(tmpdir(), "lab-usage-"));
  try {
    const startedMs = performance.now();
    await runNode(args, { cwd, env: { ...env, ...usageEnv(folder) } }, signal);
    const seconds = (performance.now() - startedMs) / 1000;
    return { seconds, ...(await collectUsage(folder)) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Variables for a process that tells its usage in `folder`, as do the Node processes it starts. */
export function usageEnv(folder: string): NodeJS.ProcessEnv {
  const preload = fileURLToPath(new URL("./report-usage.cjs", import.meta.url));
  const options = [process.env.NODE_OPTIONS, `--require ${JSON.stringify(preload)}`];
  return { LAB_USAGE_DIR: folder, NODE_OPTIONS: options.filter(Boolean).join(" ") };
}

/** The sum of what was told in `folder`. INTERNAL where nothing was. */
export async function collectUsage(folder: string): Promise<Omit<Usage, "seconds">> {
  const told = await Promise.all(
    (await readdir(folder)).map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8"))),
  );
  if (told.length === 0) throw new LabError("INTERNAL", "the measured process did not tell what it used");
  const sum = (key: "cpuSeconds" | "peakBytes") => told.reduce((total, one) => total + one[key], 0);
  return { cpuSeconds: sum("cpuSeconds"), peakBytes: sum("peakBytes") };
}

async function runNode(
  args: readonly string[],
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
  signal: AbortSignal,
): Promise<void> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
    signal,
  });
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err = (err + text).slice(-4000);
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (status !== 0)
    throw new LabError("INTERNAL", `the measured process ended with status ${status}: ${err}`);
}
