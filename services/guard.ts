/** A service process that cannot outlive the process that started it, even when that one is killed. */

import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { Writable } from "node:stream";

export type Exit = { code: number | null; signal: NodeJS.Signals | null };

export type Guarded = {
  /** Process id of the service itself: the one to signal, freeze or kill. */
  readonly pid: number;
  /** Resolves when the service has ended, however it ended. Never rejects. */
  readonly exited: Promise<Exit>;
  /** SIGTERM, then SIGKILL after `termMs`; resolves when the service has ended. May be called again. */
  stop(termMs?: number): Promise<Exit>;
};

export type GuardOptions = {
  command: string;
  args?: readonly string[];
  /** The whole environment; default: that of this process. */
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Where its stdout and stderr are appended; without one they are dropped. Moved to `<logFile>.1` when it is large. */
  logFile?: string;
  /** Ends the service when it aborts, as `stop` does. */
  signal?: AbortSignal;
  /** Keeps the standard input open and ends it with this process, for services that watch for that themselves. */
  holdsStdin?: boolean;
  /** How long the service may take to end after SIGTERM, in ms. */
  termMs?: number;
};

/**
 * The shell leaves a watcher behind and becomes the service, so that the pid is the service's own. The watcher reads a pipe that only
 * the starting process holds open: a line means "it ended, go home"; the end of the pipe means the starter is gone, whatever ended
 * it. Its signals go to the process group, of which the service is the leader.
 */
const WATCHER = `
(
  trap '' TERM INT HUP
  read -r line <&3 && exit 0
  kill -TERM -$$ 2>/dev/null
  n=0
  while [ $n -lt "$LAB_GUARD_TENTHS" ] && kill -0 $$ 2>/dev/null; do sleep 0.1; n=$((n + 1)); done
  kill -KILL -$$ 2>/dev/null
) </dev/null >/dev/null 2>&1 &
exec 3<&-
unset LAB_GUARD_TENTHS
exec "$@"
`;

const KEPT_LOG_BYTES = 16 * 1024 * 1024;

/** Starts `command` in a process group of its own: Ctrl+C in the terminal does not reach it, only `stop` and the watcher do. */
export function spawnGuarded(options: GuardOptions): Guarded {
  const { command, args = [], signal, termMs = 10_000 } = options;
  signal?.throwIfAborted();
  const log = options.logFile === undefined ? null : openLog(options.logFile);
  const child = spawn("/bin/sh", ["-c", WATCHER, "guard", command, ...args], {
    cwd: options.cwd,
    env: { ...(options.env ?? process.env), LAB_GUARD_TENTHS: String(Math.ceil(termMs / 100)) },
    stdio: [options.holdsStdin ? "pipe" : "ignore", log ?? "ignore", log ?? "ignore", "pipe"],
    detached: true,
  });
  if (log !== null) closeSync(log);
  return guard(child, signal, termMs);
}

function guard(child: ChildProcess, signal: AbortSignal | undefined, termMs: number): Guarded {
  const leash = child.stdio[3] as Writable;
  // Writing to a watcher that is gone already is no failure.
  leash.on("error", () => {});
  child.stdin?.on("error", () => {});
  let hasExited = false;

  const exited = new Promise<Exit>((resolve) => {
    const done = (exit: Exit) => {
      hasExited = true;
      signal?.removeEventListener("abort", onAbort);
      leash.end("done\n");
      resolve(exit);
    };
    child.once("error", () => done({ code: 127, signal: null }));
    child.once("exit", (code, name) => done({ code, signal: name }));
  });

  let stopping: Promise<Exit> | null = null;
  const stop = (graceMs = termMs): Promise<Exit> => {
    stopping ??= (async () => {
      if (!hasExited) child.kill("SIGTERM");
      const timer = setTimeout(() => hasExited || child.kill("SIGKILL"), graceMs);
      const exit = await exited;
      clearTimeout(timer);
      return exit;
    })();
    return stopping;
  };
  const onAbort = () => void stop();
  signal?.addEventListener("abort", onAbort, { once: true });
  return { pid: child.pid ?? -1, exited, stop };
}

function openLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true });
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > KEPT_LOG_BYTES) renameSync(path, `${path}.1`);
  return openSync(path, "a");
}
