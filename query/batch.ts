/** Many requests in one process: a JSON object a line in, one a line out, in order (`lab batch`). */

import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { asLabError, isLabError, LabError } from "../core/errors.ts";
import { loadState } from "../delta/load.ts";
import { openTable } from "../delta/open.ts";
import { snapshotOf } from "../delta/snapshot.ts";
import { openStore } from "../delta/store/open.ts";
import type { Store } from "../delta/store/store.ts";
import type { Snapshot } from "../delta/table.ts";
import { stream } from "../engine/result.ts";
import { canonicalRow } from "./canonical.ts";
import { readChanges } from "./changes.ts";
import { readHistory, type VersionEntry } from "./history.ts";
import { momentOf } from "./moment.ts";
import type { Query } from "./query.ts";
import { openRelations } from "./relations.ts";
import type { AskedPoint } from "./resolve.ts";
import { asSqlError } from "./sql-error.ts";

type Request = Record<string, unknown> & { op: string };

/**
 * Answers each line of `input` until it ends: `{"ok":true, ...}` or `{"ok":false, code, message, hint}`. `table` is a path or URI, or a
 * name of the catalog.
 *
 * rows {table, version?} -> {rows: canonical rows}; query {sql, version?|at?} -> {columns, rows, version};
 * snapshot {table, version?} -> {version, protocol, schema, partitionColumns, numFiles, sizeBytes, txn};
 * history {table, after?, limit?} -> {history}; changes {table, from, to} -> {rows: canonical rows with _change_type, _commit_version
 * and _commit_timestamp at their end, of both versions and those between}.
 */
export async function runBatch(
  query: Query,
  input: Readable,
  write: (line: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() === "") continue;
    let answer: Record<string, unknown>;
    try {
      answer = { ok: true, ...(await perform(query, parse(line), signal)) };
    } catch (error) {
      signal.throwIfAborted();
      answer = { ok: false, ...asLabError(error).toJSON() };
    }
    await write(`${JSON.stringify(answer)}\n`);
  }
}

function parse(line: string): Request {
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch (cause) {
    throw new LabError("USAGE", `the request is not JSON: ${(cause as Error).message}`, { cause });
  }
  if (typeof (request as Request | null)?.op === "string") return request as Request;
  throw new LabError("USAGE", "the request has no op", {
    hint: '{"op":"rows","table":"./orders","version":3}',
  });
}

async function perform(
  query: Query,
  request: Request,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  switch (request.op) {
    case "rows":
      return withSnapshot(query, request, signal, async (store, snapshot) => ({
        rows: await canonicalRows(query, store, snapshot, signal),
      }));
    case "snapshot":
      return withSnapshot(query, request, signal, async (_, snapshot) => describe(snapshot));
    case "query": {
      const { columns, rows, version } = await query.query(text(request, "sql"), {
        point: pointOf(request),
        signal,
      });
      return { columns, rows, version };
    }
    case "history":
      return withStore(query, request, signal, async (store) => ({
        history: await history(store, request, signal),
      }));
    case "changes":
      return withStore(query, request, signal, (store) => changes(query, store, request, signal));
    default:
      throw new LabError("USAGE", `there is no op ${request.op}`, {
        hint: "rows, query, snapshot, history, changes",
      });
  }
}

async function canonicalRows(
  query: Query,
  store: Store,
  snapshot: Snapshot,
  signal: AbortSignal,
): Promise<string[]> {
  const source = { view: "t", table: snapshot, store, adds: snapshot.files() };
  try {
    const relations = await openRelations(query.context, [source], { signal });
    try {
      const result = await stream(relations.engine, "FROM t", signal);
      const canonical = canonicalRow(result.columns.map((column) => column.type));
      const rows: string[] = [];
      for await (const chunk of result.chunks) for (const row of chunk) rows.push(canonical(row));
      return rows;
    } catch (error) {
      throw await relations.explain(error);
    } finally {
      await relations.close();
    }
  } catch (error) {
    throw unreadable(store, error, signal);
  }
}

function describe(snapshot: Snapshot): Record<string, unknown> {
  const txns = [...snapshot.txns().values()].map(({ appId, version }) => [appId, version.toString()]);
  return {
    version: snapshot.version,
    protocol: snapshot.protocol,
    schema: JSON.parse(snapshot.metadata.schemaString),
    partitionColumns: snapshot.partitionColumns,
    numFiles: snapshot.numFiles,
    sizeBytes: String(snapshot.sizeBytes),
    txn: Object.fromEntries(txns),
  };
}

async function history(store: Store, request: Request, signal: AbortSignal): Promise<VersionEntry[]> {
  const after = optionalNumber(request, "after");
  const limit = optionalNumber(request, "limit");
  const range = {
    ...(after === undefined ? {} : { after }),
    ...(limit === undefined ? {} : { limit }),
    signal,
  };
  const entries: VersionEntry[] = [];
  for await (const entry of readHistory(await openTable(store, signal), range)) entries.push(entry);
  return entries;
}

async function changes(
  query: Query,
  store: Store,
  request: Request,
  signal: AbortSignal,
): Promise<{ rows: string[] }> {
  const table = await openTable(store, signal);
  const range = { from: number(request, "from"), to: number(request, "to"), signal };
  const found: string[] = [];
  try {
    for await (const { columns, rows } of readChanges(query.context, table, range)) {
      const canonical = canonicalRow(columns.map((column) => column.type));
      for (const row of rows) found.push(canonical(row));
    }
  } catch (error) {
    throw unreadable(store, error, signal);
  }
  return { rows: found };
}

/** The statements are ours: what the engine complains of is what it was given to read. */
function unreadable(store: Store, error: unknown, signal: AbortSignal): unknown {
  signal.throwIfAborted();
  const found = asSqlError(error, "", () => undefined);
  if (!isLabError(found, "SQL_ERROR")) return found;
  return new LabError("CORRUPT_LOG", `the rows of ${store.root} cannot be read: ${found.message}`, {
    hint: "a data file is damaged or does not fit the schema: lab verify says which",
    details: { table: store.root },
    cause: error,
  });
}

/**
 * The snapshot is loaded by itself: an old version may be readable where the newest needs a feature that is not. A request opens its
 * table afresh, because scripts and tests change tables between two lines.
 */
function withSnapshot<T>(
  query: Query,
  request: Request,
  signal: AbortSignal,
  work: (store: Store, snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const version = optionalNumber(request, "version");
  return withStore(query, request, signal, async (store) =>
    work(store, snapshotOf((await loadState(store, version, signal)).state)),
  );
}

async function withStore<T>(
  query: Query,
  request: Request,
  signal: AbortSignal,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const table = text(request, "table");
  const store = await openStore(table.includes("/") ? table : query.catalog.uriOf(table), { signal });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

function pointOf(request: Request): AskedPoint | undefined {
  const version = optionalNumber(request, "version");
  if (version !== undefined) return { version };
  return request.at === undefined ? undefined : { timestampMs: momentOf(text(request, "at")) };
}

function text(request: Request, key: string): string {
  const value = request[key];
  if (typeof value === "string" && value !== "") return value;
  throw new LabError("USAGE", `${request.op} needs ${key}, a text`);
}

function number(request: Request, key: string): number {
  const value = optionalNumber(request, key);
  if (value !== undefined) return value;
  throw new LabError("USAGE", `${request.op} needs ${key}, a version`);
}

function optionalNumber(request: Request, key: string): number | undefined {
  const value = request[key];
  if (value === undefined || value === null) return undefined;
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new LabError("USAGE", `${key} is ${JSON.stringify(value)}, not a whole number`);
}
