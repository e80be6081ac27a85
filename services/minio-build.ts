/** MinIO as a program of this machine: built once with the Go toolchain, then kept in the user's cache folder. */

import { execFile, spawn } from "node:child_process";
import { access, constants, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { LabError } from "../core/errors.ts";

/** Pinned: a program built once serves all later runs. */
export const MINIO_VERSION = "v0.0.0-20260212201848-7aac2a2c5b7c";
const MODULE = `github.com/minio/minio@${MINIO_VERSION}`;
const PROGRESS_MS = 15_000;

export type MinioBuild = {
  cacheDir: string;
  say: (line: string) => void;
  signal: AbortSignal;
  /** The Go command, by name or path. */
  go?: string;
  /** How often progress is told, in ms. */
  progressMs?: number;
};

/** Version of the Go toolchain, or null where there is none. */
export async function findGo(signal: AbortSignal): Promise<string | null> {
  try {
    const { stdout } = await promisify(execFile)("go", ["env", "GOVERSION"], { signal, timeout: 20_000 });
    return stdout.trim() || null;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

/** Path of a MinIO program that was built before, or null. */
export async function builtMinio(cacheDir: string): Promise<string | null> {
  const program = join(programFolder(cacheDir), "minio");
  return access(program, constants.X_OK).then(
    () => program,
    () => null,
  );
}

/**
 * Builds MinIO into the cache folder and returns the program's path; takes minutes, and says so. A build that is cut short leaves
 * nothing behind. SERVICE_FAILED with the compiler's last words.
 */
export async function buildMinio(options: MinioBuild): Promise<string> {
  const { cacheDir, say } = options;
  const folder = programFolder(cacheDir);
  await mkdir(cacheDir, { recursive: true });
  const fresh = await mkdtemp(`${folder}.building-`);
  try {
    say(`building MinIO ${MINIO_VERSION} with Go: once, takes about five minutes`);
    await goInstall(fresh, options);
    // Another process may have built the same in the meantime: either program will do.
    await rename(fresh, folder).catch(async (error: unknown) => {
      if ((await builtMinio(cacheDir)) === null) throw error;
    });
    return join(folder, "minio");
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

function programFolder(cacheDir: string): string {
  return join(cacheDir, `minio-${MINIO_VERSION}`);
}

/** `-v` names each package as it is compiled: the only sign of progress there is. */
async function goInstall(target: string, options: MinioBuild): Promise<void> {
  const { say, signal } = options;
  const startedAt = Date.now();
  const child = spawn(options.go ?? "go", ["install", "-v", "-trimpath", "-ldflags", "-s -w", MODULE], {
    env: { ...process.env, GOBIN: target, CGO_ENABLED: "0" },
    stdio: ["ignore", "ignore", "pipe"],
    signal,
  });
  const lastLines: string[] = [];
  let count = 0;
  createInterface({ input: child.stderr }).on("line", (line) => {
    count++;
    lastLines.push(line);
    if (lastLines.length > 12) lastLines.shift();
  });
  const timer = setInterval(() => {
    say(`building MinIO: ${count} packages in ${Math.round((Date.now() - startedAt) / 1000)} s`);
  }, options.progressMs ?? PROGRESS_MS);
  const code = await new Promise<number | null>((resolve) => {
    child.once("error", () => resolve(null));
    child.once("close", resolve);
  });
  clearInterval(timer);
  signal.throwIfAborted();
  if (code !== 0) {
    throw new LabError(
      "SERVICE_FAILED",
      `MinIO could not be built: ${lastLines.at(-1) ?? "go does not run"}`,
      {
        hint: "check that Go can fetch modules, or start Docker, or set AWS_ENDPOINT_URL",
        details: { log: lastLines },
      },
    );
  }
}
