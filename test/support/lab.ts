/** Runs `node bin/lab.js` as a user does: a process of its own, in a folder of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const entry = fileURLToPath(new URL("../../bin/lab.js", import.meta.url));

export type LabRun = {
  child: ChildProcess;
  pid: number;
  stdout(): string;
  stderr(): string;
  /** Resolves when the process is gone, however it ended. */
  ended: Promise<{ status: number | null; signal: NodeJS.Signals | null }>;
  /** Resolves once `pattern` was printed on either stream; rejects if the process ends before or the deadline passes. */
  printed(pattern: RegExp, deadlineMs?: number): Promise<RegExpMatchArray>;
};

export type LabOptions = { cwd?: string; env?: NodeJS.ProcessEnv; input?: string };

/** Starts a command. Whoever starts it ends it: `t.after(() => run.child.kill("SIGKILL"))`. */
export function startLab(args: readonly string[], options: LabOptions = {}): LabRun {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd: options.cwd ?? process.cwd(),
    env: { ...process.env, NO_COLOR: "1", ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  const wakers = new Set<() => void>();
  const wake = () => {
    for (const waker of wakers) waker();
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    wake();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    wake();
  });
  child.stdin.on("error", () => {});
  if (options.input !== undefined) child.stdin.end(options.input);
  const ended = new Promise<{ status: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status, signal) => {
      resolve({ status, signal });
      wake();
    });
  });
  return {
    child,
    pid: child.pid as number,
    stdout: () => out,
    stderr: () => err,
    ended,
    printed(pattern, deadlineMs = 60_000) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(out) ?? pattern.exec(err);
          const isOver = child.exitCode !== null || child.signalCode !== null;
          if (!match && !isOver) return;
          clearTimeout(timer);
          wakers.delete(look);
          if (match) resolve(match);
          else reject(new Error(`lab ${args.join(" ")} ended without printing ${pattern}:\n${out}\n${err}`));
        };
        const timer = setTimeout(() => {
          wakers.delete(look);
          reject(
            new Error(`lab ${args.join(" ")} did not print ${pattern} in ${deadlineMs} ms:\n${out}\n${err}`),
          );
        }, deadlineMs);
        wakers.add(look);
        look();
      });
    },
  };
}

/** Runs a command to its end. */
export async function lab(
  args: readonly string[],
  options: LabOptions = {},
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const run = startLab(args, { input: "", ...options });
  const { status } = await run.ended;
  return { status, stdout: run.stdout(), stderr: run.stderr() };
}
