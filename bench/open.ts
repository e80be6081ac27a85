/** How long it takes to open a table of many files, and how much memory, beside delta-rs; and to follow it from there. */

import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LabError } from "../core/errors.ts";
import { compiledProgram } from "./compiled.ts";
import { addCommits, makeOpenTable } from "./open-table.ts";
import { pythonPackages } from "./python.ts";
import { type Spread, spread } from "./spread.ts";

export type OpenBenchOptions = {
  files: number;
  commits: number;
  rounds: number;
  say: (line: string) => void;
  signal: AbortSignal;
};

/** `start`: everything is loaded, nothing opened. `list`: opened, and each file looked at with its statistics. */
export type OpenStep = "start" | "open" | "list";

type Usage = { seconds: number; cpuSeconds: number; peakBytes: number };

/** `seconds` begin when everything is loaded; CPU time and peak memory are of the whole process. */
export type UsageSpread = { [K in keyof Usage]: Spread };

export type OpenBenchResult = {
  files: number;
  commits: number;
  rounds: number;
  cases: {
    /** Commits after the newest checkpoint. */
    behind: number;
    step: OpenStep;
    ours: UsageSpread;
    peer: UsageSpread;
    /** Ours by the peer's, round by round. */
    ratio: UsageSpread;
  }[];
  /** By a process that has the table open: what that holds in memory, and what one more commit of 20 files costs. */
  follow: { files: number; heldBytes: number; refreshMs: Spread; bytesRead: number }[];
};

const BEHIND = 100;
const FILES_PER_COMMIT = 20;

/** INTERNAL if both do not find all files. */
export async function benchOpen(options: OpenBenchOptions): Promise<OpenBenchResult> {
  const { files, commits, rounds, say, signal } = options;
  const packages = await pythonPackages(new URL("./deltalake.txt", import.meta.url), signal);
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-"));
  try {
    const program = join(folder, "program");
    await mkdir(program);
    const child = await compiledProgram("bench/open-child", program, signal);
    const ours = (table: string, step: OpenStep) => once(process.execPath, [child, table, step], {}, signal);
    const peer = (table: string, step: OpenStep) =>
      once("python3", [PEER, table, step], { PYTHONPATH: packages }, signal);
    const result: OpenBenchResult = { files, commits, rounds, cases: [], follow: [] };
    const sizes = [files, Math.max(1, Math.floor(files / 10))];
    for (const size of sizes) {
      say(`writing a log of ${size.toLocaleString("en")} files in ${commits.toLocaleString("en")} commits`);
      const table = join(folder, `t${size}`);
      await makeOpenTable(table, { files: size, commits }, signal);
      const added = (count: number, first: number) =>
        addCommits(
          table,
          {
            firstVersion: commits + first,
            commits: count,
            firstFile: size + (first - 1) * FILES_PER_COMMIT,
            files: count * FILES_PER_COMMIT,
            ofFiles: size,
          },
          signal,
        );
      if (size === files) {
        for (const behind of [0, BEHIND]) {
          if (behind > 0) await added(behind, 1);
          for (const step of behind === 0
            ? (["start", "open", "list"] as const)
            : (["open", "list"] as const)) {
            say(`${step}, ${behind} commits after the checkpoint: ${rounds} rounds`);
            const expected = size + behind * FILES_PER_COMMIT;
            const found = await alternate(
              () => ours(table, step),
              () => peer(table, step),
              rounds,
              (used) => {
                const isAll = step !== "list" || used.files === expected;
                if (!isAll)
                  throw new LabError("INTERNAL", `${expected} files, of which ${used.files} were found`);
              },
            );
            result.cases.push({ behind, step, ...found });
          }
        }
      }
      say(`following a table of ${size.toLocaleString("en")} files`);
      const firstNew = size === files ? BEHIND + 1 : 1;
      result.follow.push({
        files: size,
        ...(await follow(child, table, rounds, (round) => added(1, firstNew + round), signal)),
      });
    }
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const PEER = fileURLToPath(new URL("./open-peer.py", import.meta.url));

type Used = Usage & { files: number };

async function once(
  program: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<Used> {
  const { stdout } = await promisify(execFile)(program, args, { env: { ...process.env, ...env }, signal });
  return JSON.parse(stdout) as Used;
}

/** Takes turns in who goes first; the first round only warms caches up and does not count. */
async function alternate(
  ours: () => Promise<Used>,
  peer: () => Promise<Used>,
  rounds: number,
  check: (used: Used) => void,
): Promise<{ ours: UsageSpread; peer: UsageSpread; ratio: UsageSpread }> {
  const all: { ours: Used; peer: Used }[] = [];
  for (let round = 0; round <= rounds; round++) {
    const first = round % 2 === 0 ? await ours() : undefined;
    const theirs = await peer();
    const both = { ours: first ?? (await ours()), peer: theirs };
    check(both.ours);
    check(both.peer);
    if (round > 0) all.push(both);
  }
  const spreads = (value: (round: { ours: Used; peer: Used }, key: keyof Usage) => number): UsageSpread => ({
    seconds: spread(all.map((round) => value(round, "seconds"))),
    cpuSeconds: spread(all.map((round) => value(round, "cpuSeconds"))),
    peakBytes: spread(all.map((round) => value(round, "peakBytes"))),
  });
  return {
    ours: spreads((round, key) => round.ours[key]),
    peer: spreads((round, key) => round.peer[key]),
    ratio: spreads((round, key) => round.ours[key] / round.peer[key]),
  };
}

/** Opens the table in a process of its own, which looks for news after each commit that `commit` adds. */
async function follow(
  child: string,
  table: string,
  rounds: number,
  commit: (round: number) => Promise<void>,
  signal: AbortSignal,
): Promise<{ heldBytes: number; refreshMs: Spread; bytesRead: number }> {
  const running = spawn(process.execPath, ["--expose-gc", child, table, "follow"], {
    stdio: ["pipe", "pipe", "inherit"],
    signal,
  });
  const ended = new Promise<void>((resolve) => {
    running.once("error", () => resolve());
    running.once("close", () => resolve());
  });
  running.stdin.on("error", () => {});
  const lines = createInterface({ input: running.stdout })[Symbol.asyncIterator]();
  const next = async <T>(): Promise<T> => {
    const { value, done } = await lines.next();
    signal.throwIfAborted();
    if (done) throw new LabError("INTERNAL", "the process that follows the table ended");
    return JSON.parse(value) as T;
  };
  try {
    const { heldBytes } = await next<{ heldBytes: number }>();
    const found: { ms: number; bytesRead: number; version: number }[] = [];
    // The first one only warms the code up.
    for (let round = 0; round <= rounds; round++) {
      await commit(round);
      running.stdin.write("\n");
      found.push(await next());
    }
    const counted = found.slice(1);
    return {
      heldBytes,
      refreshMs: spread(counted.map(({ ms }) => ms)),
      bytesRead: spread(counted.map(({ bytesRead }) => bytesRead)).median,
    };
  } finally {
    running.stdin.end();
    await ended;
  }
}
