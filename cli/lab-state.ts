/** What runs on a data folder, asked of the run files and of each part itself. */

import type { Alert } from "../dashboard/alerts.ts";
import type { IngestState, Part, ProduceState } from "../dashboard/control.ts";
import { commandLine } from "../services/process-identity.ts";
import { type RunFile, readRunFile, readRunFiles, runFilePath } from "../services/run-file.ts";
import type { PartStatus } from "../services/supervisor.ts";
import { LAB_PART } from "./serve-supervisor.ts";

type Look = { signal: AbortSignal; timeoutMs?: number };

/** All parts with a run file but the supervisor, by name. Never rejects because one is silent; rejects when the signal aborts. */
export async function readParts(dataDir: string, look: Look): Promise<Part[]> {
  const files = await readRunFiles(dataDir);
  return Promise.all(
    files
      .filter(({ kind, error }) => kind !== LAB_PART && error === undefined)
      .map((file) => onePart(file, look)),
  );
}

/** What the supervisor says of its parts; null where none answers. */
export async function readSupervisor(dataDir: string, look: Look): Promise<PartStatus[] | null> {
  const file = await readRunFile(runFilePath(dataDir, LAB_PART));
  if (file === null || file.opsPort === null) return null;
  const state = await askState(file, look);
  return isRecord(state) && Array.isArray(state.parts) ? (state.parts as PartStatus[]) : null;
}

/** What the dashboard found, which looks over time; null where none answers. */
export async function readAlerts(dataDir: string, look: Look): Promise<Alert[] | null> {
  for (const file of await readRunFiles(dataDir)) {
    if (file.kind !== "dashboard" || file.opsPort === null || file.error !== undefined) continue;
    const state = await askState(file, look);
    if (isRecord(state) && Array.isArray(state.alerts)) return state.alerts as Alert[];
  }
  return null;
}

async function onePart(file: RunFile, look: Look): Promise<Part> {
  const { name, kind, pid, startedAt, address = null } = file;
  const isElsewhere = pid === null || file.opsHost !== undefined;
  const alive = isElsewhere || (await commandLine(pid)) !== null;
  const state = alive && file.opsPort !== null ? await askState(file, look) : null;
  return { name, kind, pid, startedAt, alive, address, state: isPartState(state) ? state : null };
}

/** A part that works hard on a busy machine is slow to answer, and not silent. */
const ANSWER_MS = 4_000;

async function askState(file: RunFile, { signal, timeoutMs = ANSWER_MS }: Look): Promise<unknown> {
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const reply = await fetch(`http://${file.opsHost ?? "127.0.0.1"}:${file.opsPort}/state`, {
      signal: limit,
    });
    const isJson = reply.ok && (reply.headers.get("content-type") ?? "").includes("json");
    return isJson ? await reply.json() : null;
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

/** The parts are of one version of the lab: their name is enough to tell the documents apart. */
function isPartState(state: unknown): state is IngestState | ProduceState {
  return isRecord(state) && (state.part === "ingest" || state.part === "produce");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
