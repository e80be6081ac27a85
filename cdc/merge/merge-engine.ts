/**
 * What a merger keeps from batch to batch of one table: a DuckDB with the index of its keys, a bench where rows are written, and a cache of files for a
 * remote store.
 */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Table } from "../../delta/table.ts";
import { type FileCache, openFileCache } from "../../engine/file-cache.ts";
import { openInstance } from "../../engine/instance.ts";
import { openWorkbench } from "../../upkeep/workbench.ts";
import { createBoundedIndex } from "./bounded-index.ts";
import { type KeptBench, keepBench } from "./kept-bench.ts";
import type { KeyIndex } from "./key-index.ts";

export type MergeEngine = {
  readonly table: Table;
  readonly keyColumns: readonly string[];
  readonly index: KeyIndex;
  readonly bench: KeptBench;
  close(): Promise<void>;
};

const CACHE_BYTES = 2 * 1024 * 1024 * 1024;

export async function openMergeEngine(options: {
  table: Table;
  keyColumns: readonly string[];
  scratchDir: string;
  memoryLimitBytes: number;
  threads: number;
  /** Of the index of keys. */
  indexBytes: number;
  onIndexOver: (bytes: number) => void;
}): Promise<MergeEngine> {
  const { table, keyColumns, memoryLimitBytes, threads } = options;
  await mkdir(options.scratchDir, { recursive: true });
  const folder = await mkdtemp(join(options.scratchDir, "lab-merge-"));
  const instance = await openInstance({
    ...{ memoryLimitBytes, threads, tempDir: join(folder, "spill"), preserveOrder: true },
  });
  let opening: Promise<FileCache> | undefined;
  const cache = () => {
    opening ??= openFileCache({ folder: join(folder, "cache"), maxBytes: CACHE_BYTES });
    return opening;
  };
  const index = createBoundedIndex({
    ...{ instance, table, keyColumns, cache },
    ...{ maxBytes: options.indexBytes, onOver: options.onIndexOver },
  });
  const bench = keepBench(() => openWorkbench(table, { scratchDir: folder, memoryLimitBytes, threads }));
  return {
    ...{ table, keyColumns, index, bench },
    async close() {
      await bench.close();
      instance.close();
      await (await opening)?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
