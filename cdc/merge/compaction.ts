/**
 * Small files are joined by the one who makes them, every so many commits: another process would lose to the next merge, which marks rows in the
 * files that it reads, again and again. Where rows are marked in deletion vectors that is done beside the merging (`join-files.ts`); where their
 * files are written again, between two batches.
 */

import { isActive } from "../../delta/protocol.ts";
import type { Snapshot, Table } from "../../delta/table.ts";
import { optimize } from "../../upkeep/optimize.ts";
import { commitJoined, discard, type Joined, joinFiles, ripeFiles } from "./join-files.ts";
import type { KeyIndex } from "./key-index.ts";

export type CompactionOptions = {
  scratchDir: string;
  memoryLimitBytes: number;
  threads: number;
  now: () => number;
  /** Commits between two looks for small files to join; 0: never, somebody else does. */
  compactEvery: number;
  /** Small files were not joined: it is tried again later. */
  onCompactionFailure: (error: unknown) => void;
};

export type Compaction = {
  /** Told of each commit, which the index is at; gives the version that the next one builds on. It fails only where `signal` aborts. */
  after(table: Table, committed: Snapshot, index: KeyIndex, signal: AbortSignal): Promise<Snapshot>;
  /** What is under way is given up. */
  close(): Promise<void>;
};

/** Files on their way; `ended` never rejects. */
type Job = {
  table: Table;
  read: Snapshot;
  stop: AbortController;
  ended: Promise<void>;
  /** Once it has ended. */
  outcome?: { joined: Joined[] } | { error: unknown };
};

export function createCompaction(options: CompactionOptions): Compaction {
  const { compactEvery, onCompactionFailure, now } = options;
  // What the merging has is not to become less.
  const beside = { ...options, memoryLimitBytes: Math.floor(options.memoryLimitBytes / 2), threads: 1 };
  let commits = 0;
  let job: Job | undefined;

  function start(table: Table, read: Snapshot): Job | undefined {
    const bins = ripeFiles(read);
    if (bins.length === 0) return undefined;
    const stop = new AbortController();
    const begun: Job = { table, read, stop, ended: Promise.resolve() };
    begun.ended = joinFiles(table, read, bins, beside, stop.signal).then(
      (joined) => {
        begun.outcome = { joined };
      },
      (error: unknown) => {
        begun.outcome = { error };
      },
    );
    return begun;
  }

  async function giveUp(): Promise<void> {
    const last = job;
    job = undefined;
    last?.stop.abort();
    await last?.ended;
    if (last?.outcome && "joined" in last.outcome)
      await discard(last.table, last.outcome.joined, new AbortController().signal);
  }

  async function finish(
    { table, outcome, read }: Job,
    committed: Snapshot,
    index: KeyIndex,
    signal: AbortSignal,
  ): Promise<Snapshot> {
    if (!outcome || "error" in outcome) throw outcome?.error;
    if (read.metadata.schemaString !== committed.metadata.schemaString) {
      await discard(table, outcome.joined, signal);
      return committed;
    }
    const done = await commitJoined(table, committed, outcome.joined, now, signal);
    if (done === null) return committed;
    index.rejoin(done.rejoined);
    return done.snapshot;
  }

  return {
    async after(table, committed, index, signal) {
      if (job && job.table !== table) await giveUp();
      try {
        if (job?.outcome) {
          const ended = job;
          job = undefined;
          return await finish(ended, committed, index, signal);
        }
        if (compactEvery === 0 || job || ++commits < compactEvery) return committed;
        commits = 0;
        const { protocol, metadata } = committed;
        if (isActive(protocol, metadata, "delta.enableDeletionVectors", "deletionVectors")) {
          job = start(table, committed);
          return committed;
        }
        const { version } = await optimize(table, { ...options, rule: "tiered", signal });
        return version === null ? committed : await table.latest(signal);
      } catch (error) {
        signal.throwIfAborted();
        onCompactionFailure(error);
        return committed;
      }
    },
    close: giveUp,
  };
}
