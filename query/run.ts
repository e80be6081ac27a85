/** Runs a query over tables of a store: parsed, its tables found, their versions made views, its rows handed on as they come. */

import type { Add } from "../delta/actions.ts";
import type { Snapshot } from "../delta/table.ts";
import type { Engine } from "../engine/instance.ts";
import { matchingFiles } from "../engine/prune.ts";
import type { Predicate } from "../engine/prune-predicate.ts";
import { type Column, stream, type Value } from "../engine/result.ts";
import type { Catalog } from "./catalog.ts";
import { type Cell, toCell } from "./cells.ts";
import { filtersOf } from "./filters.ts";
import type { KnownForms } from "./known-forms.ts";
import { namesIn } from "./named-columns.ts";
import { openRelations, type Reading, type StatementStart, type Trust } from "./relations.ts";
import { type AskedPoint, resolve } from "./resolve.ts";
import { asSqlError, isReadError, isStatementError } from "./sql-error.ts";
import { parseStatement } from "./statement.ts";

export type QueryContext = Reading & { catalog: Catalog; forms: KnownForms };

/** A running query: read `chunks` to their end, or not, then close. */
export type RunningQuery = {
  columns: readonly Column[];
  chunks: AsyncIterable<Value[][]>;
  /** The versions that are read, in the order in which the statement names them. */
  tables: readonly { name: string; version: number }[];
  files: FilesRead;
  close(): Promise<void>;
};

/** Data files that a query reads, of those in the versions it names; the others cannot hold a row that it uses. */
export type FilesRead = { read: number; total: number };

export type QueryAnswer = {
  columns: { name: string; type: string }[];
  rows: Cell[][];
  truncated: boolean;
  /** Version of the one table that was read; null for none or several. */
  version: number | null;
  elapsedMs: number;
  files: FilesRead;
};

export type StartOptions = {
  point?: AskedPoint | undefined;
  /** From the network: nothing but tables of the catalog can be read, nothing can be changed. Default false. */
  untrusted?: boolean;
  /** Reads all files instead of those that may matter, for comparison. Default false. */
  readAll?: boolean;
  /** Told once parsing and fetching are over and the engine begins. */
  onRun?: () => void;
  signal: AbortSignal;
};

/**
 * Starts one SELECT. SQL_ERROR and SQL_REFUSED (with `details.position` in characters), TABLE_NOT_FOUND, VERSION_NOT_FOUND,
 * TIMESTAMP_NOT_FOUND, DATA_FILE_MISSING, UNSUPPORTED_FEATURE, QUERY_LIMIT.
 */
export async function startQuery(
  context: QueryContext,
  sql: string,
  options: StartOptions,
): Promise<RunningQuery> {
  const { signal, untrusted = false } = options;
  const { relations, sources, runnable, isOneRow, ...how } = await prepare(context, sql, options);
  const files = {
    read: sources.reduce((sum, { adds }) => sum + adds.length, 0),
    total: relations.reduce((sum, { snapshot }) => sum + snapshot.numFiles, 0),
  };
  const opened = await openRelations(context, sources, { ...how, signal });
  let { sql: before, lists } = opened.text ?? NO_START;
  const start = async () => {
    const run = () =>
      stream(opened.engine, before + runnable.sql, signal, {
        ...{ selectOnly: untrusted, isSmall: isOneRow, lists },
      });
    if (before === "") return run();
    try {
      return await run();
    } catch (error) {
      if (!isStatementError(error)) throw error;
      // Of views the engine knows all columns, for the names that it suggests.
      ({ sql: before, lists } = NO_START);
      await opened.makeViews();
      return run();
    }
  };
  const explain = async (error: unknown) => {
    signal.throwIfAborted();
    if (isReadError(error)) {
      const missing = await opened.explain(error);
      if (missing !== error) return missing;
    }
    return asSqlError(error, sql, ({ position }) => {
      const own = (position ?? -1) - Buffer.byteLength(before);
      return own < 0 ? undefined : runnable.place(own);
    });
  };
  try {
    options.onRun?.();
    const result = await start();
    const tables = relations.map(({ named, snapshot }) => ({
      name: named.name,
      version: snapshot.version,
    }));
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    return {
      ...{ columns: result.columns, chunks: explained(result.chunks, explain, done), tables, files },
      close: () => opened.close({ isDone }),
    };
  } catch (error) {
    const cause = await explain(error);
    await opened.close();
    throw cause;
  }
}

/** What can be known of a statement before a file is touched. An `engine` is open, for who runs it. */
async function prepare(context: QueryContext, sql: string, options: StartOptions) {
  const { signal, untrusted = false, readAll = false } = options;
  const parser = await context.engines.open({ kind: untrusted ? "parse" : "read" });
  let [engine, isDone]: [Engine | undefined, boolean] = [undefined, false];
  try {
    const forms = untrusted ? undefined : context.forms;
    const statement = await parseStatement(parser, sql, { untrusted, forms, signal });
    const { tree, traits } = statement;
    const trust: Trust = untrusted ? "strangers" : traits.leavesTraces ? "any" : "readers";
    const resolved = await resolve(statement, { ...options, untrusted, catalog: context.catalog });
    const { relations } = resolved;
    const filters = readAll
      ? new Map<string, Predicate>()
      : await filtersOf(parser, statement, resolved, signal);
    const isOneRow = !untrusted && traits.isOneRow;
    const form = isOneRow ? ("at once" as const) : ("prepared" as const);
    const asText = traits.mayFollowWith ? form : undefined;
    const names = asText ? namesIn(tree) : undefined;
    const sources = relations.map(({ view, named, snapshot }) => ({
      ...{ view, table: snapshot, names, store: named.table.store },
      adds: filesOf(snapshot, filters.get(view)),
    }));
    const runnable = await statement.over(resolved.views);
    if (trust === "readers") engine = parser;
    isDone = true;
    return { relations, sources, runnable, trust, asText, isOneRow, engine };
  } finally {
    if (engine === undefined) {
      if (isDone) parser.release();
      else {
        context.engines.doubt();
        parser.close();
      }
    }
  }
}

const NO_START: StatementStart = { sql: "", lists: {} };

function filesOf(snapshot: Snapshot, filter: Predicate | undefined): Add[] {
  return [...(filter === undefined ? snapshot.files() : matchingFiles(snapshot, filter))];
}

async function* explained(
  chunks: AsyncIterable<Value[][]>,
  explain: (error: unknown) => Promise<unknown>,
  done: () => void,
): AsyncIterable<Value[][]> {
  try {
    yield* chunks;
    done();
  } catch (error) {
    throw await explain(error);
  }
}

/** Runs a query and gathers up to `maxRows` rows, or `maxBytes` of their JSON, as JSON cells. Errors as `startQuery`. */
export async function answer(
  context: QueryContext,
  sql: string,
  options: StartOptions & { maxRows: number; maxBytes: number },
): Promise<QueryAnswer> {
  const startedMs = performance.now();
  const running = await startQuery(context, sql, options);
  try {
    const cells = running.columns.map((column) => toCell(column.type));
    const rows: Cell[][] = [];
    let bytes = 0;
    let truncated = false;
    gather: for await (const chunk of running.chunks) {
      for (const row of chunk) {
        const written = row.map((value, index) => cells[index]!(value));
        bytes += JSON.stringify(written).length;
        truncated = rows.length === options.maxRows || bytes > options.maxBytes;
        if (truncated) break gather;
        rows.push(written);
      }
    }
    return {
      columns: running.columns.map(({ name, sql: type }) => ({ name, type })),
      rows,
      truncated,
      version: running.tables.length === 1 ? running.tables[0]!.version : null,
      elapsedMs: Math.round(performance.now() - startedMs),
      files: running.files,
    };
  } finally {
    await running.close();
  }
}
