/** One lab per data folder: a lock file that names its owner and that a dead owner does not keep. */

import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { LabError } from "../core/errors.ts";
import { dataFolderError } from "./data-folder-error.ts";
import { commandLine } from "./process-identity.ts";

export type LockOwner = { pid: number; startedAt: string; command: string; token: string };
export type FolderLock = { release(): Promise<void> };

const FILE = "lab.lock";
/** Long enough for a rival that saw the same stale lock to have done its rename. */
const SETTLE_MS = 50;

/**
 * Takes the lock of `dataDir`, made if missing. LAB_RUNNING, naming the pid, while its owner lives; STORE_DENIED or STORE_FULL where
 * the folder cannot be made or written to.
 */
export async function lockFolder(dataDir: string, now: () => number = Date.now): Promise<FolderLock> {
  const file = join(dataDir, FILE);
  const command = (await commandLine(process.pid)) ?? "";
  const startedAt = new Date(now()).toISOString();
  const mine: LockOwner = { pid: process.pid, startedAt, command, token: randomUUID() };
  const prepared = `${file}.${mine.token}`;
  try {
    await mkdir(dataDir, { recursive: true });
    await writeFile(prepared, `${JSON.stringify(mine)}\n`);
  } catch (error) {
    throw dataFolderError(error, dataDir);
  }
  try {
    while (!(await isLinked(prepared, file))) {
      const owner = await readOwner(file);
      if (owner !== null && (await isOwnerAlive(owner))) throw running(dataDir, owner);
      await removeStale(file, `${prepared}.stale`);
    }
    await delay(SETTLE_MS);
    const owner = await readOwner(file);
    if (owner !== null && owner.token !== mine.token) throw running(dataDir, owner);
  } finally {
    await rm(prepared, { force: true });
  }
  return {
    async release() {
      if ((await readOwner(file))?.token === mine.token) await rm(file, { force: true });
    },
  };
}

/** Who runs a lab on `dataDir` now, or null. */
export async function lockOwner(dataDir: string): Promise<LockOwner | null> {
  const owner = await readOwner(join(dataDir, FILE));
  return owner !== null && (await isOwnerAlive(owner)) ? owner : null;
}

/** Refuses with LAB_RUNNING while a lab runs on `dataDir`. */
export async function requireNoLab(dataDir: string): Promise<void> {
  const owner = await lockOwner(dataDir);
  if (owner !== null) throw running(dataDir, owner);
}

function running(dataDir: string, owner: LockOwner): LabError {
  return new LabError("LAB_RUNNING", `a lab already runs on ${dataDir}: pid ${owner.pid}`, {
    hint: "stop it with `lab down`, or choose another folder with --data",
    details: { pid: owner.pid },
  });
}

async function isLinked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Two may find the same stale lock. The rename is atomic, so what was moved away is looked at again: a rival's new lock goes back.
 */
async function removeStale(file: string, aside: string): Promise<void> {
  await rename(file, aside).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  const moved = await readOwner(aside);
  if (moved !== null && (await isOwnerAlive(moved))) await isLinked(aside, file);
  await rm(aside, { force: true });
}

async function readOwner(file: string): Promise<LockOwner | null> {
  const text = await readFile(file, "utf8").catch(() => null);
  if (text === null) return null;
  try {
    const { pid, startedAt, command, token } = JSON.parse(text) as Partial<LockOwner>;
    if (typeof pid !== "number" || typeof command !== "string" || typeof token !== "string") return null;
    return { pid, command, token, startedAt: startedAt ?? "" };
  } catch {
    return null;
  }
}

/** After a reboot the pid may be another's: the command line tells. */
async function isOwnerAlive(owner: LockOwner): Promise<boolean> {
  return (await commandLine(owner.pid)) === owner.command;
}
