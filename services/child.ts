/** One process of the lab as a part: started, waited for, and asked why when it does not come up. */

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import { type Guarded, spawnGuarded } from "./guard.ts";
import { lastLines, logSize, readLogSince } from "./log-tail.ts";
import { describeEnding } from "./restart-policy.ts";
import { readRunFile, removeRunFile, runFilePath, runFolder } from "./run-file.ts";
import type { Part, Running } from "./supervisor.ts";

export type ChildOptions = {
  name: string;
  kind: string;
  command: string;
  args: readonly string[];
  /** Added to this process's environment. */
  env?: Readonly<Record<string, string>>;
  dataDir: string;
  /** How long it may take until /readyz answers 200. */
  readyMs?: number;
  /** How long it may take to end after SIGTERM. */
  stopMs?: number;
  /** Its end with status 0 is no failure. */
  finite?: boolean;
  together?: string;
};

/**
 * A child that writes its run file (LAB_RUN_FILE) once it serves /readyz, ends when its standard input does (LAB_PARENT=stdin) and
 * appends what it says to `<data>/logs/<name>.log`. If it ends before it is ready, the error it left in its run file is thrown, or
 * SERVICE_FAILED with the end of its log.
 */
export function childPart(options: ChildOptions): Part {
  const { name, kind, dataDir, stopMs = 20_000 } = options;
  const runFile = runFilePath(dataDir, name);
  const logFile = join(dataDir, "logs", `${name}.log`);
  return {
    name,
    kind,
    finite: options.finite ?? false,
    ...(options.together === undefined ? {} : { together: options.together }),
    async start(signal): Promise<Running> {
      signal.throwIfAborted();
      await mkdir(runFolder(dataDir), { recursive: true });
      await removeRunFile(runFile);
      const logsFrom = await logSize(logFile);
      const child = spawnGuarded({
        command: options.command,
        args: options.args,
        env: { ...process.env, ...options.env, LAB_PARENT: "stdin", LAB_RUN_FILE: runFile },
        logFile,
        holdsStdin: true,
        termMs: stopMs,
      });
      try {
        const address = await whenReady(child, runFile, { ...options, logFile, logsFrom }, signal);
        const stop = async () => {
          await child.stop();
          await removeRunFile(runFile);
        };
        return { pid: child.pid, address, exited: withProblem(child, runFile), stop };
      } catch (error) {
        await child.stop();
        throw error;
      }
    },
  };
}

/** How it ended, with the error that it left in its run file. */
async function withProblem(child: Guarded, runFile: string): Running["exited"] {
  const ending = await child.exited;
  const file = await readRunFile(runFile);
  return { ...ending, problem: file?.pid === child.pid ? file.error : undefined };
}

async function whenReady(
  child: Guarded,
  runFile: string,
  options: ChildOptions & { logFile: string; logsFrom: number },
  signal: AbortSignal,
): Promise<string | null> {
  const { name, readyMs = 60_000 } = options;
  const deadline = Date.now() + readyMs;
  let ending: Awaited<Guarded["exited"]> | null = null;
  void child.exited.then((exit) => {
    ending = exit;
  });
  for (;;) {
    signal.throwIfAborted();
    const file = await readRunFile(runFile);
    if (ending !== null) {
      if (file?.error !== undefined) {
        const { code, message, hint } = file.error;
        throw new LabError(code, `${name}: ${message}`, hint === undefined ? {} : { hint });
      }
      throw await failure(`${name} ended before it was ready (${describeEnding(ending)})`, options);
    }
    const isServing = file !== null && file.pid === child.pid && file.opsPort !== null;
    if (isServing && (await isReady(file.opsPort as number))) return file.address ?? null;
    if (Date.now() > deadline)
      throw await failure(`${name} was not ready within ${readyMs / 1000} s`, options);
    await sleep(50, signal);
  }
}

async function failure(message: string, options: { logFile: string; logsFrom: number }): Promise<LabError> {
  const log = lastLines(await readLogSince(options.logFile, options.logsFrom), 8);
  return new LabError("SERVICE_FAILED", message, { hint: `its log is ${options.logFile}`, details: { log } });
}

async function isReady(port: number): Promise<boolean> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2000) });
    await reply.arrayBuffer();
    return reply.status === 200;
  } catch {
    return false;
  }
}
