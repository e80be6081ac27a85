/** Keeps the ledger of every stream, whether a page watches or not: reads topics and tables beside the ingester, and compares. */

import { asLabError, type LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { sleep } from "../core/retry.ts";
import type { LabControl, LabStream } from "./control.ts";
import type { LedgerLine, LedgerMinute } from "./ledger.ts";
import { openProducedBook, type ProducedBook } from "./produced.ts";
import { openStreamLedger } from "./stream-ledger.ts";
import type { PositionReader, Problem } from "./tables.ts";

/** Whole: all is counted and nothing lost, doubled or strange. Unknown: not counted, for the reason in `why`. */
export type Verdict = "whole" | "broken" | "unknown";

/** A commit that lost or doubled records have been changed by: of another writer, or a delete. */
export type Culprit = {
  version: number;
  timestamp: string;
  operation: string;
  engine: string | null;
  /** Offsets that it took of those lost, and brought of those doubled. */
  removed: bigint;
  doubled: bigint;
};

export type TableLedger = {
  topic: string;
  table: string;
  verdict: Verdict;
  why: string | null;
  /** When it was last counted; null: never. ISO UTC. */
  checkedAt: string | null;
  version: number | null;
  lines: LedgerLine[];
  /** The last half hour, newest last; `partition` is in each. */
  minutes: (LedgerMinute & { partition: number })[];
  culprits: Culprit[];
  /** Rows of the table that name no record: another writer's. */
  nameless: bigint;
  /** Changes are merged: their messages are in term `skipped`, as commits tell, and no row is of one of them. */
  isMerged: boolean;
};

export type LedgerWatch = {
  ledgers(): readonly TableLedger[];
  /** Called after each look, with what it found; returns how to stop being called. */
  listen(told: (ledgers: readonly TableLedger[]) => void): () => void;
  /** Resolves when `signal` has aborted and nothing runs any more. */
  ended: Promise<void>;
};

const LOOK_EVERY_MS = 1_000;
const LOOK_DEADLINE_MS = 60_000;
const READ_AGAIN_MS = 2_000;
/** A count that is older proves nothing about now. */
const FRESH_MS = 30_000;

export function watchLedger(options: {
  control: LabControl;
  positions: Pick<PositionReader, "read" | "routed">;
  log: Log;
  now: () => number;
  signal: AbortSignal;
}): LedgerWatch {
  const { control, positions, log, now, signal } = options;
  const streams = control.streams();
  const listeners = new Set<(ledgers: readonly TableLedger[]) => void>();
  const books = new Map<string, ProducedBook>();
  const readProblems = new Map<string, Problem>();
  for (const { topic } of streams) if (!books.has(topic)) books.set(topic, openProducedBook());
  let ledgers: readonly TableLedger[] = streams.map(notCounted);

  async function read(topic: string, book: ProducedBook): Promise<void> {
    const reader = {
      begins: book.begins,
      took(batch: Parameters<ProducedBook["took"]>[0]) {
        readProblems.delete(topic);
        book.took(batch);
      },
      outage(problem: LabError | null) {
        if (problem === null) readProblems.delete(topic);
        else readProblems.set(topic, problem.toJSON());
      },
    };
    while (!signal.aborted) {
      try {
        await control.readTopic(topic, reader, signal);
      } catch (error) {
        if (signal.aborted) return;
        readProblems.set(topic, asLabError(error).toJSON());
        log.debug({ err: error, topic }, "the topic cannot be read; trying again");
      }
      await sleep(READ_AGAIN_MS, signal).catch(() => undefined);
    }
  }

  async function look(): Promise<void> {
    const keepers = streams.map((stream) => ({ stream, keeper: openStreamLedger(stream, positions) }));
    while (!signal.aborted) {
      const startedAt = performance.now();
      const next: TableLedger[] = [];
      for (const [n, { stream, keeper }] of keepers.entries()) {
        const before = ledgers[n]!;
        const deadline = AbortSignal.any([signal, AbortSignal.timeout(LOOK_DEADLINE_MS)]);
        const found = await keeper.count(books.get(stream.topic)!, deadline).then(
          (counted): TableLedger => ({ ...counted, checkedAt: new Date(now()).toISOString() }),
          (error: unknown): TableLedger => {
            const { code, message } = asLabError(error).toJSON();
            return { ...before, verdict: "unknown", why: `${message} (${code})` };
          },
        );
        if (signal.aborted) return;
        next.push(found);
      }
      ledgers = next;
      for (const told of listeners) told(current());
      // However large the tables, looking takes a third of the time at most.
      const pauseMs = Math.max(LOOK_EVERY_MS, 2 * (performance.now() - startedAt));
      await sleep(pauseMs, signal).catch(() => undefined);
    }
  }

  /** A verdict holds for as long as both sides can be counted. */
  function current(): TableLedger[] {
    return ledgers.map((ledger) => {
      const problem = readProblems.get(ledger.topic);
      const age = ledger.checkedAt === null ? 0 : now() - Date.parse(ledger.checkedAt);
      const why =
        problem !== undefined
          ? `${problem.message} (${problem.code})`
          : age > FRESH_MS
            ? `not counted for ${Math.round(age / 1000)} s`
            : null;
      return why === null || ledger.verdict === "broken" ? ledger : { ...ledger, verdict: "unknown", why };
    });
  }

  const running = [...[...books].map(([topic, book]) => read(topic, book)), look()];
  return {
    ledgers: current,
    listen(told) {
      listeners.add(told);
      return () => void listeners.delete(told);
    },
    ended: Promise.allSettled(running).then(() => undefined),
  };
}

const notCounted = ({ topic, table }: LabStream): TableLedger => ({
  ...{ topic, table, verdict: "unknown", why: "not counted yet", checkedAt: null, version: null },
  ...{ lines: [], minutes: [], culprits: [], nameless: 0n, isMerged: false },
});
