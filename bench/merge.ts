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
import type { Table } from "../delta/table.ts";
import { load } from "./machine.ts";
import { mergeOurs } from "./merge-ours.ts";
import {
  COPIES,
  changesPerSecond,
  type MergeBenchResult,
  type MergeRun,
  PEER,
  VECTORS,
} from "./merge-run.ts";
import { benchScale } from "./merge-scale.ts";
import {
  type CustomerChange,
  customerBatches,
  expectedTotals,
  makeCustomers,
  writeBatches,
} from "./merge-table.ts";
import { requireTotals } from "./merge-totals.ts";
import { pythonPackages } from "./python.ts";

export type MergeBenchOptions = {
  rows: number;
  /** Ours with deletion vectors; the others, which take longer, do a fifteenth of them. */
  batches: number;
  /** Of a batch. */
  changes: number;
  seed: number;
  rounds: number;
  /** Of all workers together, for each number of them; 0: that is not measured. */
  scaleBatches: number;
  say: (line: string) => void;
  signal: AbortSignal;
};

const THREADS = 2;

/** INTERNAL if a table does not hold what the changes come to. */
export async function benchMerge(options: MergeBenchOptions): Promise<MergeBenchResult> {
  const { rows, batches, changes, seed, rounds, scaleBatches, say, signal } = options;
  const packages = await pythonPackages(new URL("./merge-peer.txt", import.meta.url), signal);
  const folder = await mkdtemp(join(tmpdir(), "lab-bench-"));
  try {
    const few = Math.max(2, Math.floor(batches / 15));
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
    if (scaleBatches > 0)
      result.scale = await benchScale({ rows, batches: scaleBatches, changes, seed, folder, say, signal });
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
  const options = { scratchDir, threads: THREADS, partition: 0 };
  const { seconds, cpuSeconds } = await mergeOurs(table, batches, options, signal);
  return { ...timesOf(seconds), cpuSeconds };
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
