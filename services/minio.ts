/** A MinIO server of this machine, as a guarded process on a loopback port. */

import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { LabError } from "../core/errors.ts";
import { type Guarded, spawnGuarded } from "./guard.ts";
import { clearLeftover, rememberService } from "./leftover.ts";
import { lastLines, logSize, readLogSince } from "./log-tail.ts";
import type { Keys } from "./minio-keys.ts";
import { minioReady } from "./minio-ready.ts";
import { freePort, requireFreePort } from "./ports.ts";

export type Minio = { port: number; pid: number; exited: Guarded["exited"]; close(): Promise<void> };

export type MinioOptions = {
  /** The server's executable. */
  program: string;
  /** Holds the objects and, unless `logFile` says otherwise, the log. */
  dataDir: string;
  /** 0 takes a free one. PORT_TAKEN if it is in use. */
  port: number;
  keys: Keys;
  logFile?: string;
  readyMs?: number;
  signal: AbortSignal;
};

/** Starts the server and resolves when it is ready. SERVICE_FAILED, with the end of its log, when it does not become ready. */
export async function startMinio(options: MinioOptions): Promise<Minio> {
  const { signal } = options;
  const dataDir = resolve(options.dataDir);
  const objects = join(dataDir, "objects");
  await mkdir(objects, { recursive: true });
  await clearLeftover(dataDir, signal);
  const port = options.port === 0 ? await freePort() : options.port;
  await requireFreePort(port, "give another with --s3-port, or stop that process");

  const logFile = options.logFile ?? join(dataDir, "minio.log");
  const logsFrom = await logSize(logFile);
  const server = spawnGuarded({
    command: options.program,
    args: ["server", "--address", `127.0.0.1:${port}`, "--certs-dir", join(dataDir, "certs"), objects],
    env: minioEnvironment(options.keys),
    logFile,
    signal,
  });
  const forget = await rememberService(dataDir, server.pid);
  const close = async () => {
    await server.stop();
    await forget();
  };
  let hasEnded = false;
  void server.exited.then(() => {
    hasEnded = true;
  });
  try {
    await minioReady(port, { deadlineMs: options.readyMs ?? 60_000, signal, hasEnded: () => hasEnded });
  } catch (error) {
    await close();
    signal.throwIfAborted();
    throw new LabError(
      "SERVICE_FAILED",
      hasEnded ? "MinIO ended before it was ready" : "MinIO did not become ready",
      {
        hint: `its log is ${logFile}`,
        details: { log: lastLines(await readLogSince(logFile, logsFrom), 12) },
        cause: error,
      },
    );
  }
  return { port, pid: server.pid, exited: server.exited, close };
}

/** All that the server sees: settings of the user's own MinIO must not reach it. */
function minioEnvironment(keys: Keys): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }), ...minioSettings(keys) };
}

/** Settings of a small server without a console, as environment variables. */
export function minioSettings(keys: Keys): Record<string, string> {
  return {
    MINIO_ROOT_USER: keys.accessKeyId,
    MINIO_ROOT_PASSWORD: keys.secretAccessKey,
    MINIO_BROWSER: "off",
    MINIO_UPDATE: "off",
    // Nothing here waits for the scanner, which otherwise reads every object again and again.
    MINIO_SCANNER_SPEED: "slowest",
    GOMEMLIMIT: "256MiB",
  };
}
