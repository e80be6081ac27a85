/** How fast a query finds the few files it needs among many, beside DuckDB's own delta extension, and beside DuckDB that is told the files. */

import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LabError } from "../core/errors.ts";
import { openTable } from "../delta/open.ts";
import { decodePath } from "../delta/path.ts";
import { openStore } from "../delta/store/open.ts";
import { openEngine, textList } from "../engine/instance.ts";
import { openCatalog } from "../query/catalog.ts";
import { openQuery } from "../query/query.ts";
import { answer, type FilesRead } from "../query/run.ts";
import { compiledProgram } from "./compiled.ts";
import { benchFirstRow, type FirstRow } from "./first-row.ts";
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
    /** What the filter is on; of "values" the log says nothing, so that all files are read. */
    filter: Filter;
    /** `read_parquet` is given the very files that ours finds, in a DuckDB with the same limits: what remains is the price of a table. */
    peer: "delta_scan" | "read_parquet";
    /**
     * `cold`: a process of its own, from start to end, ours from its sources as in a clone; `compiled`: the same with the program as an image
     * has it. `fresh`: in a running process whose engine runs, with the table opened anew; `warm`: where ours has read the table's log
     * before, and looks for new commits. The peer's engine runs too, and it reads the log at every query.
     */
    process: "cold" | "compiled" | "fresh" | "warm";
    /** Queries of each side that came first and do not count. */
    warmUps: number;
    oursMs: Spread;
    peerMs: Spread;
    /** Ours by the peer's, round by round. */
    ratio: Spread;
    filesRead: FilesRead;
  }[];
  /** Not in results of earlier versions. */
  firstRow?: FirstRow[];
};

type Filter = "partition" | "statistics" | "values";

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
      { filter: "values", where: "reading > 0.5 AND device = 'device-7'" },
    ] as const;
    const result: QueryBenchResult = { files, rows: files * ROWS_PER_FILE, rounds, cases: [] };
    const program = join(folder, "program");
    await mkdir(program);
    const compiled = await compiledProgram("cli/main", program, signal);
    const runners = {
      cold: () => oursCold(LAB, folder, signal),
      compiled: () => oursCold(compiled, folder, signal),
      fresh: () => oursRunning(folder, true, signal),
      warm: () => oursRunning(folder, false, signal),
    };
    const peers = { table, packages, python: await interpreter(signal), signal };
    const told = await filesOf(table, signal);
    for (const process of ["cold", "compiled", "fresh", "warm"] as const) {
      const isRunning = process === "fresh" || process === "warm";
      for (const peer of isRunning ? (["delta_scan", "read_parquet"] as const) : (["delta_scan"] as const)) {
        const ours = runners[process]();
        const other =
          peer === "read_parquet"
            ? await bareRunning(told, signal)
            : (isRunning ? peerRunning : peerCold)(peers);
        try {
          for (const { filter, where } of filters) {
            say(`${filter}, ${process}, beside ${peer}: ${rounds} rounds`);
            const warmUps = WARM_UPS[process];
            const found = await alternate(ours, other, where, { rounds, warmUps });
            result.cases.push({ filter, peer, process, warmUps, ...found });
          }
        } finally {
          await ours.close();
          await other.close();
        }
      }
    }
    say(`the first row: ${rounds} rounds`);
    result.firstRow = await benchFirstRow({ cold: LAB, compiled }, folder, rounds, signal);
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Of a process that starts anew, the first round only warms the system's caches up. In one that runs, both sides answer the same number of
 * queries before they are measured: at first Node interprets what it later has compiled, as the peer's code always is.
 */
const WARM_UPS = { cold: 1, compiled: 1, fresh: 10, warm: 10 } as const;

/** Takes turns in who goes first; the first rounds do not count. */
async function alternate(
  ours: Runner,
  peer: Runner,
  where: string,
  { rounds, warmUps }: { rounds: number; warmUps: number },
) {
  const times: { ours: number; peer: number }[] = [];
  let filesRead: FilesRead = { read: 0, total: 0 };
  for (let round = 0; round < warmUps + rounds; round++) {
    const isOursFirst = round % 2 === 0;
    const [one, other] = isOursFirst ? [ours, peer] : [peer, ours];
    const answers = [await one.ask(where), await other.ask(where)] as const;
    const [our, their] = isOursFirst ? answers : [answers[1], answers[0]];
    if (our.rows !== their.rows)
      throw new LabError("INTERNAL", `WHERE ${where}: ours gives ${our.rows}, the peer ${their.rows}`);
    filesRead = our.files ?? filesRead;
    if (their.files !== undefined && their.files.read !== filesRead.read)
      throw new LabError(
        "INTERNAL",
        `WHERE ${where}: ours reads ${filesRead.read} files, the peer ${their.files.read}`,
      );
    if (round >= warmUps) times.push({ ours: our.ms, peer: their.ms });
  }
  return {
    oursMs: spread(times.map((time) => time.ours)),
    peerMs: spread(times.map((time) => time.peer)),
    ratio: spread(times.map((time) => time.ours / time.peer)),
    filesRead,
  };
}

/** With `isFresh`, the table is opened anew for each query, as if nobody had asked it before. */
function oursRunning(store: string, isFresh: boolean, signal: AbortSignal): Runner {
  const query = openQuery({ store });
  return {
    async ask(where) {
      const startedMs = performance.now();
      const catalog = isFresh ? openCatalog({ root: store }) : query.catalog;
      const limits = { maxRows: 10, maxBytes: MAX_OUTPUT, signal };
      const { rows, files } = await answer(
        { ...query.context, catalog },
        `${SELECT} t WHERE ${where}`,
        limits,
      );
      if (isFresh) await catalog.close();
      return { rows: JSON.stringify(rows), ms: performance.now() - startedMs, files };
    },
    close: () => query.close(),
  };
}

const LAB = fileURLToPath(new URL("../bin/lab.js", import.meta.url));

function oursCold(lab: string, store: string, signal: AbortSignal): Runner {
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

/** What the log says of a file that one of the filters may go by. */
type Told = { file: string; day: string; firstId: number; lastId: number };

async function filesOf(folder: string, signal: AbortSignal): Promise<Told[]> {
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

/** DuckDB that is told which files to read, in this process, as ours is. */
async function bareRunning(told: readonly Told[], signal: AbortSignal): Promise<Runner> {
  const engine = await openEngine({
    memoryLimitBytes: 2 * 1024 ** 3,
    threads: 4,
    tempDir: null,
    keepsFiles: false,
  });
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
      const from = `read_parquet(${textList(files.map(({ file }) => file))}, hive_partitioning = true)`;
      const startedMs = performance.now();
      const rows = await engine.rows(`${SELECT} ${from} WHERE ${where}`, { signal });
      const ms = performance.now() - startedMs;
      return {
        rows: JSON.stringify(rows.map((row) => Object.values(row))),
        ms,
        files: { read: files.length, total: told.length },
      };
    },
    close: async () => engine.close(),
  };
}

const PEER = fileURLToPath(new URL("./duckdb_delta.py", import.meta.url));

type Peers = { table: string; packages: string; python: string; signal: AbortSignal };

/** Python itself: what a `python3` of a version manager does first would count against the peer. */
async function interpreter(signal: AbortSignal): Promise<string> {
  const print = "import sys; print(sys.executable)";
  return (await promisify(execFile)("python3", ["-c", print], { signal })).stdout.trim();
}

function peerCold(peers: Peers): Runner {
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

function peerRunning({ table, packages, python, signal }: Peers): Runner {
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
