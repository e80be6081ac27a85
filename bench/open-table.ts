/** A table's log without data files: as many commits and files as a stream that was never compacted leaves. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Add } from "../delta/actions.ts";
import { serializeCommit } from "../delta/commit-file.ts";
import { createTable } from "../delta/create.ts";
import { commitPath } from "../delta/log-names.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { SCHEMA } from "./readings.ts";

/** Days that the files are spread over. */
const DAYS = 365;
const ROWS_PER_FILE = 10_000;
const START_MS = Date.UTC(2024, 0, 1);

/** Makes the table in `folder`: `files` files in `commits` commits after the one that makes it, and a checkpoint of the last. */
export async function makeOpenTable(
  folder: string,
  { files, commits }: { files: number; commits: number },
  signal: AbortSignal,
): Promise<void> {
  const store = await openStore(folder, { signal });
  try {
    await createTable(store, { schema: SCHEMA, partitionColumns: ["day"] }, signal);
    await addCommits(folder, { firstVersion: 1, commits, firstFile: 0, files, ofFiles: files }, signal);
    const table = await openTable(store, signal);
    await table.checkpoint(await table.latest(signal), signal);
  } finally {
    await store.close();
  }
}

/**
 * Puts `files` files into the log in `commits` commits from `firstVersion` on, as they are when the table has `ofFiles`. Straight into the
 * folder, since nobody else writes there and 5,000 durable commits would take minutes.
 */
export async function addCommits(
  folder: string,
  span: { firstVersion: number; commits: number; firstFile: number; files: number; ofFiles: number },
  signal: AbortSignal,
): Promise<void> {
  const { firstVersion, commits, firstFile, files, ofFiles } = span;
  await mkdir(join(folder, "_delta_log"), { recursive: true });
  for (let at = 0; at < commits; at++) {
    signal.throwIfAborted();
    const adds: { add: Add }[] = [];
    const end = Math.floor((files * (at + 1)) / commits);
    for (let file = Math.floor((files * at) / commits); file < end; file++)
      adds.push({ add: fileOf(firstFile + file, ofFiles) });
    const commitInfo = { timestamp: Date.now(), operation: "WRITE", operationParameters: { mode: "Append" } };
    await writeFile(join(folder, commitPath(firstVersion + at)), serializeCommit([{ commitInfo }, ...adds]));
  }
}

/** File number `file`, with the statistics that such rows would have. */
function fileOf(file: number, ofFiles: number): Add {
  const mixed = Math.imul(file + 1, 0x9e3779b1) >>> 0;
  const hex = `${mixed.toString(16).padStart(8, "0")}${(file >>> 0).toString(16).padStart(8, "0")}`;
  const day = new Date(START_MS + Math.floor((file / ofFiles) * DAYS) * 86_400_000)
    .toISOString()
    .slice(0, 10);
  const first = file * ROWS_PER_FILE;
  const note = (digit: string) => `${digit}${hex}${hex}`.slice(0, 32);
  const bounds = (isMax: boolean) => ({
    id: isMax ? first + ROWS_PER_FILE - 1 : first,
    at: `${day}T${isMax ? "23" : "00"}:${String(mixed % 60).padStart(2, "0")}:00.000Z`,
    device: `device-${isMax ? 90 + (mixed % 10) : mixed % 10}`,
    amount: isMax ? 900 + (mixed % 9900) / 100 : (mixed % 9900) / 100,
    reading: (isMax ? 1 : -1) * (1 - mixed / 2 ** 34),
    note: note(isMax ? "f" : "0"),
  });
  const stats = {
    numRecords: ROWS_PER_FILE,
    minValues: bounds(false),
    maxValues: bounds(true),
    nullCount: { id: 0, at: 0, device: 0, amount: 0, reading: mixed % 100, note: 0 },
  };
  return {
    path: `day=${day}/part-00000-${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(1, 4)}-a${hex.slice(5, 8)}-${hex.slice(4)}-c000.zstd.parquet`,
    partitionValues: { day },
    size: 500_000 + (mixed % 500_000),
    modificationTime: START_MS + file * 1000,
    dataChange: true,
    stats: JSON.stringify(stats),
  };
}
