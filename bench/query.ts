/** How fast a query finds the few files it needs among many, beside DuckDB's own delta extension. */

import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LabError } from "../core/errors.ts";
import { openQuery } from "../query/query.ts";
import type { FilesRead } from "../query/run.ts";
import { pythonPackages } from "./python.ts";
import { dayOf, makeQueryTable, ROWS_PER_FILE } from "./query-table.ts";
import { type Spread, spread } from "./spread.ts";

export type QueryBenchOptions = {
  files: number;
  rounds: number;
  say: (line: string) => void;
  signal: AbortSignal;
};

export type QueryBenchResult = {
  files: number;
  rows: number;
  rounds: number;
  cases: {
    /** What the filter is on. */
    filter: "partition" | "statistics";
    /**
     * `cold`: a process of its own, from start to end. `fresh`: in a running one, with the table opened anew. `warm`: where ours has read the
     * table's log before, and looks for new commits. The peer reads the log at every query.
     */
    process: "cold" | "fresh" | "warm";
    oursMs: Spread;
    peerMs: Spread;
    /** Ours by the peer's, round by round. */
    ratio: Spread;
    filesRead: FilesRead;
  }[];
};

/** Answers one query over the table `t`, or a path, and tells its time. */
type Asked = { rows: string; ms: number; files?: FilesRead };
type Runner = { ask(where: string): Promise<Asked>; close(): Promise<void> };

const SELECT = "SELECT count(*)::VARCHAR, sum(amount)::VARCHAR FROM";
const MAX_OUTPUT = 1 << 20;

/** INTERNAL if both do not give the same rows. */
export async function benchQuery(options: QueryBenchOptions): Promise<QueryBenchResult> {
  const { files, rounds, say, signal } = options;
  const packages = await pythonPackages(new URL("./duckdb-delta.txt", import.meta.url), signal);
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-"));
  try {
    say(`writing a table of ${files.toLocaleString("en")} files`);
    const table = join(folder, "t");
    await makeQueryTable(table, files, signal);
    const middle = Math.floor(files / 2);
    const first = middle * ROWS_PER_FILE + ROWS_PER_FILE / 2;
    const filters = [
      { filter: "partition", where: `day = '${dayOf(middle)}'` },
      { filter: "statistics", where: `id BETWEEN ${first} AND ${first + ROWS_PER_FILE - 1}` },
    ] as const;
    const result: QueryBenchResult = { files, rows: files * ROWS_PER_FILE, rounds, cases: [] };
    for (const process of ["cold", "fresh", "warm"] as const) {
      const ours = { cold: oursCold, fresh: oursFresh, warm: oursWarm }[process](folder, signal);
      const peer = (process === "cold" ? peerCold : peerWarm)(table, packages, signal);
      try {
        for (const { filter, where } of filters) {
          say(`${filter}, ${process}: ${rounds} rounds`);
          result.cases.push({ filter, process, ...(await alternate(ours, peer, where, rounds)) });
        }
      } finally {
        await ours.close();
        await peer.close();
      }
    }
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Takes turns in who goes first; the first round only warms caches up and does not count. */
async function alternate(ours: Runner, peer: Runner, where: string, rounds: number) {
  const times: { ours: number; peer: number }[] = [];
  let filesRead: FilesRead = { read: 0, total: 0 };
  for (let round = 0; round <= rounds; round++) {
    const isOursFirst = round % 2 === 0;
    const [one, other] = isOursFirst ? [ours, peer] : [peer, ours];
    const answers = [await one.ask(where), await other.ask(where)] as const;
    const [our, their] = isOursFirst ? answers : [answers[1], answers[0]];
    if (our.rows !== their.rows)
      throw new LabError("INTERNAL", `WHERE ${where}: ours gives ${our.rows}, the peer ${their.rows}`);
    filesRead = our.files ?? filesRead;
    if (round > 0) times.push({ ours: our.ms, peer: their.ms });
  }
  return {
    oursMs: spread(times.map((time) => time.ours)),
    peerMs: spread(times.map((time) => time.peer)),
    ratio: spread(times.map((time) => time.ours / time.peer)),
    filesRead,
  };
}

function oursWarm(store: string, signal: AbortSignal): Runner {
  const query = openQuery({ store });
  return {
    async ask(where) {
      const startedMs = performance.now();
      const { rows, files } = await query.query(`${SELECT} t WHERE ${where}`, { signal });
      return { rows: JSON.stringify(rows), ms: performance.now() - startedMs, files };
    },
    close: () => query.close(),
  };
}

function oursFresh(store: string, signal: AbortSignal): Runner {
  return {
    async ask(where) {
      const startedMs = performance.now();
      const query = oursWarm(store, signal);
      const { rows, files } = await query.ask(where);
      await query.close();
      return { rows, ms: performance.now() - startedMs, ...(files ? { files } : {}) };
    },
    close: async () => {},
  };
}

function oursCold(store: string, signal: AbortSignal): Runner {
  const lab = fileURLToPath(new URL("../bin/lab.js", import.meta.url));
  return {
    async ask(where) {
      const args = [lab, "query", `${SELECT} t WHERE ${where}`, "--store", store, "--format", "csv"];
      const startedMs = performance.now();
      const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: store, signal });
      const ms = performance.now() - startedMs;
      const [, line = ""] = stdout.split("\n");
      const [, read = "0", total = "0"] = /([\d,]+) of ([\d,]+) files read/.exec(stderr) ?? [];
      const count = (text: string) => Number(text.replaceAll(",", ""));
      return {
        rows: JSON.stringify([line.split(",")]),
        ms,
        files: { read: count(read), total: count(total) },
      };
    },
    close: async () => {},
  };
}

const PEER = fileURLToPath(new URL("./duckdb_delta.py", import.meta.url));

function peerCold(table: string, packages: string, signal: AbortSignal): Runner {
  return {
    async ask(where) {
      const startedMs = performance.now();
      const peer = peerWarm(table, packages, signal);
      const { rows } = await peer.ask(where);
      await peer.close();
      return { rows, ms: performance.now() - startedMs };
    },
    close: async () => {},
  };
}

function peerWarm(table: string, packages: string, signal: AbortSignal): Runner {
  const env = { ...process.env, PYTHONPATH: packages };
  const child = spawn("python3", [PEER], { env, stdio: ["pipe", "pipe", "pipe"], signal });
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
