/** A partitioned table with statistics and many small files, as a stream that was never compacted leaves it. */

import { mkdir, rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Add } from "../delta/actions.ts";
import { createTable } from "../delta/create.ts";
import { dataFilePath } from "../delta/partition-path.ts";
import { encodePath } from "../delta/path.ts";
import { openStore } from "../delta/store/open.ts";
import { openEngine } from "../engine/instance.ts";
import { writeRowFiles } from "../engine/row-files.ts";
import { SCHEMA } from "./readings.ts";

/** Rows of a file; ids run on from file to file. */
export const ROWS_PER_FILE = 500;
export const FILES_PER_DAY = 20;

const PARTITION_COLUMNS = ["day"];

/** The day that file number `file` is of, as `yyyy-MM-dd`. */
export function dayOf(file: number): string {
  const day = Math.floor(file / FILES_PER_DAY);
  return new Date(Date.UTC(2024, 0, 1 + day)).toISOString().slice(0, 10);
}

/** Writes it to `folder`, one commit a day, with the checkpoints that fall due. */
export async function makeQueryTable(folder: string, files: number, signal: AbortSignal): Promise<void> {
  const store = await openStore(folder, { signal });
  const engine = await openEngine({ memoryLimitBytes: 500_000_000, threads: 1, tempDir: null });
  try {
    const table = await createTable(store, { schema: SCHEMA, partitionColumns: PARTITION_COLUMNS }, signal);
    let snapshot = await table.latest(signal);
    for (let first = 0; first < files; first += FILES_PER_DAY) {
      const adds: Add[] = [];
      for (let file = first; file < Math.min(first + FILES_PER_DAY, files); file++) {
        adds.push(...(await writeFile(file)));
      }
      const request = { readSnapshot: snapshot, operation: "WRITE", adds };
      const result = await table.commit(request, signal);
      if (result.kind !== "committed") throw new Error(result.message);
      snapshot = result.snapshot;
      await table.maintain(snapshot, signal);
    }
  } finally {
    engine.close();
    await store.close();
  }

  async function writeFile(file: number): Promise<Add[]> {
    const day = dayOf(file);
    const first = file * ROWS_PER_FILE;
    const rows = `(SELECT id, TIMESTAMPTZ '${day} 00:00:00Z' + to_seconds(id % 86400) AS at, 'device-' || id % 97 AS device,
      (id % 100000 / 100)::DECIMAL(12, 2) AS amount, sin(id) AS reading, md5(id::VARCHAR) AS note, DATE '${day}' AS day
      FROM range(${first}, ${first + ROWS_PER_FILE}) AS r(id))`;
    const written = await writeRowFiles({
      engine,
      rows,
      keys: rows,
      schema: SCHEMA,
      partitionColumns: PARTITION_COLUMNS,
      configuration: {},
      stagingDir: folder,
      signal,
    });
    const adds: Add[] = [];
    for (const { file: staged, partitionValues, size, stats } of written) {
      const path = dataFilePath(PARTITION_COLUMNS, partitionValues);
      const target = join(folder, path);
      await mkdir(dirname(target), { recursive: true });
      await rename(staged, target);
      const modificationTime = Math.floor((await stat(target)).mtimeMs);
      adds.push({ path: encodePath(path), partitionValues, size, modificationTime, dataChange: true, stats });
    }
    return adds;
  }
}
