/** Telling one process from another that later got its id. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** True while a process with this id exists, whoever it belongs to. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The command line of a process; null when there is none, or it has ended and was not yet collected. */
export async function commandLine(pid: number): Promise<string | null> {
  if (!isAlive(pid)) return null;
  const args = ["-ww", "-o", "stat=,args=", "-p", String(pid)];
  const found = await promisify(execFile)("ps", args).catch(() => null);
  const match = found?.stdout.match(/^\s*(\S+)\s+(.*)$/m);
  return match === null || match === undefined || match[1]?.startsWith("Z") ? null : (match[2] ?? null);
}

/** Sends a signal; a process that is gone already is fine. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
