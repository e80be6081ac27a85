/**
 * How merges grow with workers: the changes of one stream, parted by key as Kafka's partitions part them, merged by one process each. Either each has a
 * table of its own with its part of the rows, or all have one table that is partitioned by buckets of the key, of which each has some.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LabError } from "../core/errors.ts";
import { load } from "./machine.ts";
import { ONE_TABLE, type ScaleRun, TABLES } from "./merge-run.ts";
import {
  BUCKETS,
  type CustomerChange,
  customerBatches,
  expectedTotals,
  makeCustomers,
} from "./merge-table.ts";
import { requireTotals } from "./merge-totals.ts";

export type ScaleOptions = {
  rows: number;
  batches: number;
  /** Of a batch. */
  changes: number;
  seed: number;
  folder: string;
  say: (line: string) => void;
  signal: AbortSignal;
};

/** Divisors of the buckets. */
const WORKERS = [1, 2, 4];

/** What a worker is told. */
export type Part = Pick<ScaleOptions, "rows" | "batches" | "changes" | "seed"> & {
  table: string;
  scratchDir: string;
  worker: number;
  workers: number;
  threads: number;
};

/** What a worker tells: of all batches but its first one. */
export type PartDone = {
  endMs: number;
  changes: number;
  batches: number;
  cpuSeconds: number;
  uncompacted: number;
};

/** INTERNAL where a table does not hold what the changes come to. */
export async function benchScale(options: ScaleOptions): Promise<ScaleRun[]> {
  const { rows, batches, changes, seed, folder, say, signal } = options;
  const runs: ScaleRun[] = [];
  for (const kind of [TABLES, ONE_TABLE] as const)
    for (const workers of WORKERS) {
      const place = join(folder, "scale");
      await mkdir(place, { recursive: true });
      const tables = kind === TABLES ? workers : 1;
      const each = Math.floor(rows / tables);
      const uris = Array.from({ length: tables }, (_, n) => join(place, `table-${n}`));
      for (const uri of uris)
        await makeCustomers(
          uri,
          { rows: each, isKeyed: true, hasVectors: true, isBucketed: kind === ONE_TABLE },
          signal,
        );
      const parts = Array.from({ length: workers }, (_, worker): Part => {
        const own = kind === TABLES;
        return {
          ...{ rows: each, changes, seed: own ? seed + worker : seed },
          ...{ batches: own ? Math.ceil(batches / workers) : batches },
          ...{ table: uris[own ? worker : 0]!, scratchDir: join(place, `scratch-${worker}`) },
          ...{ worker: own ? 0 : worker, workers: own ? 1 : workers, threads: workers === 1 ? 2 : 1 },
        };
      });
      const run: ScaleRun = { kind, workers, load: load(), ...(await race(parts, signal)) };
      for (const [n, uri] of uris.entries())
        await requireTotals(
          uri,
          expectedTotals(each, batchesOf({ ...parts[n]!, workers: 1 })),
          place,
          signal,
        );
      runs.push(run);
      say(
        `${kind}, ${workers} workers: ${Math.round(run.changes / run.seconds).toLocaleString("en")} changes/s`,
      );
      await rm(place, { recursive: true, force: true });
    }
  return runs;
}

/** The changes of a worker's keys, in batches of the size that was asked for. */
export function batchesOf({
  rows,
  batches,
  changes,
  seed,
  worker,
  workers,
}: Omit<Part, "table" | "scratchDir" | "threads">) {
  const all = customerBatches({ rows, batches, size: changes, seed });
  if (workers === 1) return all;
  const mine = all.flat().filter(({ id }) => bucketOf(id) % workers === worker);
  const parts: CustomerChange[][] = [];
  for (let from = 0; from < mine.length; from += changes) parts.push(mine.slice(from, from + changes));
  return parts;
}

/** As the table's own column has it (`engine/derived-columns.ts`). */
function bucketOf(id: number): number {
  return Number.parseInt(createHash("md5").update(String(id)).digest("hex").slice(0, 8), 16) % BUCKETS;
}

/** All go at once when each has merged its first batch. */
async function race(
  parts: readonly Part[],
  signal: AbortSignal,
): Promise<Omit<ScaleRun, "kind" | "workers" | "load">> {
  const children = parts.map((part) => start(part, signal));
  await Promise.all(children.map(({ ready }) => ready));
  const startMs = performance.timeOrigin + performance.now();
  for (const { child } of children) child.stdin!.end();
  const done = await Promise.all(children.map((child) => child.done));
  const sum = (of: (one: PartDone) => number) => done.reduce((total, one) => total + of(one), 0);
  return {
    seconds: (Math.max(...done.map(({ endMs }) => endMs)) - startMs) / 1000,
    ...{ changes: sum((one) => one.changes), batches: sum((one) => one.batches) },
    ...{ cpuSeconds: sum((one) => one.cpuSeconds), uncompacted: sum((one) => one.uncompacted) },
  };
}

function start(
  part: Part,
  signal: AbortSignal,
): { child: ChildProcess; ready: Promise<unknown>; done: Promise<PartDone> } {
  const isSource = import.meta.url.endsWith(".ts");
  const script = fileURLToPath(new URL(`./merge-child.${isSource ? "ts" : "js"}`, import.meta.url));
  const loader = isSource ? ["--import", import.meta.resolve("tsx")] : [];
  const child = spawn(process.execPath, [...loader, script, JSON.stringify(part)], {
    ...{ stdio: ["pipe", "pipe", "pipe"], signal },
  });
  let [out, err] = ["", ""];
  let resolve = () => {};
  const warm = new Promise<void>((settle) => {
    resolve = settle;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err = (err + text).slice(-4000);
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    if (out.includes("\n")) resolve();
  });
  const ended = new Promise<void>((settle, reject) => {
    child.once("error", reject);
    child.once("close", (status) =>
      status === 0
        ? settle()
        : reject(new LabError("INTERNAL", `a worker ended with status ${status}: ${err}`)),
    );
  });
  const done = ended.then(() => JSON.parse(out.slice(out.indexOf("\n"))) as PartDone);
  done.catch(() => {});
  return { child, ready: Promise.race([warm, ended]), done };
}
