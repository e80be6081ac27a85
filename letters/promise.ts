/**
 * Rows that a replay sends to routed tables. The commit of the stream's table names their files: it alone makes rows of all letters of a replay,
 * or of none, as if there were one table. The routed tables get the files afterwards, each once: from that replay, or, where it was ended, from
 * whoever replays or drops next. Nothing else is decided before all of them have theirs.
 */

import { isLabError, LabError } from "../core/errors.ts";
import type { Action, Add } from "../delta/actions.ts";
import { sumBytes } from "../delta/file-totals.ts";
import { decodePath } from "../delta/path.ts";
import type { Store } from "../delta/store/store.ts";
import type { Table } from "../delta/table.ts";
import { ENFORCED } from "../engine/constraints.ts";
import { grownMetadata } from "../ingest/publish-routed.ts";
import { ROUTES_PROPERTY, type Route, type RoutedTables, routesOf } from "../ingest/routed-tables.ts";
import type { LetterTables, Opened } from "./tables.ts";

export const REPLAY_OPERATION = "DLQ REPLAY";

/** The transaction that every replay into a table raises. */
export const replayTxn = (app: string): string => `${app}/dlq-replay`;

/** Files for each routed table, which stand in its store. */
export type Promised = readonly { route: Route; adds: readonly Add[] }[];

/** Field of a replay's `commitInfo` with what it promises, as JSON. */
const FIELD = "labReplay";

/** How often a routed table may change under a replay. */
const MOST_ATTEMPTS = 20;

/** What a replay's commit raises its transaction to: no version before this one can hold it. */
export function nextReplay({ snapshot }: Opened, app: string): bigint {
  const last = snapshot.txn(replayTxn(app)) ?? -1n;
  const version = BigInt(snapshot.version);
  return (last > version ? last : version) + 1n;
}

/** `commitInfo` of a commit that promises this. */
export const promiseInfo = (promised: Promised): Record<string, string> =>
  promised.length > 0 ? { [FIELD]: JSON.stringify(promised) } : {};

/**
 * The table and those that its rows are routed to, with the rows of every replay that was committed up to that version of it. `isDryRun`:
 * a replay that was ended is left as it is.
 */
export async function openRowTables(
  tables: LetterTables,
  rows: Opened,
  options: { app: string; isDryRun: boolean },
  signal: AbortSignal,
): Promise<Opened[]> {
  if (!(ROUTES_PROPERTY in rows.snapshot.metadata.configuration)) return [rows];
  const { app, isDryRun } = options;
  const promised = isDryRun ? [] : await readPromise(rows, app, signal);
  const standing = await Promise.all(
    promised.map(async ({ route, adds }) => ({
      route,
      adds: await standingIn(await tables.routed.store(route), adds, signal),
    })),
  );
  // A table that was removed since has nothing to get.
  const kept = standing.filter(({ adds }) => adds.length > 0);
  await keepPromise(tables.routed, rows, { app, promised: kept }, signal);
  return [rows, ...(await tables.routed.refresh(routesOf(rows.snapshot), signal)).values()];
}

/** What the newest replay promised; nothing where the log does not go back that far. */
async function readPromise({ table, snapshot }: Opened, app: string, signal: AbortSignal): Promise<Promised> {
  const id = replayTxn(app);
  const number = snapshot.txn(id);
  if (number === undefined) return [];
  for (let version = Number(number); version <= snapshot.version; version++) {
    const actions = await actionsOf(table, version, signal);
    if (!actions) return [];
    if (!actions.some((one) => "txn" in one && one.txn.appId === id && one.txn.version === number)) continue;
    const info = actions.flatMap((one) => ("commitInfo" in one ? [one.commitInfo[FIELD]] : []))[0];
    return typeof info === "string" ? (JSON.parse(info) as Promised) : [];
  }
  return [];
}

async function actionsOf(table: Table, version: number, signal: AbortSignal): Promise<Action[] | null> {
  try {
    return await table.commitActions(version, signal);
  } catch (error) {
    if (isLabError(error, "VERSION_NOT_FOUND")) return null;
    throw error;
  }
}

/** Files whose table was removed, or that nobody asked for until vacuum took them, are gone. */
async function standingIn(store: Store, adds: readonly Add[], signal: AbortSignal): Promise<Add[]> {
  const standing: Add[] = [];
  for (const add of adds) {
    try {
      await store.getRange(decodePath(add.path), 0, 1, signal);
      standing.push(add);
    } catch (error) {
      if (!isLabError(error, "OBJECT_MISSING")) throw error;
    }
  }
  return standing;
}

/**
 * Commits the files to their tables, but for those that have them already; tables that are missing are made. `rows` is the table as the replay's
 * commit left it, or newer.
 */
export async function keepPromise(
  routed: RoutedTables,
  rows: Opened,
  { app, promised }: { app: string; promised: Promised },
  signal: AbortSignal,
): Promise<void> {
  const number = rows.snapshot.txn(replayTxn(app));
  if (number === undefined) return;
  for (const { route, adds } of promised) await keepOne(routed, rows, { app, number, route, adds }, signal);
}

async function keepOne(
  routed: RoutedTables,
  rows: Opened,
  { app, number, route, adds }: { app: string; number: bigint; route: Route; adds: readonly Add[] },
  signal: AbortSignal,
): Promise<void> {
  // A stream's table that was made anew counts from the beginning.
  const id = `${replayTxn(app)}/${rows.snapshot.metadata.id}/rows`;
  const { table } = await routed.open(route, rows.snapshot, rows.snapshot.schema, signal);
  let reason = "";
  for (let attempts = 1; attempts <= MOST_ATTEMPTS; attempts++) {
    const snapshot = await table.latest(signal);
    if ((snapshot.txn(id) ?? -1n) >= number) return;
    const metadata = grownMetadata({ table, snapshot }, rows.snapshot.schema);
    const result = await table.commit(
      {
        readSnapshot: snapshot,
        operation: REPLAY_OPERATION,
        operationMetrics: { numAddedFiles: String(adds.length), numOutputBytes: String(sumBytes(adds)) },
        adds,
        enforced: ENFORCED,
        txns: [{ appId: id, version: number }],
        ...(metadata ? { metadata } : {}),
      },
      signal,
    );
    if (result.kind === "committed") return;
    reason = result.message;
  }
  throw new LabError("COMMIT_CONFLICT", `${table.store.root} could not be appended to: ${reason}`, {
    hint: "try again when the other writer has finished",
  });
}
