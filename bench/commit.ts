/** How many commits a second a table takes: from one writer, and from several that race, each a process of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Table as ArrowTable, makeData, RecordBatch, Schema, Struct, tableToIPC } from "apache-arrow";
import { Table as ParquetTable, writeParquet } from "parquet-wasm";
import { LabError } from "../core/errors.ts";
import { fieldsOf, int64, utf8 } from "../delta/arrow-columns.ts";
import { createTable } from "../delta/create.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import type { Store } from "../delta/store/store.ts";
import type { StructType } from "../delta/types.ts";

export type CommitBenchOptions = {
  writers: number;
  /** Of each writer. */
  commits: number;
  /** A folder or `s3://bucket/prefix`; undefined for a folder of its own, removed afterwards. */
  store: string | undefined;
  /** An interpreter that may have `deltalake`. */
  python: string;
  say: (line: string) => void;
  signal: AbortSignal;
};

export type CommitRun = {
  by: "lab" | "deltalake";
  writers: number;
  commits: number;
  /** From the start of all to the end of the last. */
  seconds: number;
  commitsPerSecond: number;
  /** Null where the writer does not tell. */
  attemptsPerCommit: number | null;
  mostAttempts: number | null;
  /** What the slowest writer had committed when the first had finished, against an equal share: 1 is fair, 0 is starved. */
  slowestShare: number;
};

export type CommitBenchResult = { store: string; runs: CommitRun[] };

const ROWS = 10;
const field = (name: string, type: "long" | "string") => ({ name, type, nullable: true, metadata: {} });
const schema: StructType = { type: "struct", fields: [field("id", "long"), field("text", "string")] };
const STATS = `{"numRecords":${ROWS},"minValues":{"id":0},"maxValues":{"id":${ROWS - 1}},"nullCount":{"id":0,"text":0}}`;

/** One writer, then all of them; by delta-rs as well where it is installed and the store is local. INTERNAL where a commit is missing. */
export async function benchCommit(options: CommitBenchOptions): Promise<CommitBenchResult> {
  const { signal, say, commits } = options;
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-"));
  try {
    const root = options.store ?? join(folder, "tables");
    const file = join(folder, "rows.parquet");
    await writeFile(file, rowsFile());
    const hasPeer = !root.startsWith("s3:") && (await answers(options.python, signal));
    const runs: CommitRun[] = [];
    for (const writers of new Set([1, options.writers])) {
      for (const by of hasPeer ? (["lab", "deltalake"] as const) : (["lab"] as const)) {
        say(`${writers} x ${commits} commits by ${by}`);
        const uri = `${root.replace(/\/$/, "")}/bench-${randomUUID()}`;
        const command = by === "lab" ? ours(uri, commits, file) : peer(options.python, uri, commits);
        runs.push({ by, ...(await onTable(uri, { writers, commits, command, signal })) });
      }
    }
    return { store: options.store ?? "a local folder", runs };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Command = { program: string; args: string[] };

function ours(uri: string, commits: number, file: string): Command {
  const isSource = import.meta.url.endsWith(".ts");
  const child = new URL(isSource ? "./commit-child.ts" : "./commit-child.js", import.meta.url).pathname;
  const loader = isSource ? ["--import", import.meta.resolve("tsx")] : [];
  return { program: process.execPath, args: [...loader, child, uri, String(commits), file, STATS] };
}

function peer(python: string, uri: string, commits: number): Command {
  const script = new URL("./commit-peer.py", import.meta.url).pathname;
  return { program: python, args: [script, uri, String(commits), String(ROWS)] };
}

async function answers(python: string, signal: AbortSignal): Promise<boolean> {
  const child = spawn(python, ["-c", "import deltalake, pyarrow"], { stdio: "ignore", signal });
  return new Promise((resolve) => {
    child.once("error", () => resolve(false));
    child.once("close", (status) => resolve(status === 0));
  });
}

/** A table of its own for one run, removed again. */
async function onTable(
  uri: string,
  run: { writers: number; commits: number; command: Command; signal: AbortSignal },
): Promise<Omit<CommitRun, "by">> {
  const { signal } = run;
  const store = await openStore(uri, { signal });
  try {
    await createTable(store, { schema }, signal);
    const measured = await race(run);
    const { version, numFiles } = await (await openTable(store, signal)).latest(signal);
    if (version !== measured.commits || numFiles !== measured.commits)
      throw new LabError(
        "INTERNAL",
        `${measured.commits} commits were made, the table is at version ${version}`,
      );
    return measured;
  } finally {
    await removeAll(store);
    await store.close();
  }
}

type Done = { atMs: number; attempts?: number }[];

/** Starts all writers, lets them go at once, and gathers when each commit stood. */
async function race(run: {
  writers: number;
  commits: number;
  command: Command;
  signal: AbortSignal;
}): Promise<Omit<CommitRun, "by">> {
  const { writers, commits, command, signal } = run;
  const children = Array.from({ length: writers }, () => start(command, signal));
  await Promise.all(children.map((child) => child.ready));
  const startMs = performance.timeOrigin + performance.now();
  for (const { child } of children) child.stdin!.end();
  const all = await Promise.all(children.map((child) => child.done));
  const firstEndMs = Math.min(...all.map((done) => done.at(-1)!.atMs));
  const byThen = all.map((done) => done.filter(({ atMs }) => atMs <= firstEndMs).length);
  const fair = byThen.reduce((sum, count) => sum + count, 0) / writers;
  const seconds = (Math.max(...all.map((done) => done.at(-1)!.atMs)) - startMs) / 1000;
  const attempts = all.flat().flatMap((commit) => commit.attempts ?? []);
  const total = writers * commits;
  return {
    writers,
    commits: total,
    seconds: round(seconds),
    commitsPerSecond: round(total / seconds),
    attemptsPerCommit: attempts.length ? round(attempts.reduce((sum, n) => sum + n, 0) / total) : null,
    mostAttempts: attempts.length ? Math.max(...attempts) : null,
    slowestShare: round(Math.min(...byThen) / fair),
  };
}

function start(
  command: Command,
  signal: AbortSignal,
): { child: ChildProcess; ready: Promise<void>; done: Promise<Done> } {
  const child = spawn(command.program, command.args, { stdio: ["pipe", "pipe", "pipe"], signal });
  let [out, err] = ["", ""];
  let isReady = () => {};
  const ended = new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err = (err + text).slice(-4000);
    });
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (out.startsWith("ready\n")) isReady();
    });
    child.once("error", reject);
    child.once("close", (status) =>
      status === 0
        ? resolve()
        : reject(new LabError("INTERNAL", `a writer ended with status ${status}: ${err}`)),
    );
  });
  const ready = new Promise<void>((resolve) => {
    isReady = resolve;
  });
  const done = ended.then(() => JSON.parse(out.slice("ready\n".length)) as Done);
  done.catch(() => {});
  return { child, ready: Promise.race([ready, ended]), done };
}

/** A small data file; every commit brings its bytes under another name. */
function rowsFile(): Uint8Array {
  const numbers = Array.from({ length: ROWS }, (_, n) => n);
  const columns = { id: int64(numbers), text: utf8(numbers.map((n) => `row ${n}`)) };
  const arrow = new Schema(fieldsOf(columns));
  const type = new Struct(arrow.fields);
  const data = makeData({ type, length: ROWS, nullCount: 0, children: Object.values(columns) });
  const ipc = tableToIPC(new ArrowTable(arrow, [new RecordBatch(arrow, data)]), "stream");
  return writeParquet(ParquetTable.fromIPCStream(ipc));
}

/** Also where the benchmark was stopped. */
async function removeAll(store: Store): Promise<void> {
  const { signal } = new AbortController();
  const paths: string[] = [];
  for await (const { path } of store.list("", { signal })) paths.push(path);
  for (let at = 0; at < paths.length; at += 32)
    await Promise.all(paths.slice(at, at + 32).map((path) => store.delete(path, signal)));
}

const round = (value: number) => Math.round(value * 100) / 100;
