/** An ingester that runs until it is told to stop, for what is measured while messages come in. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import { collectUsage, type Usage, usageEnv } from "./measured.ts";

export type Live = {
  pid: number;
  /** Aborts when it ends unasked. */
  ended: AbortSignal;
  /** As SIGTERM does it: what is fetched is committed. INTERNAL with the end of its stderr unless it ends with status 0. */
  stop(): Promise<Omit<Usage, "seconds">>;
  /** For every way out; does nothing after `stop`. */
  close(): Promise<void>;
};

/** Node with `args`. */
export async function startLive(
  args: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: NodeJS.ProcessEnv },
): Promise<Live> {
  const folder = await mkdtemp(join(tmpdir(), "lab-usage-"));
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env, ...usageEnv(folder) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ending = new AbortController();
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err = (err + text).slice(-4000);
  });
  const closed = once(child, "close") as Promise<[number | null]>;
  const failure = () =>
    new LabError("INTERNAL", `the measured ingester ended with ${child.exitCode}: ${err}`);
  closed.then(
    () => ending.abort(failure()),
    (error: unknown) => ending.abort(error),
  );
  return {
    pid: child.pid as number,
    ended: ending.signal,
    async stop() {
      ending.signal.throwIfAborted();
      child.kill("SIGTERM");
      await closed;
      if (child.exitCode !== 0) throw failure();
      return collectUsage(folder);
    },
    async close() {
      child.kill("SIGKILL");
      await closed.catch(() => {});
      await rm(folder, { recursive: true, force: true });
    },
  };
}
