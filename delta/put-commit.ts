/** Puts one commit file and finds out for certain whether it is ours. */

import { isLabError, LabError } from "../core/errors.ts";
import { type RetryOptions, retry } from "../core/retry.ts";
import type { Action } from "./actions.ts";
import { parseCommit } from "./commit-file.ts";
import { commitPath } from "./log-names.ts";
import type { Store } from "./store/store.ts";

/** `lost` carries what the winner committed. */
export type PutOutcome = { kind: "ours" } | { kind: "lost"; winner: Action[] };

/**
 * Puts `body` as `version` if that is free. Whatever is not a plain "created" is settled by reading the version: our `txnId` in its
 * commitInfo means ours, another's means lost, nothing there means the same put again. Outages are waited out with `outages`.
 */
export async function putCommit(
  store: Store,
  commit: { version: number; body: Uint8Array; txnId: string },
  outages: RetryOptions,
): Promise<PutOutcome> {
  const { signal } = outages;
  const path = commitPath(commit.version);
  return retry(async () => {
    const reply = await putOrFailure(store, path, commit.body, signal);
    if (reply === "created") return { kind: "ours" };
    const found = await readIfThere(store, path, signal);
    if (found) return isOurs(found, commit.txnId) ? { kind: "ours" } : { kind: "lost", winner: found };
    if (reply instanceof LabError) throw reply;
    throw new LabError(
      "STORE_UNREACHABLE",
      `the reply to the commit of ${path} was lost, and nothing is there`,
    );
  }, outages);
}

/** Whether a commit carries this id of a series of attempts. */
export function isOurs(actions: readonly Action[], txnId: string): boolean {
  return actions.some((action) => "commitInfo" in action && action.commitInfo.txnId === txnId);
}

/** An outage during the put may have hidden a success, so it is no more than an unclear reply. */
async function putOrFailure(
  store: Store,
  path: string,
  body: Uint8Array,
  signal: AbortSignal,
): Promise<"created" | "exists" | "unclear" | LabError> {
  try {
    return await store.putIfAbsent(path, body, signal);
  } catch (error) {
    if (isLabError(error) && error.retryable) return error;
    throw error;
  }
}

async function readIfThere(store: Store, path: string, signal: AbortSignal): Promise<Action[] | undefined> {
  try {
    return parseCommit(await store.get(path, signal), path);
  } catch (error) {
    if (isLabError(error, "OBJECT_MISSING")) return undefined;
    throw error;
  }
}
