/** A DuckDB of our own in memory: its limits, what it may touch, and a way to ask it. The only place that opens one. */

import type { DuckDBConnection, DuckDBPreparedStatement, DuckDBValue, JS } from "@duckdb/node-api";
import { interruptible } from "./interruptible.ts";

export type EngineSettings = {
  memoryLimitBytes: number;
  threads: number;
  /** Where larger-than-memory work may spill; null: nothing is spilled, what does not fit fails. */
  tempDir: string | null;
  /** Rows keep the order of their source; costs memory. Default false. */
  preserveOrder?: boolean;
  /** Bytes of files that were read stay in memory, as far as the limit lets them. Default true. */
  keepsFiles?: boolean;
  /**
   * Footers of Parquet files that were read stay in memory, as far as the limit lets them; each is looked at again where its file was changed.
   * Default false.
   */
  keepsFooters?: boolean;
  /** Folders it may read and write, spill folder included or not; absent: the whole file system. */
  allowedDirectories?: readonly string[];
  /** Files it may read. DuckDB also lets them be written: gate the statements too. */
  allowedPaths?: readonly string[];
  /** The text of an error is a JSON object with the byte position in the statement. Default false. */
  errorsAsJson?: boolean;
};

/** Positional or named parameters of a statement. */
export type SqlParams = DuckDBValue[] | Record<string, DuckDBValue>;

export type Row = Record<string, JS>;

export type Engine = {
  /** For readers inside engine/ that need exact types; nobody else sees it. */
  readonly connection: DuckDBConnection;
  /** Runs one or more statements and drops what they return. */
  run(sql: string, options?: { params?: SqlParams; signal?: AbortSignal }): Promise<void>;
  /**
   * The rows of one statement as plain values: BIGINT as bigint, BLOB as Uint8Array, TIMESTAMP as Date (so cut to ms),
   * DECIMAL as number. For small results; cast in SQL where exactness beyond that matters.
   */
  rows(sql: string, options?: { params?: SqlParams; signal?: AbortSignal }): Promise<Row[]>;
  /**
   * The one text that a statement with one parameter gives for `text`. It stays prepared for the next time: binding costs more than most such
   * statements do. Fails for NULL.
   */
  ask(sql: string, text: string, options?: { signal?: AbortSignal }): Promise<string>;
  /**
   * What stands in a statement for a constant expression: the expression itself, and where it is asked for again a variable that has its value,
   * as a long one takes longer to bind than a small statement takes in all. It holds for statements of this engine.
   */
  constant(sql: string, options?: { signal?: AbortSignal }): Promise<string>;
  close(): void;
  /**
   * Closes it for the caller, who promises that nothing was made or set in it and that its results were read or dropped: where engines are
   * kept, somebody else may go on with it.
   */
  release(): void;
};

/** One DuckDB that several may use at a time, each through an engine of its own. */
export type Instance = {
  /**
   * An engine whose temporary views and tables, variables and settings nobody else sees, and which go with it, tables once its results
   * are let go. Memory and threads are shared by all. Fails where an error of the past has left the instance unusable.
   */
  session(): Promise<Engine>;
  /** Engines that are still open stay so, and the memory is freed with the last of them. */
  close(): void;
};

/**
 * Opens an in-memory DuckDB with UTC as its time zone. It never fetches or loads extensions. Where `allowedDirectories` or
 * `allowedPaths` is given, everything else outside is refused, and no statement can change that.
 */
export async function openInstance(settings: EngineSettings): Promise<Instance> {
  // Loaded with the first one: it takes longer than most of what a process does without it.
  const { DuckDBInstance } = await import("./duckdb.ts");
  const instance = await DuckDBInstance.create(":memory:", {
    memory_limit: `${Math.floor(settings.memoryLimitBytes)}B`,
    threads: String(settings.threads),
    temp_directory: settings.tempDir ?? "",
    preserve_insertion_order: String(settings.preserveOrder ?? false),
    errors_as_json: String(settings.errorsAsJson ?? false),
    enable_external_file_cache: String(settings.keepsFiles ?? true),
    autoload_known_extensions: "false",
    autoinstall_known_extensions: "false",
    allow_community_extensions: "false",
  });
  const session = async () => {
    const engine = wrap(await instance.connect());
    try {
      await engine.run("SELECT 1");
      return engine;
    } catch (error) {
      engine.close();
      throw error;
    }
  };
  try {
    await setUp(await session(), settings);
    return { session, close: () => instance.closeSync() };
  } catch (error) {
    instance.closeSync();
    throw error;
  }
}

async function setUp(engine: Engine, settings: EngineSettings): Promise<void> {
  const { allowedDirectories, allowedPaths, keepsFooters = false } = settings;
  try {
    const footers = `SET GLOBAL parquet_metadata_cache = ${keepsFooters}`;
    await engine.run(`SET GLOBAL TimeZone = 'UTC'; ${footers}`);
    if (allowedDirectories === undefined && allowedPaths === undefined) return;
    const folders = (allowedDirectories ?? []).map((folder) => `${folder.replace(/\/+$/, "")}/`);
    await engine.run(`SET allowed_directories = ${textList(folders)}`);
    await engine.run(`SET allowed_paths = ${textList(allowedPaths ?? [])}`);
    await engine.run("SET enable_external_access = false; SET lock_configuration = true");
  } finally {
    engine.close();
  }
}

/** An engine with an instance of its own. */
export async function openEngine(settings: EngineSettings): Promise<Engine> {
  const instance = await openInstance(settings);
  try {
    return await instance.session();
  } finally {
    instance.close();
  }
}

/** Constants that an engine knows at a time; the names of their variables are the engine's own. */
const MOST_CONSTANTS = 64;

function wrap(connection: DuckDBConnection): Engine {
  const constants = new Map<string, { number: number; isVariable: boolean }>();
  const prepared = new Map<string, Promise<DuckDBPreparedStatement>>();
  const prepare = (sql: string): Promise<DuckDBPreparedStatement> => {
    const known = prepared.get(sql) ?? connection.prepare(sql);
    prepared.set(sql, known);
    known.catch(() => prepared.delete(sql));
    return known;
  };
  return {
    connection,
    ask: (sql, text, { signal } = {}) =>
      interruptible(connection, signal, async () => {
        const statement = await prepare(sql);
        statement.bindVarchar(1, text);
        const value = (await statement.run()).getChunk(0).getColumnVector(0).getItem(0);
        if (typeof value !== "string") throw new Error(`${sql} gives no text`);
        return value;
      }),
    async constant(sql, { signal } = {}) {
      const known = constants.get(sql);
      if (known === undefined) {
        if (constants.size < MOST_CONSTANTS)
          constants.set(sql, { number: constants.size, isVariable: false });
        return sql;
      }
      const name = `lab_constant_${known.number}`;
      if (!known.isVariable)
        await interruptible(connection, signal, () => connection.run(`SET VARIABLE ${name} = ${sql}`));
      known.isVariable = true;
      return `getvariable('${name}')`;
    },
    run: (sql, { params, signal } = {}) =>
      interruptible(connection, signal, async () => {
        await connection.run(sql, params);
      }),
    rows: (sql, { params, signal } = {}) =>
      interruptible(connection, signal, async () =>
        (await connection.runAndReadAll(sql, params)).getRowObjectsJS(),
      ),
    close: () => connection.closeSync(),
    release: () => connection.closeSync(),
  };
}

/** A name as DuckDB reads it back, whatever characters it holds. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text constant. */
export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** A constant of type VARCHAR[]; only an empty one must be told its type. */
export function textList(texts: readonly string[]): string {
  return texts.length === 0 ? "[]::VARCHAR[]" : `[${texts.map(quoteText).join(", ")}]`;
}
