/** The commit of a replay: its files into their stores, then one version that holds or promises all of its rows. */

import type { Add } from "../delta/actions.ts";
import { dataFilePath } from "../delta/partition-path.ts";
import { decodePath, encodePath } from "../delta/path.ts";
import { serializeSchema } from "../delta/schema.ts";
import { requireStanding } from "../delta/standing.ts";
import type { Store } from "../delta/store/store.ts";
import type { CommitRequest } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import { requirePromised } from "../delta/writer-duties.ts";
import { ENFORCED } from "../engine/constraints.ts";
import type { EncodedFile } from "../engine/encoder.ts";
import { grownMetadata, routesOfFiles } from "../ingest/publish-routed.ts";
import { type Route, routesOf, withRoutes } from "../ingest/routed-tables.ts";
import { type EncodedAll, removeStaged } from "./encode.ts";
import { nextReplay, type Promised, promiseInfo, REPLAY_OPERATION, replayTxn } from "./promise.ts";
import type { LetterTables, Opened } from "./tables.ts";

export type CommittedRows =
  /** The table as the commit left it, and what the routed tables are to get. */
  { kind: "committed"; version: number; rows: Opened; promised: Promised } | { kind: "lost"; reason: string };

/**
 * Null where there are no rows to commit. Staged files are gone afterwards; so are stored ones of a lost commit. UNSUPPORTED_FEATURE or
 * SCHEMA_MISMATCH, with nothing written, where a routed table cannot take the rows.
 */
export async function commitRows(
  tables: LetterTables,
  { table, snapshot }: Opened,
  { files, written, schema }: EncodedAll,
  app: string,
  signal: AbortSignal,
): Promise<CommittedRows | null> {
  if (files.length === 0) return null;
  const routes = routesOfFiles(files);
  const stored: { store: Store; add: Add; route: Route | undefined }[] = [];
  const discard = async () => {
    const whileStopping = signal.aborted ? new AbortController().signal : signal;
    await Promise.allSettled(
      stored.map(({ store, add }) => store.delete(decodePath(add.path), whileStopping)),
    );
  };
  try {
    await requireRoutable(tables, { table, snapshot }, { routes, schema }, signal);
    for (const file of files) {
      const store = file.route === undefined ? table.store : await tables.routed.store(file.route);
      const path = dataFilePath(snapshot.partitionColumns, file.partitionValues);
      stored.push({ store, add: addOf(file, path), route: file.route });
      await store.put(path, { file: file.file }, signal);
    }
    await requireStanding(table, snapshot, signal);
  } catch (error) {
    await discard();
    throw error;
  } finally {
    await removeStaged(files);
  }
  const addsOf = (asked: Route | undefined) =>
    stored.filter(({ route }) => route === asked).map(({ add }) => add);
  const promised = routes.map((route) => ({ route, adds: addsOf(route) }));
  const adds = addsOf(undefined);
  const sum = (pick: (file: EncodedFile) => number) =>
    String(files.reduce((total, file) => (file.route === undefined ? total + pick(file) : total), 0));
  const known = routesOf(snapshot);
  const named = routes.every((route) => known.includes(route))
    ? snapshot.metadata
    : withRoutes(snapshot.metadata, routes);
  const metadata = schema === snapshot.schema ? named : { ...named, schemaString: serializeSchema(schema) };
  // Rows of these records come from replays alone, and each of them raises the transaction: what was read stands as long as that does.
  const request: CommitRequest = {
    readSnapshot: snapshot,
    operation: REPLAY_OPERATION,
    operationMetrics: {
      numOutputRows: sum((file) => file.rows),
      numReplayedLetters: String(written.length),
      numAddedFiles: String(adds.length),
      numOutputBytes: sum((file) => file.size),
    },
    adds,
    enforced: ENFORCED,
    txns: [{ appId: replayTxn(app), version: nextReplay({ table, snapshot }, app) }],
    ...(metadata === snapshot.metadata ? {} : { metadata }),
    info: promiseInfo(promised),
  };
  const result = await table.commit(request, signal);
  if (result.kind === "committed")
    return {
      ...{ kind: "committed", version: result.version, promised },
      rows: { table, snapshot: result.snapshot },
    };
  await discard();
  return { kind: "lost", reason: `version ${result.version}: ${result.message}` };
}

function addOf({ partitionValues, size, stats }: EncodedFile, path: string): Add {
  const modificationTime = Date.now();
  return { path: encodePath(path), partitionValues, size, modificationTime, dataChange: true, stats };
}

/** What is promised has to be kept: the tables that there are can take rows of `schema`. */
async function requireRoutable(
  { routed }: LetterTables,
  rows: Opened,
  { routes, schema }: { routes: readonly Route[]; schema: StructType },
  signal: AbortSignal,
): Promise<void> {
  for (const route of (await routed.refresh(routes, signal)).keys()) {
    const opened = await routed.open(route, rows.snapshot, schema, signal);
    const { protocol, metadata } = opened.snapshot;
    requirePromised(protocol, grownMetadata(opened, schema) ?? metadata, ENFORCED);
  }
}
