/** Whether a Docker engine can be used. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Version of the engine that the `docker` command reaches, or null where there is none. */
export async function dockerAnswers(signal: AbortSignal): Promise<string | null> {
  try {
    const args = ["version", "--format", "{{.Server.Version}}"];
    const { stdout } = await promisify(execFile)("docker", args, { signal, timeout: 5000 });
    return stdout.trim() || null;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}
