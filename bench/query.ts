/** How fast a query finds the few files it needs among many, beside DuckDB's own delta extension, and beside DuckDB over the same files. */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LabError } from "../core/errors.ts";
import { openCatalog } from "../query/catalog.ts";
import { openQuery } from "../query/query.ts";
import { answer, type FilesRead } from "../query/run.ts";
import { compiledProgram } from "./compiled.ts";
import { benchFirstRow, type FirstRow } from "./first-row.ts";
import { pythonPackages } from "./python.ts";
import {
  bareRunning,
  filesOf,
  interpreter,
  MAX_OUTPUT,
  peerCold,
  peerRunning,
  type Runner,
  SELECT,
  toldRunning,
} from "./query-peers.ts";
import { dayOf, LARGE_FILES, makeQueryTable, SMALL_FILES, type TableShape } from "./query-table.ts";
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
    /** See `query-peers.ts`; `told which`: `read_parquet` of the very files that ours finds. What remains is the price of a table. */
    peer: QueryPeer;
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
  /** Neither is in results of earlier versions. */
  firstRow?: FirstRow[];
  /** The same of a table of fewer, larger files, in processes that run. */
  large?: { files: number; rows: number; cases: QueryCase[] };
};

export type QueryCase = QueryBenchResult["cases"][number];

export type QueryPeer = "delta_scan" | "read_parquet" | "told which";
type Filter = "partition" | "statistics" | "values";
/** `where` differs from round to round, so that nobody can answer from what is remembered of the one before. */
type FilterCase = { filter: Filter; where: (round: number) => string };

/** Files of the table of large ones. */
const MOST_LARGE = 100;

/** INTERNAL if both do not give the same rows. */
export async function benchQuery(options: QueryBenchOptions): Promise<QueryBenchResult> {
  const { files, rounds, say, signal } = options;
  const packages = await pythonPackages(new URL("./duckdb-delta.txt", import.meta.url), signal);
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-"));
  try {
    const program = join(folder, "program");
    await mkdir(program);
    const compiled = await compiledProgram("cli/main", program, signal);
    const around = { packages, python: await interpreter(signal), compiled, rounds, say, signal };
    const small: TableShape = { files, ...SMALL_FILES };
    const large: TableShape = { files: Math.min(files, MOST_LARGE), ...LARGE_FILES };
    const cases = await casesOf(small, join(folder, "small"), ["cold", "compiled", "fresh", "warm"], around);
    const largeCases = await casesOf(large, join(folder, "large"), ["fresh", "warm"], around);
    say(`the first row: ${rounds} rounds`);
    const firstRow = await benchFirstRow({ cold: LAB, compiled }, folder, rounds, signal);
    return {
      ...{ files, rows: files * small.rowsPerFile, rounds, cases, firstRow },
      large: { files: large.files, rows: large.files * large.rowsPerFile, cases: largeCases },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Around = Omit<QueryBenchOptions, "files"> & { packages: string; python: string; compiled: string };

/** Makes the table `t` in `store`, and asks it; it is gone afterwards. */
async function casesOf(
  shape: TableShape,
  store: string,
  processes: readonly QueryCase["process"][],
  { packages, python, compiled, rounds, say, signal }: Around,
): Promise<QueryCase[]> {
  say(`writing a table of ${shape.files.toLocaleString("en")} files`);
  await mkdir(store);
  const table = join(store, "t");
  await makeQueryTable(table, shape, signal);
  const runners = {
    cold: () => oursCold(LAB, store, signal),
    compiled: () => oursCold(compiled, store, signal),
    fresh: () => oursRunning(store, true, signal),
    warm: () => oursRunning(store, false, signal),
  };
  const peers = { table, packages, python, signal };
  const told = await filesOf(table, signal);
  const cases: QueryCase[] = [];
  for (const process of processes) {
    const isRunning = process === "fresh" || process === "warm";
    const others: { peer: QueryPeer; open: () => Promise<Runner> | Runner }[] = isRunning
      ? [
          { peer: "delta_scan", open: () => peerRunning(peers) },
          { peer: "read_parquet", open: () => bareRunning(told, signal) },
          { peer: "told which", open: () => toldRunning(told, signal) },
        ]
      : [{ peer: "delta_scan", open: () => peerCold(peers) }];
    for (const { peer, open } of others) {
      const ours = runners[process]();
      const other = await open();
      try {
        for (const { filter, where } of filtersOf(shape)) {
          say(`${filter}, ${process}, beside ${peer}: ${rounds} rounds`);
          const warmUps = warmUpsOf(process, filter);
          const found = await alternate(ours, other, where, { rounds, warmUps });
          cases.push({ filter, peer, process, warmUps, ...found });
        }
      } finally {
        await ours.close();
        await other.close();
      }
    }
  }
  await rm(store, { recursive: true });
  return cases;
}

/** Each round another day, another range that touches two files, other values. */
function filtersOf(shape: TableShape): FilterCase[] {
  const { files, rowsPerFile, filesPerDay } = shape;
  const first = (round: number) => ((round * 37) % Math.max(files - 1, 1)) * rowsPerFile + rowsPerFile / 2;
  return [
    { filter: "partition", where: (round) => `day = '${dayOf((round * filesPerDay) % files, shape)}'` },
    {
      filter: "statistics",
      where: (round) => `id BETWEEN ${first(round)} AND ${first(round) + rowsPerFile - 1}`,
    },
    {
      filter: "values",
      where: (round) => `reading > ${(0.5 + round / 1_000).toFixed(3)} AND device = 'device-${round % 97}'`,
    },
  ];
}

/**
 * Of a process that starts anew, the first round only warms the system's caches up. In one that runs, both sides answer the same number of
 * queries before they are measured: at first Node interprets what it later has compiled, as the peer's code always is. It does so after some
 * hundred queries; of those that read all files it is the least of what they take.
 */
function warmUpsOf(process: QueryCase["process"], filter: Filter): number {
  if (process === "cold" || process === "compiled") return 1;
  return filter === "values" ? 10 : 200;
}

/** Takes turns in who goes first; the first rounds do not count. */
async function alternate(
  ours: Runner,
  peer: Runner,
  whereOf: (round: number) => string,
  { rounds, warmUps }: { rounds: number; warmUps: number },
) {
  const times: { ours: number; peer: number }[] = [];
  let filesRead: FilesRead = { read: 0, total: 0 };
  for (let round = 0; round < warmUps + rounds; round++) {
    const isOursFirst = round % 2 === 0;
    const where = whereOf(round);
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
