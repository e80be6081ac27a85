/**
 * Sums up what a table's commits say to an audit, in the audit table: commit files are cleaned up in time, and reading one row is
 * faster than reading the commits of a day.
 */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { decodePath } from "../delta/path.ts";
import { serializeSchema } from "../delta/schema.ts";
import { mergeSchemas } from "../delta/schema-merge.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import { countedCommits } from "./commits.ts";
import { windowOf } from "./header.ts";
import { GAP_STAGE, rolledUp, rollUpTxn, SETTLED_STAGE, SUM_COLUMNS } from "./rolled.ts";
import { storeRows } from "./rollup-file.ts";
import { type SettledOf, settledSums } from "./settled.ts";

export type RollUpOptions = {
  /** The table whose log is summed up. */
  table: Table;
  /** The audit table; columns that it lacks are added. */
  audit: Table;
  /** Names the transaction where the table was never rolled up; else the one that is there goes on. */
  app: string;
  /** A folder for a file that is made: one of its own is made in it and removed at the end. */
  scratchDir: string;
  now: () => number;
  signal: AbortSignal;
};

export type RolledUp = {
  /** The last version that is rolled up now; -1 for none. */
  upTo: number;
  /** Rows that were written: each the sum of a topic, an origin's run and a window. */
  rows: number;
  /** Version of the audit table that holds them; null where nothing was written. */
  version: number | null;
  /** Versions that were no longer in the log; what they said is not known. */
  missing: number;
};

/** Others write to the audit table all the time, and another roll-up may run. */
const MOST_TRIES = 10;

/**
 * Adds the sums over all commits since the last roll-up, in one transaction with its new position: killed at any moment, and done
 * again, each commit counts once. COMMIT_CONFLICT where others are faster each time; SCHEMA_MISMATCH, UNSUPPORTED_FEATURE where the audit table cannot
 * hold the rows.
 */
export async function rollUp(options: RollUpOptions): Promise<RolledUp> {
  const { audit, scratchDir, signal } = options;
  await mkdir(scratchDir, { recursive: true });
  const folder = await mkdtemp(join(scratchDir, "lab-rollup-"));
  try {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const done = await tryOnce(options, folder);
      if (done === null) continue;
      if (done.version !== null) await audit.maintain(await audit.latest(signal), signal).catch(() => false);
      return done;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  throw new LabError(
    "COMMIT_CONFLICT",
    `${MOST_TRIES} roll-ups were lost to other writers of the audit table`,
    {
      hint: "try again when fewer write to it",
    },
  );
}

/** Null where another writer was first. */
async function tryOnce(options: RollUpOptions, folder: string): Promise<RolledUp | null> {
  const { table, audit, app, now, signal } = options;
  const readSnapshot = await audit.latest(signal);
  const { version: to, metadata } = await table.latest(signal);
  const before = rolledUp(readSnapshot, metadata.id);
  const from = before?.version ?? -1;
  if (to <= from) return { upTo: from, rows: 0, version: null, missing: 0 };
  const { sums, oldest } = await sumsOf(table, { from, to }, signal);
  const missing = oldest.version - from - 1;
  // A table that nobody audits is not spoken of.
  if (before === undefined && sums.length === 0) return { upTo: from, rows: 0, version: null, missing: 0 };
  const gap = missing > 0 ? [gapRow(oldest.timestampMs, missing, metadata.id)] : [];
  const rows = [...sums.map((sum) => sumRow(sum, metadata.id)), ...gap].map((row) => ({
    ...row,
    sent_at: iso(now()),
  }));
  const schema = mergeSchemas(readSnapshot.schema, SUM_COLUMNS);
  const adds =
    rows.length === 0
      ? []
      : await storeRows(audit.store, readSnapshot, { rows, schema, folder, now, signal });
  // Where it throws nobody knows whether it stands, so its files stay; a vacuum takes them if it does not.
  const result = await audit.commit(
    {
      ...{ readSnapshot, operation: "AUDIT ROLLUP", adds },
      operationParameters: { table: metadata.id, from: String(from + 1), to: String(to) },
      txns: [{ appId: before?.appId ?? rollUpTxn(app, metadata.id), version: BigInt(to) }],
      ...grown(readSnapshot, schema),
    },
    signal,
  );
  if (result.kind === "committed") return { upTo: to, rows: rows.length, version: result.version, missing };
  await discard(audit, adds, signal);
  return null;
}

/** What commits after `from` up to `to` say, and the oldest of them that is still there. */
async function sumsOf(
  table: Table,
  { from, to }: { from: number; to: number },
  signal: AbortSignal,
): Promise<{ sums: readonly SettledOf[]; oldest: { version: number; timestampMs: number } }> {
  const sums = settledSums();
  let oldest = { version: to + 1, timestampMs: 0 };
  for await (const one of countedCommits(table, { after: from, upTo: to }, signal)) {
    sums.addCommit(one.commitInfo, one.sign);
    if (one.version > from) oldest = one;
  }
  return { sums: sums.all, oldest };
}

const iso = (ms: number) => new Date(ms).toISOString();

function sumRow(sum: SettledOf, tableId: string) {
  const { topic, origin, epoch, windowMs, received, letters, checksum, last } = sum;
  const start = iso(windowMs);
  return {
    ...{ day: start.slice(0, 10), topic, stage: SETTLED_STAGE, origin, epoch, window_start: start },
    ...{ count: received, checksum, letters, last_sequence: last, table_id: tableId },
  };
}

/** Windows that began before the oldest commit that was left may lack what older ones said. */
function gapRow(timestampMs: number, missing: number, tableId: string) {
  const start = iso(windowOf(timestampMs));
  return {
    ...{ day: start.slice(0, 10), topic: "", stage: GAP_STAGE, origin: "", epoch: 0, window_start: start },
    ...{ count: missing, checksum: 0, letters: 0, last_sequence: -1, table_id: tableId },
  };
}

function grown(snapshot: Snapshot, schema: Snapshot["schema"]) {
  if (schema === snapshot.schema) return {};
  return { metadata: { ...snapshot.metadata, schemaString: serializeSchema(schema) } };
}

/** Files of a commit that was not made, best effort: no version names them. */
async function discard(audit: Table, adds: readonly Add[], signal: AbortSignal): Promise<void> {
  const whileStopping = signal.aborted ? new AbortController().signal : signal;
  for (const { path } of adds)
    await audit.store.delete(decodePath(path), whileStopping).catch(() => undefined);
}
