/**
 * Batches of changes into a large keyed table: ours, with deletion vectors and with files that are written again, beside delta-rs's merge of the same
 * batches into the same rows. Each makes a version a batch. Ours runs in this process and delta-rs in one of its own; CPU is of all threads, without
 * start-up. Ours also keeps what orders changes (`_cdc`), joins small files and writes checkpoints as it goes, all of which is in its figures.
 */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { fold } from "../cdc/fold.ts";
import { openMerger } from "../cdc/merge/merger.ts";
import { openEncoder } from "../columnar/open-encoder.ts";
import { LabError } from "../core/errors.ts";
import { openTable } from "../delta/open.ts";
import { localStore } from "../delta/store/local.ts";
import type { Table } from "../delta/table.ts";
import { openWorkbench } from "../upkeep/workbench.ts";
import { load } from "./machine.ts";
import {
  COPIES,
  changesPerSecond,
  type MergeBenchResult,
  type MergeRun,
  PEER,
  VECTORS,
} from "./merge-run.ts";
import {
  asChange,
  type CustomerChange,
  customerBatches,
  expectedTotals,
  makeCustomers,
  writeBatches,
} from "./merge-table.ts";
import { pythonPackages } from "./python.ts";

export type MergeBenchOptions = {
  rows: number;
  /** Ours with deletion vectors; the others, which take longer, do a tenth of them. */
  batches: number;
  /** Of a batch. */
  changes: number;
  seed: number;
  rounds: number;
  say: (line: string) => void;
  signal: AbortSignal;
};

const MEMORY_BYTES = 512 * 1024 * 1024;
const THREADS = 2;
const COMPACT_EVERY = 16;

/** INTERNAL if a table does not hold what the changes come to. */
export async function benchMerge(options: MergeBenchOptions): Promise<MergeBenchResult> {
  const { rows, batches, changes, seed, rounds, say, signal } = options;
  const packages = await pythonPackages(new URL("./merge-peer.txt", import.meta.url), signal);
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-"));
  try {
    const few = Math.max(2, Math.floor(batches / 10));
    say(`making ${batches} batches of ${changes.toLocaleString("en")} changes`);
    const made = customerBatches({ rows, batches, size: changes, seed });
    await mkdir(join(folder, "batches"));
    await writeBatches(made.slice(0, few), join(folder, "batches"), signal);
    const result: MergeBenchResult = { rows, batches, changes, seed, rounds, tableBytes: 0, runs: [] };
    for (let round = 1; round <= rounds; round++)
      for (const by of [VECTORS, COPIES, PEER] as const) {
        const place = join(folder, "table");
        const table = await makeCustomers(
          place,
          { rows, isKeyed: by !== PEER, hasVectors: by === VECTORS },
          signal,
        );
        result.tableBytes ||= (await table.latest(signal)).sizeBytes;
        const mine = by === VECTORS ? made : made.slice(0, few);
        const before = await bytesOf(place);
        const loaded = load();
        const used =
          by === PEER
            ? await peer(place, join(folder, "batches"), few, packages, signal)
            : await ours(table, mine, join(folder, "scratch"), signal);
        await requireTotals(place, expectedTotals(rows, mine), folder, signal);
        const after = await bytesOf(place);
        const run: MergeRun = {
          ...{ by, round, batches: mine.length, load: loaded, ...used },
          dataBytes: after.data - before.data,
          logBytes: after.log - before.log,
        };
        result.runs.push(run);
        say(
          `round ${round}: ${by}, ${Math.round(changesPerSecond(run, changes)).toLocaleString("en")} changes/s`,
        );
        for (const name of ["table", "table-scratch", "scratch"])
          await rm(join(folder, name), { recursive: true, force: true });
      }
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Used = Pick<MergeRun, "seconds" | "cpuSeconds" | "firstSeconds" | "longestSeconds">;

async function ours(
  table: Table,
  batches: readonly (readonly CustomerChange[])[],
  scratchDir: string,
  signal: AbortSignal,
): Promise<Used> {
  const limits = { memoryLimitBytes: MEMORY_BYTES, threads: THREADS };
  const encoder = await openEncoder({ stagingDir: join(scratchDir, "staging"), ...limits });
  const merger = openMerger({
    ...{ encoder, scratchDir, ...limits, topic: "customers", onUnknownField: "add", now: Date.now },
    ...{ compactEvery: COMPACT_EVERY, indexBytes: Number.POSITIVE_INFINITY, onIndexOver: () => {} },
    onCompactionFailure: (error) => {
      throw error;
    },
  });
  try {
    let snapshot = await table.latest(signal);
    const seconds: number[] = [];
    let used = process.cpuUsage();
    for (const [n, batch] of batches.entries()) {
      const changes = batch.map(asChange);
      const startedMs = performance.now();
      if (n === 1) used = process.cpuUsage();
      const done = await merger.apply({
        ...{ table, snapshot, folded: fold(changes, []), schema: snapshot.schema, keyColumns: ["id"] },
        ...{ txns: [{ appId: "lab/customers-0", version: changes.at(-1)!.place.offset }], readTxns: [] },
        ...{ lab: (counts) => ({ counts }), signal },
      });
      if (done.kind !== "committed")
        throw new LabError("INTERNAL", `batch ${n} was not committed: ${done.kind}`);
      snapshot = done.snapshot;
      await table.maintain(snapshot, signal);
      seconds.push((performance.now() - startedMs) / 1000);
    }
    const { user, system } = process.cpuUsage(used);
    return { ...timesOf(seconds), cpuSeconds: (user + system) / 1e6 };
  } finally {
    await merger.close();
    await encoder.close();
  }
}

async function peer(
  place: string,
  folder: string,
  batches: number,
  packages: string,
  signal: AbortSignal,
): Promise<Used> {
  const script = fileURLToPath(new URL("./merge-peer.py", import.meta.url));
  const { stdout } = await promisify(execFile)("python3", [script, place, folder, String(batches)], {
    ...{ env: { ...process.env, PYTHONPATH: packages }, signal },
  });
  const { seconds, cpuSeconds } = JSON.parse(stdout) as { seconds: number[]; cpuSeconds: number };
  // The first batch is like the others there.
  const share = (batches - 1) / batches;
  return { ...timesOf(seconds), cpuSeconds: cpuSeconds * share };
}

function timesOf([first = 0, ...others]: readonly number[]): Omit<Used, "cpuSeconds"> {
  return {
    seconds: others.reduce((sum, one) => sum + one, 0),
    firstSeconds: first,
    longestSeconds: Math.max(0, ...others),
  };
}

async function requireTotals(
  place: string,
  expected: { rows: number; balance: number },
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const table = await openTable(localStore(place), signal);
  const snapshot = await table.latest(signal);
  const bench = await openWorkbench(table, { scratchDir: join(folder, "check") });
  try {
    await bench.view("t", snapshot, [...snapshot.files()], signal);
    const isKeyed = snapshot.schema.fields.some(({ name }) => name === "_cdc");
    const [found] = await bench.engine.rows(
      `SELECT count(*) AS rows, count(DISTINCT id) AS ids, sum(balance) AS balance FROM t${isKeyed ? " WHERE NOT coalesce(_cdc.deleted, false)" : ""}`,
      { signal },
    );
    const { rows, ids, balance } = found!;
    if (Number(rows) === expected.rows && rows === ids && balance === expected.balance) return;
    throw new LabError(
      "INTERNAL",
      `the table has ${rows} rows of ${ids} keys and balance ${balance}, not ${expected.rows} and ${expected.balance}`,
    );
  } finally {
    await bench.close();
  }
}

async function bytesOf(place: string): Promise<{ data: number; log: number }> {
  const sum = { data: 0, log: 0 };
  for (const name of await readdir(place, { recursive: true })) {
    const { size, isFile } = await stat(join(place, name)).then((one) => ({
      size: one.size,
      isFile: one.isFile(),
    }));
    if (isFile) sum[name.startsWith("_delta_log") ? "log" : "data"] += size;
  }
  return sum;
}
