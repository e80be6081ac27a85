/** A table's rows in an engine of our own: scanned as views, written as new data files. Every change of rows is made on one. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Add, Cdc } from "../delta/actions.ts";
import { dataFilePath } from "../delta/partition-path.ts";
import { decodePath, encodePath } from "../delta/path.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import { requirePromised, UNCHANGED_ROWS } from "../delta/writer-duties.ts";
import { compileConstraints } from "../engine/constraints.ts";
import { locateFiles } from "../engine/data-files.ts";
import type { EncodedFile } from "../engine/encoder.ts";
import { type FileCache, openFileCache } from "../engine/file-cache.ts";
import { type Engine, openEngine, textList } from "../engine/instance.ts";
import { requireOwnNames } from "../engine/own-names.ts";
import { writeRowFiles } from "../engine/row-files.ts";
import { createRelation, type DataFiles, literalPath } from "../engine/scan.ts";
import { requireFulfilled } from "../engine/violations.ts";
import { explainFailure } from "./engine-failure.ts";

export type WorkbenchOptions = {
  /** A folder for staged, spilled and fetched files: one of its own is made in it and removed at the end. */
  scratchDir: string;
  /** Of the engine; larger work spills into the scratch folder. Default 512 MiB. */
  memoryLimitBytes?: number;
  /** Default 2. */
  threads?: number;
  /** Milliseconds. */
  now?: () => number;
};

export type Workbench = {
  readonly engine: Engine;
  now(): number;
  /** Makes `name` a view over the rows of `adds`, with `"lab file"` (place in `adds`) and `"lab row"`; the one before of that name ends. */
  view(name: string, snapshot: Snapshot, adds: readonly Add[], signal: AbortSignal): Promise<void>;
  /**
   * Writes the rows of a FROM clause as data files of the table, one for each combination of partition values, and stores them
   * under fresh names. They are in no version before a commit names them. CONSTRAINT_VIOLATED before anything is written where one of the
   * `fresh` rows violates a constraint of the table, UNSUPPORTED_FEATURE where the table asks of its files what is not done here.
   */
  write(snapshot: Snapshot, rows: string, options: RowsToWrite): Promise<Add[]>;
  /**
   * The same for rows of the change data feed: the table's columns and `_change_type`. With `evenNone` there is a file where there are no
   * rows, too: without one, readers take the rows of a version's files for its changes.
   */
  writeChanges(
    snapshot: Snapshot,
    rows: string,
    signal: AbortSignal,
    options?: { evenNone?: boolean },
  ): Promise<Cdc[]>;
  /** Rows in the files of a view as their footers count them, without those that deletion vectors take out. */
  storedRows(name: string, signal: AbortSignal): Promise<bigint>;
  /** Runs `work`; where it fails, the files stored since the last `settle` are removed: no version names them. The error says what it can. */
  attempt<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Removes stored files that no version names, best effort: those of `adds`, or all since the last `settle`. */
  discard(signal: AbortSignal, adds?: readonly Add[]): Promise<void>;
  /** What was stored belongs to a version now, or may. */
  settle(): void;
  close(): Promise<void>;
};

export type RowsToWrite = {
  dataChange: boolean;
  /** Those of the rows that are not in the table as they are, as a FROM clause; absent: there are none. */
  fresh?: string;
  signal: AbortSignal;
};

const MEMORY_BYTES = 512 * 1024 * 1024;
const CACHE_BYTES = 2 * 1024 * 1024 * 1024;

const CHANGE_TYPE = { name: "_change_type", type: "string", nullable: true, metadata: {} } as const;

/** The folder of the change data feed's files (PROTOCOL.md, "Change Data Files"). */
const CHANGE_FOLDER = "_change_data";

/** Opens one for `table`; the caller closes it. */
export async function openWorkbench(table: Table, options: WorkbenchOptions): Promise<Workbench> {
  const { store } = table;
  const now = options.now ?? Date.now;
  await mkdir(options.scratchDir, { recursive: true });
  const folder = await mkdtemp(join(options.scratchDir, "lab-upkeep-"));
  const engine = await openEngine({
    memoryLimitBytes: options.memoryLimitBytes ?? MEMORY_BYTES,
    threads: options.threads ?? 2,
    tempDir: join(folder, "spill"),
    preserveOrder: true,
  });
  const scanned = new Map<string, DataFiles>();
  let cache: FileCache | undefined;
  const stored = new Set<string>();

  async function put(
    snapshot: Snapshot,
    rows: string,
    schema: StructType,
    under: string,
    signal: AbortSignal,
    evenNone = false,
  ): Promise<(EncodedFile & { path: string })[]> {
    const { partitionColumns, protocol, metadata } = snapshot;
    const { configuration } = metadata;
    requirePromised(protocol, metadata, UNCHANGED_ROWS, (isOfRows) => !isOfRows);
    const staged = await writeRowFiles({
      engine,
      rows,
      keys: rows,
      schema,
      partitionColumns,
      configuration,
      stagingDir: folder,
      signal,
    });
    const kept: (EncodedFile & { path: string })[] = [];
    for (const one of staged) {
      // Without partition columns there is a file for no rows, too.
      if (one.rows > 0 || evenNone) {
        const path = `${under}${dataFilePath(partitionColumns, one.partitionValues)}`;
        stored.add(path);
        await store.put(path, { file: one.file }, signal);
        kept.push({ ...one, path: encodePath(path) });
      }
      await rm(one.file, { force: true });
    }
    return kept;
  }

  async function discard(signal: AbortSignal, adds?: readonly Add[]): Promise<void> {
    for (const path of adds?.map((add) => decodePath(add.path)) ?? [...stored]) {
      await store.delete(path, signal).catch(() => undefined);
      stored.delete(path);
    }
  }

  return {
    engine,
    now,
    async view(name, snapshot, adds, signal) {
      requireOwnNames(snapshot.schema);
      await scanned.get(name)?.close();
      scanned.delete(name);
      if (store.localPath === undefined)
        cache ??= await openFileCache({ folder: join(folder, "cache"), maxBytes: CACHE_BYTES });
      const data = await locateFiles(store, adds, cache, signal);
      scanned.set(name, data);
      await createRelation(engine, { name, table: snapshot, data, withPlaces: true, signal });
    },
    async write(snapshot, rows, { dataChange, fresh, signal }) {
      if (fresh !== undefined) {
        const { schema, partitionColumns, metadata } = snapshot;
        const { configuration } = metadata;
        const checks = await compileConstraints(engine, { configuration, schema, partitionColumns }, signal);
        await requireFulfilled(engine, fresh, checks, signal);
      }
      const files = await put(snapshot, rows, snapshot.schema, "", signal);
      return files.map(({ path, partitionValues, size, stats }) => ({
        path,
        partitionValues,
        size,
        modificationTime: now(),
        dataChange,
        stats,
      }));
    },
    async writeChanges(snapshot, rows, signal, { evenNone = false } = {}) {
      const schema: StructType = { type: "struct", fields: [...snapshot.schema.fields, CHANGE_TYPE] };
      const { partitionColumns } = snapshot;
      const under = `${CHANGE_FOLDER}/`;
      let files = await put(snapshot, rows, schema, under, signal, evenNone);
      if (evenNone && files.length === 0) {
        files = await put({ ...snapshot, partitionColumns: [] }, rows, schema, under, signal, evenNone);
        const nulls = Object.fromEntries(partitionColumns.map((name) => [name, null]));
        files = files.map((file) => ({ ...file, partitionValues: nulls }));
      }
      return files.map(({ path, partitionValues, size }) => ({
        path,
        partitionValues,
        size,
        dataChange: false,
      }));
    },
    async attempt(work, signal) {
      try {
        return await work();
      } catch (error) {
        // Half of a change must not stay because somebody does not want to wait for the other half.
        await discard(signal.aborted ? new AbortController().signal : signal);
        throw signal.aborted
          ? error
          : await explainFailure(error, { root: store.root, scanned: scanned.values() });
      }
    },
    async storedRows(name, signal) {
      const { files } = scanned.get(name)!;
      const paths = textList(files.map(({ file }) => literalPath(file)));
      const [row] = await engine.rows(
        `SELECT CAST(sum(num_rows) AS BIGINT) AS rows FROM parquet_file_metadata(${paths})`,
        { signal },
      );
      return files.reduce((sum, { deleted }) => sum - BigInt(deleted?.length ?? 0), row!.rows as bigint);
    },
    discard,
    settle: () => stored.clear(),
    async close() {
      engine.close();
      for (const data of scanned.values()) await data.close();
      await cache?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
