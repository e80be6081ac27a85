/** A DuckDB of our own in memory: its limits, what it may touch, and a way to ask it. The only place that opens one. */

import { type DuckDBConnection, DuckDBInstance, type DuckDBValue, type JS } from "@duckdb/node-api";

export type EngineSettings = {
  memoryLimitBytes: number;
  threads: number;
  /** Where larger-than-memory work may spill; null: nothing is spilled, what does not fit fails. */
  tempDir: string | null;
  /** Rows keep the order of their source; costs memory. Default false. */
  preserveOrder?: boolean;
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
  close(): void;
};

/**
 * Opens an in-memory DuckDB with UTC as its time zone. It never fetches or loads extensions. Where `allowedDirectories` or
 * `allowedPaths` is given, everything else outside is refused, and no statement can change that.
 */
export async function openEngine(settings: EngineSettings): Promise<Engine> {
  const instance = await DuckDBInstance.create(":memory:", {
    memory_limit: `${Math.floor(settings.memoryLimitBytes)}B`,
    threads: String(settings.threads),
    temp_directory: settings.tempDir ?? "",
    preserve_insertion_order: String(settings.preserveOrder ?? false),
    autoload_known_extensions: "false",
    autoinstall_known_extensions: "false",
    allow_community_extensions: "false",
  });
  const connection = await instance.connect();
  const engine = wrap(instance, connection);
  try {
    await engine.run("SET TimeZone = 'UTC'");
    if (settings.errorsAsJson) await engine.run("SET errors_as_json = true");
    if (settings.allowedDirectories !== undefined || settings.allowedPaths !== undefined) {
      const folders = (settings.allowedDirectories ?? []).map((folder) => `${folder.replace(/\/+$/, "")}/`);
      await engine.run(`SET allowed_directories = ${textList(folders)}`);
      await engine.run(`SET allowed_paths = ${textList(settings.allowedPaths ?? [])}`);
      await engine.run("SET enable_external_access = false; SET lock_configuration = true");
    }
    return engine;
  } catch (error) {
    engine.close();
    throw error;
  }
}

function wrap(instance: DuckDBInstance, connection: DuckDBConnection): Engine {
  async function interruptible<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const interrupt = () => connection.interrupt();
    signal?.addEventListener("abort", interrupt, { once: true });
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", interrupt);
    }
  }
  return {
    connection,
    run: (sql, { params, signal } = {}) =>
      interruptible(signal, async () => {
        await connection.run(sql, params);
      }),
    rows: (sql, { params, signal } = {}) =>
      interruptible(signal, async () => (await connection.runAndReadAll(sql, params)).getRowObjectsJS()),
    close() {
      connection.closeSync();
      instance.closeSync();
    },
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

/** A constant of type VARCHAR[]. */
export function textList(texts: readonly string[]): string {
  return `[${texts.map(quoteText).join(", ")}]::VARCHAR[]`;
}
