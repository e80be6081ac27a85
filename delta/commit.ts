/** The commit loop: put the next version; behind winners that do not contradict, try the one after. */

import { randomUUID } from "node:crypto";
import { type RetryOptions, retry, sleep } from "../core/retry.ts";
import type { Action } from "./actions.ts";
import { checkRequest, commitActions } from "./commit-actions.ts";
import { serializeCommit } from "./commit-file.ts";
import { conflictsOf } from "./conflict.ts";
import { isOurs, putCommit } from "./put-commit.ts";
import type { Store } from "./store/store.ts";
import type { CommitRequest, CommitResult, Snapshot } from "./table.ts";

/** The longest pause after a first lost race. */
const SPREAD_MS = 30;

/** What the loop needs of the table it commits to. */
export type CommitTarget = {
  store: Store;
  /** The newest snapshot, at least of `version`. */
  refreshed(version: number, signal: AbortSignal): Promise<Snapshot>;
  actionsOf(version: number, signal: AbortSignal): Promise<readonly Action[]>;
  /** Told what the winner of a version committed. */
  lost(version: number, winner: readonly Action[]): void;
  /** The snapshot of a version that was just committed with these actions; null where it does not stand in the log that others read. */
  committed(version: number, actions: readonly Action[], signal: AbortSignal): Promise<Snapshot | null>;
  outages: Omit<RetryOptions, "signal">;
  maxAttempts: number;
  now: () => number;
  random: () => number;
};

/** See `Table.commit`. */
export async function commitTo(
  target: CommitTarget,
  request: CommitRequest,
  signal: AbortSignal,
): Promise<CommitResult> {
  const { store } = target;
  const txnId = request.txnId ?? randomUUID();
  const outages = { ...target.outages, signal };
  const waitOut = <T>(work: () => Promise<T>) => retry(work, outages);
  const read = request.readSnapshot;
  const { protocol, metadata } = read;
  const conflictWith = conflictsOf(request, { root: store.root, protocol, metadata });
  const committed = async (version: number, actions: readonly Action[], attempts: number) => {
    const snapshot = await waitOut(() => target.committed(version, actions, signal));
    if (snapshot !== null) return { kind: "committed", version, snapshot, attempts } as const;
    const message = `version ${version} was used and cleaned up while this writer stood still`;
    return { kind: "conflict", version, reason: "expired", message } as const;
  };

  let base = await waitOut(() => target.refreshed(read.version, signal));
  let checked = read.version;
  for (let attempt = 1; attempt <= target.maxAttempts; attempt++) {
    for (let version = checked + 1; version <= base.version; version++) {
      const winner = await waitOut(() => target.actionsOf(version, signal));
      if (isOurs(winner, txnId)) return committed(version, winner, attempt);
      const conflict = conflictWith(winner);
      if (conflict) return { kind: "conflict", version, ...conflict };
    }
    checked = base.version;
    checkRequest(request, base, store.root);

    const version = base.version + 1;
    const actions = commitActions(request, base, { nowMs: target.now(), txnId });
    const outcome = await putCommit(store, { version, body: serializeCommit(actions), txnId }, outages);
    if (outcome.kind === "ours") return committed(version, actions, attempt);
    target.lost(version, outcome.winner);
    // Losers would all try the same version at the same time again. Whoever has lost often waits less: it has its turn before the next.
    await sleep((target.random() * SPREAD_MS) / attempt, signal);
    base = await waitOut(() => target.refreshed(version, signal));
  }
  const message = `${target.maxAttempts} attempts were lost to other writers`;
  return { kind: "conflict", version: base.version, reason: "attempts", message };
}
