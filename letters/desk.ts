/** Letters in an engine of our own: which there are, what became of each, and what new lines are written of them. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { dataFilePath } from "../delta/partition-path.ts";
import type { Table } from "../delta/table.ts";
import { locateFiles } from "../engine/data-files.ts";
import { type FileCache, openFileCache } from "../engine/file-cache.ts";
import { type Engine, openEngine } from "../engine/instance.ts";
import { stream, type Value } from "../engine/result.ts";
import { writeRowFiles } from "../engine/row-files.ts";
import { createRelation, type DataFiles } from "../engine/scan.ts";
import { letterSchema } from "../ingest/schemas.ts";
import { type LetterTables, type Looked, type Opened, stateSchema } from "./tables.ts";

export type DeskOptions = {
  /** A folder of its own is made in it, and removed at the end. */
  scratchDir: string;
  /** Default 512 MiB; what does not fit spills into the scratch folder. */
  memoryLimitBytes?: number;
  /** Default 2. */
  threads?: number;
};

export type Desk = {
  /** As an engine's; errors name the data file that is gone or damaged. */
  run: Engine["run"];
  rows: Engine["rows"];
  /** The rows of a statement as they come, each as its values in order. Nothing else may be asked before the last one has come. */
  stream(sql: string, signal: AbortSignal): AsyncIterable<readonly Value[]>;
  /**
   * Reads the tables anew. Afterwards view `lines` holds every line of the letters' table with its place, and table `records` one row for
   * each lettered record: its newest line, `first_at` and `next_at`, and its state.
   */
  look(signal: AbortSignal): Promise<Looked>;
  /** Makes `name` a view over rows of `opened` in `adds`. */
  view(name: string, opened: Opened, adds: readonly Add[], signal: AbortSignal): Promise<void>;
  /** (Re)makes table `name` with these numbers as `place`. */
  numbers(name: string, places: readonly number[], signal: AbortSignal): Promise<void>;
  /** Appends the rows of a FROM clause to the table of letters or of states, in one commit. */
  append(to: Opened, rows: string, operation: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
};

const MEMORY_BYTES = 512 * 1024 * 1024;
const CACHE_BYTES = 2 * 1024 * 1024 * 1024;
/** Other writers of these tables only append; somebody may change their properties meanwhile. */
const MOST_ATTEMPTS = 5;
const NUMBERS_AT_ONCE = 10_000;

/**
 * A record is named by topic, partition, offset and time: a topic that was made anew has other records at the same offsets. A state names
 * no time, so it belongs to the record whose letter was the newest at that offset when the state was written.
 */
const RECORDS = `CREATE OR REPLACE TEMP TABLE records AS
WITH numbered AS (
  SELECT topic, "partition", "offset", "timestamp", stage, error_code, error_message, coalesce(attempt, 1) AS attempt,
    coalesce(ingested_at, make_timestamptz(0)) AS ingested_at, "lab file" AS file, "lab row" AS "row"
  FROM lines
), newest AS (
  SELECT *, min(ingested_at) OVER (PARTITION BY topic, "partition", "offset", "timestamp") AS first_at
  FROM numbered
  QUALIFY row_number() OVER (
    PARTITION BY topic, "partition", "offset", "timestamp" ORDER BY attempt DESC, ingested_at DESC, file, "row") = 1
), spans AS (
  SELECT *, lead(first_at) OVER (PARTITION BY topic, "partition", "offset" ORDER BY first_at, "timestamp") AS next_at FROM newest
), marked AS (
  SELECT s.file, s."row", m.state, m.version, m."at"
  FROM spans AS s JOIN marks AS m ON m.topic = s.topic AND m."partition" = s."partition" AND m."offset" = s."offset"
  WHERE m."at" >= s.first_at AND (s.next_at IS NULL OR m."at" < s.next_at)
  QUALIFY row_number() OVER (PARTITION BY s.file, s."row" ORDER BY m.state = 'replayed' DESC, m."at" DESC) = 1
)
SELECT s.*, coalesce(m.state, 'open') AS state, m.version, m."at"
FROM spans AS s LEFT JOIN marked AS m ON m.file = s.file AND m."row" = s."row"`;

/** Opens one; the caller closes it. */
export async function openDesk(tables: LetterTables, options: DeskOptions): Promise<Desk> {
  await mkdir(options.scratchDir, { recursive: true });
  const folder = await mkdtemp(join(options.scratchDir, "lab-letters-"));
  const engine = await openEngine({
    memoryLimitBytes: options.memoryLimitBytes ?? MEMORY_BYTES,
    threads: options.threads ?? 2,
    tempDir: join(folder, "spill"),
  });
  const scanned = new Map<string, DataFiles>();
  let cache: FileCache | undefined;

  async function view(
    name: string,
    { table, snapshot }: Opened,
    adds: readonly Add[],
    signal: AbortSignal,
  ): Promise<void> {
    await scanned.get(name)?.close();
    scanned.delete(name);
    if (table.store.localPath === undefined)
      cache ??= await openFileCache({ folder: join(folder, "cache"), maxBytes: CACHE_BYTES });
    const data = await locateFiles(table.store, adds, cache, signal);
    scanned.set(name, data);
    await createRelation(engine, { name, table: snapshot, data, withPlaces: true, signal });
  }

  /** A view without rows, where there is no table. */
  async function empty(name: string, schema: typeof letterSchema, signal: AbortSignal): Promise<void> {
    const table = {
      schema,
      partitionColumns: [],
      metadata: {
        id: "",
        format: { provider: "parquet", options: {} },
        schemaString: "",
        partitionColumns: [],
        configuration: {},
      },
      protocol: { minReaderVersion: 1, minWriterVersion: 2 },
    };
    const data = { files: [], explain: async (error: unknown) => error, close: async () => {} };
    await createRelation(engine, { name, table, data, withPlaces: true, signal });
  }

  async function stored(
    table: Table,
    rows: string,
    { snapshot }: Opened,
    signal: AbortSignal,
  ): Promise<Add[]> {
    const { schema, metadata } = snapshot;
    const { configuration } = metadata;
    const write = {
      engine,
      rows,
      keys: rows,
      schema,
      partitionColumns: [],
      configuration,
      stagingDir: folder,
      signal,
    };
    const adds: Add[] = [];
    for (const { file, size, stats, rows: count } of await writeRowFiles(write)) {
      const path = dataFilePath([], {});
      if (count > 0) {
        await table.store.put(path, { file }, signal);
        adds.push({ path, partitionValues: {}, size, modificationTime: Date.now(), dataChange: true, stats });
      }
      await rm(file, { force: true });
    }
    return adds;
  }

  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      let explained = error;
      for (const data of scanned.values()) explained = await data.explain(explained);
      throw explained;
    }
  }

  return {
    view,
    run: (sql, asked) => guarded(() => engine.run(sql, asked)),
    rows: (sql, asked) => guarded(() => engine.rows(sql, asked)),
    async *stream(sql, signal) {
      const { chunks } = await guarded(() => stream(engine, sql, signal));
      for await (const chunk of chunks) yield* chunk;
    },
    async look(signal) {
      const looked = await tables.look(signal);
      const { letters, state } = looked;
      await (letters
        ? view("lines", letters, [...letters.snapshot.files()], signal)
        : empty("lines", letterSchema, signal));
      await (state
        ? view("marks", state, [...state.snapshot.files()], signal)
        : empty("marks", stateSchema, signal));
      await guarded(() => engine.run(RECORDS, { signal }));
      return looked;
    },
    async numbers(name, places, signal) {
      await engine.run(`CREATE OR REPLACE TEMP TABLE ${name} (place INTEGER)`, { signal });
      for (let start = 0; start < places.length; start += NUMBERS_AT_ONCE) {
        const some = places.slice(start, start + NUMBERS_AT_ONCE).join(", ");
        await engine.run(`INSERT INTO ${name} SELECT unnest([${some}])`, { signal });
      }
    },
    async append(to, rows, operation, signal) {
      const { table } = to;
      const adds = await stored(table, rows, to, signal);
      if (adds.length === 0) return;
      let reason = "";
      for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts++) {
        const result = await table.commit(
          { readSnapshot: await table.latest(signal), operation, adds },
          signal,
        );
        if (result.kind === "committed") return;
        reason = result.message;
      }
      throw new LabError("COMMIT_CONFLICT", `${table.store.root} could not be appended to: ${reason}`, {
        hint: "try again when the other writer has finished",
      });
    },
    async close() {
      engine.close();
      for (const data of scanned.values()) await data.close();
      await cache?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
