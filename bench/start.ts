/** How long it takes from a fresh clone to the first row in a table, with what is fetched once per user already there. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LabError } from "../core/errors.ts";

export type StartBenchOptions = {
  rounds: number;
  kafka: string;
  say: (line: string) => void;
  signal: AbortSignal;
};

/** Seconds of one clone. */
export type StartRound = {
  clone: number;
  npmCi: number;
  /** From `npm start` to the first commit with rows, in the new clone. */
  firstStart: number;
  /** The same again with new data: sources are built by now. */
  nextStart: number;
};

export type StartBenchResult = { rounds: StartRound[] };

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const LOOK_MS = 50;
const PATIENCE_MS = 300_000;

/** SERVICE_UNAVAILABLE where the sources are no git repository; INTERNAL where no row comes. */
export async function benchStart(options: StartBenchOptions): Promise<StartBenchResult> {
  const { say, signal } = options;
  const result: StartBenchResult = { rounds: [] };
  for (let round = 1; round <= options.rounds; round++) {
    const folder = await mkdtemp(join(tmpdir(), "lab-bench-start-"));
    try {
      const clone = join(folder, "clone");
      const one: StartRound = {
        clone: await secondsOf(() => gitClone(clone, signal)),
        npmCi: await secondsOf(() => npmCi(clone, signal)),
        firstStart: await firstRow(clone, options),
        nextStart: await firstRow(clone, options),
      };
      say(`round ${round}: first row after ${one.firstStart} s, of the next start after ${one.nextStart} s`);
      result.rounds.push(one);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  return result;
}

async function gitClone(to: string, signal: AbortSignal): Promise<void> {
  try {
    await promisify(execFile)("git", ["clone", "--quiet", "--no-hardlinks", ROOT, to], { signal });
  } catch (cause) {
    signal.throwIfAborted();
    throw new LabError("SERVICE_UNAVAILABLE", `git cannot clone ${ROOT}: ${(cause as Error).message}`, {
      cause,
    });
  }
}

async function npmCi(clone: string, signal: AbortSignal): Promise<void> {
  const args = ["ci", "--no-audit", "--no-fund", "--prefer-offline"];
  await promisify(execFile)("npm", args, { cwd: clone, signal, maxBuffer: 64 << 20 });
}

/** Seconds from `npm start` to the first commit with rows; then the lab is stopped and its data removed. */
async function firstRow(clone: string, { kafka, signal }: StartBenchOptions): Promise<number> {
  const args = ["start", "--silent", "--", "--kafka", kafka, "--port", "0"];
  const startedMs = performance.now();
  const child = spawn("npm", args, { cwd: clone, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  const keep = (text: string) => {
    said = (said + text).slice(-4_000);
  };
  child.stdout.setEncoding("utf8").on("data", keep);
  child.stderr.setEncoding("utf8").on("data", keep);
  const closed = once(child, "close");
  closed.catch(() => {});
  const stop = async () => {
    child.kill("SIGTERM");
    await closed;
  };
  try {
    while (!(await hasRows(join(clone, "lab-data", "tables")))) {
      signal.throwIfAborted();
      if (child.exitCode !== null || performance.now() - startedMs > PATIENCE_MS)
        throw new LabError("INTERNAL", `no row came into a table of the new clone: ${said}`);
      await delay(LOOK_MS, undefined, { signal });
    }
    return rounded((performance.now() - startedMs) / 1000);
  } finally {
    await stop();
    await rm(join(clone, "lab-data"), { recursive: true, force: true });
  }
}

/** True once a table's log names a data file. */
async function hasRows(store: string): Promise<boolean> {
  for (const table of await readdir(store).catch(() => [])) {
    const log = join(store, table, "_delta_log");
    for (const name of await readdir(log).catch(() => []))
      if (/^\d{20}\.json$/.test(name) && (await readFile(join(log, name), "utf8")).includes('"add":'))
        return true;
  }
  return false;
}

async function secondsOf(step: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await step();
  return rounded((performance.now() - startedMs) / 1000);
}

const rounded = (seconds: number) => Math.round(seconds * 100) / 100;
