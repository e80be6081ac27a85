/** The commits of a table that count in an audit: what a restore took the Kafka positions back over is read again, and counts once. */

import type { CommitInfo } from "../delta/actions.ts";
import type { HistoryEntry, Table } from "../delta/table.ts";

export type Counted = {
  version: number;
  timestampMs: number;
  commitInfo: CommitInfo | undefined;
  /** -1: it was counted before `after`, and is taken back. */
  sign: 1 | -1;
};

export type CommitRange = {
  /** Exclusive. */
  after: number;
  /** Inclusive. */
  upTo: number;
};

/**
 * Commits of a range that are still in the log, newest first; then those before it that restores in it took back. Restores whose positions
 * stayed take nothing back: the rows are gone on purpose, and their messages were settled.
 */
export async function* countedCommits(
  table: Pick<Table, "history" | "commitActions">,
  { after, upTo }: CommitRange,
  signal: AbortSignal,
): AsyncGenerator<Counted> {
  /** Commits above it are taken back by a restore that was met already. */
  let rewoundTo = Number.POSITIVE_INFINITY;
  for await (const entry of table.history({ after, signal })) {
    const { version, timestampMs, commitInfo } = entry;
    if (version > upTo) continue;
    const isTakenBack = version > rewoundTo;
    yield { version, timestampMs, commitInfo: isTakenBack ? undefined : commitInfo, sign: 1 };
    if (isTakenBack) continue;
    rewoundTo = Math.min(rewoundTo, (await rewindOf(table, entry, signal)) ?? rewoundTo);
  }
  if (rewoundTo >= after) return;
  for await (const before of countedCommits(table, { after: rewoundTo, upTo: after }, signal))
    yield { ...before, sign: before.sign === 1 ? -1 : 1 };
}

/** A Kafka position: `<app>/<topic>-<partition>`, or `<app>-<partition>`. */
const POSITION = /-\d+$/;

/** The version whose positions a restore brought back; undefined for any other commit. */
async function rewindOf(
  table: Pick<Table, "commitActions">,
  { version, operation, commitInfo }: HistoryEntry,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (operation !== "RESTORE") return undefined;
  const actions = await table.commitActions(version, signal);
  const movesPositions = actions.some((action) => "txn" in action && POSITION.test(action.txn.appId));
  const target = Number(commitInfo?.operationParameters?.version);
  return movesPositions && Number.isSafeInteger(target) ? target : undefined;
}
