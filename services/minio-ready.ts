/** Whether a MinIO server is ready to take requests. */

import { LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";

/** Resolves when the server on that loopback port says it is ready. STORE_UNREACHABLE when it ends or the deadline passes. */
export async function minioReady(
  port: number,
  options: { deadlineMs: number; signal: AbortSignal; hasEnded: () => boolean },
): Promise<void> {
  const { signal, hasEnded } = options;
  const url = `http://127.0.0.1:${port}/minio/health/ready`;
  const deadline = Date.now() + options.deadlineMs;
  let seen = "no answer";
  while (!hasEnded() && Date.now() < deadline) {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(2000)]);
    try {
      const answer = await fetch(url, { signal: patience });
      if (answer.ok) return;
      seen = `HTTP ${answer.status}`;
    } catch (error) {
      signal.throwIfAborted();
      seen = String(error);
    }
    await sleep(100, signal);
  }
  throw new LabError("STORE_UNREACHABLE", `${url}: ${seen}`);
}
