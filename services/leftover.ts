/** What a killed run left behind: a service that still ends, or hangs, on the same data folder. */

import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import { commandLine, isAlive, sendSignal } from "./process-identity.ts";

const FILE = "service.json";
/** The guard's watcher ends an orphan within its own deadline; only then is it ended here. */
const WAIT_MS = 15_000;

/** Writes down which process serves `dataDir` and who started it. Returns the function that removes the note. */
export async function rememberService(dataDir: string, pid: number): Promise<() => Promise<void>> {
  const file = join(dataDir, FILE);
  await writeFile(file, `${JSON.stringify({ pid, startedBy: process.pid })}\n`);
  return () => rm(file, { force: true });
}

/**
 * Waits for, and at last kills, a service that an earlier run left on `dataDir`. A process counts as that service only if its command
 * line names the folder, as a pid may by now be another's. LAB_RUNNING if whoever started it is still alive.
 */
export async function clearLeftover(dataDir: string, signal: AbortSignal): Promise<void> {
  const note = await readFile(join(dataDir, FILE), "utf8").then(parseNote, () => null);
  if (note === null || !(await serves(note.pid, dataDir))) return;
  if (isAlive(note.startedBy) && note.startedBy !== process.pid) {
    throw new LabError(
      "LAB_RUNNING",
      `process ${note.startedBy} runs a service (pid ${note.pid}) on ${dataDir}`,
      { hint: "stop it with `lab down`, or choose another folder with --data" },
    );
  }
  const deadline = Date.now() + WAIT_MS;
  while (await serves(note.pid, dataDir)) {
    if (Date.now() > deadline) sendSignal(note.pid, "SIGKILL");
    await sleep(200, signal);
  }
}

function parseNote(text: string): { pid: number; startedBy: number } | null {
  try {
    const note: unknown = JSON.parse(text);
    const { pid, startedBy } = note as { pid?: unknown; startedBy?: unknown };
    return typeof pid === "number" && typeof startedBy === "number" ? { pid, startedBy } : null;
  } catch {
    return null;
  }
}

async function serves(pid: number, dataDir: string): Promise<boolean> {
  return (await commandLine(pid))?.includes(dataDir) ?? false;
}
