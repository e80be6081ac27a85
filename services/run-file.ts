/** `<data>/run/<name>.json`: what runs, under which pid, and where it answers. Read by the supervisor, `lab status` and the page. */

import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ERRORS, type ErrorCode } from "../core/errors.ts";

export type RunFile = {
  name: string;
  kind: string;
  /** Null for a part that is not a process of this machine's, such as a broker elsewhere. */
  pid: number | null;
  /** Port of core/ops.ts; null for a part without one. */
  opsPort: number | null;
  /** Host of that port if the part runs on another one, as in a container of its own: its pid means nothing here. Default: loopback. */
  opsHost?: string;
  startedAt: string;
  /** Where users reach it, such as `127.0.0.1:9092`; null if that means nothing to them. */
  address?: string | null;
  /** Why it ended before it was ready. */
  error?: { code: ErrorCode; message: string; hint?: string };
};

export function runFolder(dataDir: string): string {
  return join(dataDir, "run");
}

export function runFilePath(dataDir: string, name: string): string {
  return join(runFolder(dataDir), `${name}.json`);
}

/** Replaces the file at once: a reader never sees half of it. */
export async function writeRunFile(path: string, file: RunFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, `${JSON.stringify(file)}\n`);
  await rename(temporary, path);
}

/** Null where there is none, or where it holds something else. */
export async function readRunFile(path: string): Promise<RunFile | null> {
  const text = await readFile(path, "utf8").catch(() => null);
  return text === null ? null : parseRunFile(text);
}

/** All run files of a data folder, by name. */
export async function readRunFiles(dataDir: string): Promise<RunFile[]> {
  const names = await readdir(runFolder(dataDir)).catch(() => []);
  const files = await Promise.all(
    names
      .filter((name) => name.endsWith(".json"))
      .sort()
      .map((name) => readRunFile(join(runFolder(dataDir), name))),
  );
  return files.filter((file) => file !== null);
}

export async function removeRunFile(path: string): Promise<void> {
  await rm(path, { force: true });
}

function parseRunFile(text: string): RunFile | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { name, kind, pid, opsPort, opsHost, startedAt, address, error } = value as Record<string, unknown>;
  if (typeof name !== "string" || typeof kind !== "string" || typeof startedAt !== "string") return null;
  return {
    name,
    kind,
    startedAt,
    pid: typeof pid === "number" ? pid : null,
    opsPort: typeof opsPort === "number" ? opsPort : null,
    ...(typeof opsHost === "string" ? { opsHost } : {}),
    address: typeof address === "string" ? address : null,
    ...(isErrorNote(error) ? { error } : {}),
  };
}

function isErrorNote(value: unknown): value is NonNullable<RunFile["error"]> {
  if (typeof value !== "object" || value === null) return false;
  const { code, message } = value as Record<string, unknown>;
  return typeof message === "string" && typeof code === "string" && code in ERRORS;
}
