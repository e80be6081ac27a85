/** Who answers the queries of the benchmark beside ours: DuckDB's own delta extension, and DuckDB that is told the files. */

import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LabError } from "../core/errors.ts";
import { openTable } from "../delta/open.ts";
import { decodePath } from "../delta/path.ts";
import { openStore } from "../delta/store/open.ts";
import { type Engine, openEngine, textList } from "../engine/instance.ts";
import { usualLimits } from "../query/engines.ts";
import type { FilesRead } from "../query/run.ts";

/** Answers one query over the table `t`, or a path, and tells its time. */
export type Asked = { rows: string; ms: number; files?: FilesRead };
export type Runner = { ask(where: string): Promise<Asked>; close(): Promise<void> };

export const SELECT = "SELECT count(*)::VARCHAR, sum(amount)::VARCHAR FROM";
export const MAX_OUTPUT = 1 << 20;

/** What the log says of a file that one of the filters may go by. */
export type Told = { file: string; day: string; firstId: number; lastId: number };

export async function filesOf(folder: string, signal: AbortSignal): Promise<Told[]> {
  const store = await openStore(folder, { signal });
  try {
    const snapshot = await (await openTable(store, signal)).latest(signal);
    return [...snapshot.files()].map((add) => {
      const { minValues, maxValues } = JSON.parse(add.stats!) as Record<string, { id: number }>;
      const file = join(folder, decodePath(add.path));
      return { file, day: add.partitionValues.day!, firstId: minValues!.id, lastId: maxValues!.id };
    });
  } finally {
    await store.close();
  }
}

/**
 * DuckDB alone over the files of a table, in this process, as ours is. It finds those with a day by their paths, and keeps their bytes and footers
 * from query to query.
 */
export async function bareRunning(told: readonly Told[], signal: AbortSignal): Promise<Runner> {
  const engine = await openEngine({ ...usualLimits(), tempDir: null, keepsFiles: true, keepsFooters: true });
  return {
    ask: (where) => askFiles(engine, told, where, signal),
    close: async () => engine.close(),
  };
}

/** The same, told for each query which files to read: what no one knows without a log. It keeps nothing of them, as DuckDB does by itself. */
export async function toldRunning(told: readonly Told[], signal: AbortSignal): Promise<Runner> {
  const engine = await openEngine({ ...usualLimits(), tempDir: null, keepsFiles: false });
  const filesFor = (where: string): readonly Told[] => {
    const [, day] = /^day = '(.*)'$/.exec(where) ?? [];
    const [, first, last] = /^id BETWEEN (\d+) AND (\d+)$/.exec(where) ?? [];
    if (day !== undefined) return told.filter((one) => one.day === day);
    if (first === undefined) return told;
    return told.filter((one) => one.lastId >= Number(first) && one.firstId <= Number(last));
  };
  return {
    async ask(where) {
      const files = filesFor(where);
      const asked = await askFiles(engine, files, where, signal);
      return { ...asked, files: { read: files.length, total: told.length } };
    },
    close: async () => engine.close(),
  };
}

async function askFiles(
  engine: Engine,
  files: readonly Told[],
  where: string,
  signal: AbortSignal,
): Promise<Asked> {
  const from = `read_parquet(${textList(files.map(({ file }) => file))}, hive_partitioning = true)`;
  const startedMs = performance.now();
  const rows = await engine.rows(`${SELECT} ${from} WHERE ${where}`, { signal });
  return { rows: JSON.stringify(rows.map((row) => Object.values(row))), ms: performance.now() - startedMs };
}

const PEER = fileURLToPath(new URL("./duckdb_delta.py", import.meta.url));

export type Peers = { table: string; packages: string; python: string; signal: AbortSignal };

/** Python itself: what a `python3` of a version manager does first would count against the peer. */
export async function interpreter(signal: AbortSignal): Promise<string> {
  const print = "import sys; print(sys.executable)";
  return (await promisify(execFile)("python3", ["-c", print], { signal })).stdout.trim();
}

export function peerCold(peers: Peers): Runner {
  return {
    async ask(where) {
      const startedMs = performance.now();
      const peer = peerRunning(peers);
      const { rows } = await peer.ask(where);
      await peer.close();
      return { rows, ms: performance.now() - startedMs };
    },
    close: async () => {},
  };
}

export function peerRunning({ table, packages, python, signal }: Peers): Runner {
  const env = { ...process.env, PYTHONPATH: packages };
  const child = spawn(python, [PEER], { env, stdio: ["pipe", "pipe", "pipe"], signal });
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err = (err + text).slice(-MAX_OUTPUT);
  });
  const ended = new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  });
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask(where) {
      child.stdin.write(`${SELECT} delta_scan('${table}') WHERE ${where}\n`);
      const { value, done } = await lines.next();
      signal.throwIfAborted();
      if (done) throw new LabError("INTERNAL", `the peer ended: ${err}`);
      const { rows, ms } = JSON.parse(value) as { rows: unknown; ms: number };
      return { rows: JSON.stringify(rows), ms };
    },
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}
