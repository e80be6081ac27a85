/** The resident memory of another process. */

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** In bytes; null once the process is gone. */
export async function residentBytes(pid: number): Promise<number | null> {
  try {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? [];
    return kilobytes === undefined ? null : Number(kilobytes) * 1024;
  } catch {
    // No Linux, or no process.
    const asked = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]).catch(() => null);
    const kilobytes = Number.parseInt(asked?.stdout ?? "", 10);
    return Number.isNaN(kilobytes) ? null : kilobytes * 1024;
  }
}
