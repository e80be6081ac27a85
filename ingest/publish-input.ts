/** What a commit of the ingester is made from, and what all of its commits share: positions, and patience with an outage. */

import { retry } from "../core/retry.ts";
import type { Txn } from "../delta/actions.ts";
import type { Snapshot } from "../delta/table.ts";
import type { ChunkContent } from "./chunk.ts";
import type { Destination, Opened } from "./destination.ts";
import { type AppIdForm, appId } from "./identity.ts";
import type { StreamOptions } from "./options.ts";

/** Where a process can be told to die, to prove that it does no harm (`LAB_FAILPOINT`). */
export type CommitStep =
  | "before-upload"
  | "after-upload"
  | "after-letters"
  | "after-route"
  | "after-commit"
  | "in-checkpoint";

export type PublishInput = {
  options: Pick<StreamOptions, "app" | "topic" | "tableUri">;
  chunks: readonly ChunkContent[];
  /** The next offset to read once this is committed, per partition. */
  settled: ReadonlyMap<number, bigint>;
  /**
   * The txn that the table's log had for each assigned partition when we last read or wrote it. Another worker's that comes since then, of
   * whichever of them, voids our positions: the snapshot that a commit of ours returns is behind it, and would hide it from the next one.
   */
  owned: ReadonlyMap<number, bigint | undefined>;
  recordGeneration: number;
  /** How the table's txns name partitions. Letters have a table of their own, which only we write. */
  appIdForm: AppIdForm;
  /** Null while no message has told the table's columns: then there are letters alone, and no position. */
  rows: Opened | null;
  letters: Opened | null;
  destination: Destination;
  /** Positions that routed tables were seen to be ahead with when ours were read: what they hold of it is known. */
  aheadOf: (route: string | null, partition: number) => bigint | undefined;
  /** The last offset of which such a table has rows beyond our positions: the next start looks for them where the table's own position tells of them. */
  heldBy: (route: string | null, partition: number) => bigint | undefined;
  now: () => number;
  onStep: (step: CommitStep) => void;
  onOutage: (error: unknown, pauseMs: number) => void;
  signal: AbortSignal;
};

/** Another writer was first with a position of ours, or changed the table: only the log can say how to go on. */
export type Rejected = { kind: "rejected"; reason: string; message: string };

/** Positions that a commit rests on besides those it moves. */
export const readTxns = ({ options, owned }: PublishInput, form: AppIdForm): string[] =>
  [...owned.keys()].map((partition) => appId(options.app, options.topic, partition, form));

/** Positions as txns. Letters and routed tables may be ahead after a crash: `isKept` says of a position that is whether it stays. */
export function txnsOf(
  input: PublishInput,
  snapshot: Snapshot,
  { form, isKept }: { form: AppIdForm; isKept: (partition: number, version: bigint) => boolean },
): Txn[] {
  return [...input.settled].map(([partition, next]) => {
    const id = appId(input.options.app, input.options.topic, partition, form);
    const version = next - 1n;
    const stored = snapshot.txn(id);
    return {
      appId: id,
      version: stored !== undefined && stored > version && isKept(partition, version) ? stored : version,
    };
  });
}

/** Why a snapshot is none to commit on: a position of ours is not what it is expected to be. */
export function movedElsewhere(
  { options, owned }: PublishInput,
  { snapshot }: Opened,
  form: AppIdForm,
  isExpected: (partition: number, stored: bigint | undefined) => boolean,
): Rejected | null {
  for (const partition of owned.keys()) {
    const id = appId(options.app, options.topic, partition, form);
    const stored = snapshot.txn(id);
    if (!isExpected(partition, stored))
      return {
        kind: "rejected",
        reason: "txn",
        message: `transaction ${id} was moved to ${stored} by another writer`,
      };
  }
  return null;
}

/** The same of the stream's table, as it was read: it must have what we last read or wrote there. */
export function overtaken(input: PublishInput, rows: Opened): Rejected | null {
  return movedElsewhere(
    input,
    rows,
    input.appIdForm,
    (partition, stored) => stored === input.owned.get(partition),
  );
}

/** The same of the stream's table as it is by now: a worker that stood still since its partitions moved finds out. */
export async function overtakenSince(input: PublishInput, { table }: Opened): Promise<Rejected | null> {
  return overtaken(input, { table, snapshot: await outlast(input, () => table.latest(input.signal)) });
}

/** An outage of the store is waited out, for as long as it takes. */
export function outlast<T>(input: PublishInput, attempt: () => Promise<T>): Promise<T> {
  return retry(attempt, {
    signal: input.signal,
    onFailure: (error, _attempt, pauseMs) => input.onOutage(error, pauseMs),
  });
}
