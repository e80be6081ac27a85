/** A table of many small commits, as a stream that was never compacted leaves it: each with one Parquet file, offsets and bytes of its own. */

import { link, mkdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Add } from "../delta/actions.ts";
import { createTable } from "../delta/create.ts";
import { openStore } from "../delta/store/open.ts";
import { openEngine } from "../engine/instance.ts";
import { writeRowFiles } from "../engine/row-files.ts";
import { SCHEMA } from "./readings.ts";

const ROWS_PER_FILE = 50;
const PARTITIONS = 4;
/** Rows are alike in files of this many kinds. */
const KINDS = 8;

/** Writes table `orders` of so many versions after the first into `store`, with the checkpoints that fall due. */
export async function makeDashboardTable(
  folder: string,
  commits: number,
  signal: AbortSignal,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const store = await openStore(folder, { signal });
  const staging = join(folder, "_staging");
  await mkdir(staging);
  try {
    const files = await writeFiles(staging, signal);
    const table = await createTable(store, { schema: SCHEMA }, signal);
    let snapshot = await table.latest(signal);
    for (let n = 0; n < commits; n++) {
      const { file, size, stats } = files[n % KINDS]!;
      const path = `part-${String(n).padStart(8, "0")}.zstd.parquet`;
      // The same bytes under a name of its own: a table's files are never changed.
      await link(file, join(folder, path));
      const modificationTime = Math.floor((await stat(file)).mtimeMs) + n;
      const add: Add = { path, partitionValues: {}, size, modificationTime, dataChange: true, stats };
      const result = await table.commit(
        {
          readSnapshot: snapshot,
          operation: "STREAMING UPDATE",
          operationMetrics: { executionTimeMs: String(20 + (n % 90)) },
          adds: [add],
          info: { lab: labOf(n) },
        },
        signal,
      );
      if (result.kind !== "committed") throw new Error(result.message);
      snapshot = result.snapshot;
      await table.maintain(snapshot, signal);
    }
  } finally {
    await rm(staging, { recursive: true, force: true });
    await store.close();
  }
}

function labOf(commit: number): object {
  const each = Math.floor(ROWS_PER_FILE / PARTITIONS);
  const partitions = Array.from({ length: PARTITIONS }, (_, partition) => ({
    ...{ topic: "orders", partition, rows: each, letters: 0, skipped: 0 },
    ...{ first: String(commit * each), last: String((commit + 1) * each - 1) },
  }));
  return { v: 1, app: "lab", generation: 0, partitions };
}

type Written = { file: string; size: number; stats: string };

async function writeFiles(staging: string, signal: AbortSignal): Promise<Written[]> {
  const engine = await openEngine({ memoryLimitBytes: 500_000_000, threads: 1, tempDir: null });
  try {
    const files: Written[] = [];
    for (let kind = 0; kind < KINDS; kind++) {
      const rows = `(SELECT id, TIMESTAMPTZ '2026-01-01 00:00:00Z' + to_seconds(id) AS at, 'device-' || id % 97 AS device,
        (id % 100000 / 100)::DECIMAL(12, 2) AS amount, sin(id) AS reading, md5(id::VARCHAR) AS note, DATE '2026-01-01' AS day
        FROM range(${kind * ROWS_PER_FILE}, ${(kind + 1) * ROWS_PER_FILE}) AS r(id))`;
      const where = { schema: SCHEMA, partitionColumns: [], configuration: {}, stagingDir: staging, signal };
      const [written] = await writeRowFiles({ engine, rows, keys: rows, ...where });
      const file = join(staging, `kind-${kind}.parquet`);
      await rename(written!.file, file);
      files.push({ file, size: written!.size, stats: written!.stats });
    }
    return files;
  } finally {
    engine.close();
  }
}
