/** A partitioned table with statistics, of many small files as a stream leaves them, or of fewer large ones as a compaction does. */

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

/** Ids run on from file to file, and days too. */
export type TableShape = { files: number; rowsPerFile: number; filesPerDay: number };

/** As a stream that was never compacted leaves them. */
export const SMALL_FILES = { rowsPerFile: 500, filesPerDay: 20 };
/** As a compaction leaves them, some 5 MB each. */
export const LARGE_FILES = { rowsPerFile: 100_000, filesPerDay: 10 };

const PARTITION_COLUMNS = ["day"];

/** The day that file number `file` is of, as `yyyy-MM-dd`. */
export function dayOf(file: number, { filesPerDay }: Pick<TableShape, "filesPerDay">): string {
  const day = Math.floor(file / filesPerDay);
  return new Date(Date.UTC(2024, 0, 1 + day)).toISOString().slice(0, 10);
}

/** Writes it to `folder`, one commit a day, with the checkpoints that fall due. */
export async function makeQueryTable(folder: string, shape: TableShape, signal: AbortSignal): Promise<void> {
  const { files, rowsPerFile, filesPerDay } = shape;
  const store = await openStore(folder, { signal });
  const engine = await openEngine({ memoryLimitBytes: 500_000_000, threads: 1, tempDir: null });
  try {
    const table = await createTable(store, { schema: SCHEMA, partitionColumns: PARTITION_COLUMNS }, signal);
    let snapshot = await table.latest(signal);
    for (let first = 0; first < files; first += filesPerDay) {
      const adds: Add[] = [];
      for (let file = first; file < Math.min(first + filesPerDay, files); file++) {
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
    const day = dayOf(file, shape);
    const first = file * rowsPerFile;
    const rows = `(SELECT id, TIMESTAMPTZ '${day} 00:00:00Z' + to_seconds(id % 86400) AS at, 'device-' || id % 97 AS device,
      (id % 100000 / 100)::DECIMAL(12, 2) AS amount, sin(id) AS reading, md5(id::VARCHAR) AS note, DATE '${day}' AS day
      FROM range(${first}, ${first + rowsPerFile}) AS r(id))`;
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
