/** A table back into Kafka: its records in their order, in transactions that each hold how far it came. */

import { isLabError } from "../core/errors.ts";
import { retry, sleep } from "../core/retry.ts";
import type { Table } from "../delta/table.ts";
import { partitionOf } from "../kafka/partitioner.ts";
import type { Admin, Kafka, TransactionalSink } from "../kafka/ports.ts";
import { recordBytes } from "../kafka/record-batch.ts";
import { ahead } from "./ahead.ts";
import { checkTarget } from "./check-target.ts";
import { openCourse, type Rewrite } from "./course.ts";
import type { LakeRecord, LakeWork } from "./lake.ts";
import type { Place } from "./place.ts";
import {
  ensureProgressTopic,
  progressRecord,
  progressTopicOf,
  type ReplayProgress,
  readProgress,
  transactionalIdOf,
} from "./progress.ts";
import type { From } from "./range.ts";
import { beginTallies, count, type Tallies, type Tally } from "./tally.ts";
import { prepareTarget, requireNoLoop } from "./target.ts";
import type { ValueForm } from "./value.ts";

export type ReplayOptions = {
  table: Table;
  kafka: Kafka;
  target: string;
  /** The topic whose rows are sent; default: the only one there is. */
  topic?: string | undefined;
  from: From;
  /** The version whose rows are sent; default: the newest one when the replay begins. */
  to?: number | undefined;
  value: ValueForm;
  /** Send though the target holds records. */
  isAppended: boolean;
  /**
   * Spread records anew over so many partitions, by their keys as Java's client does: only records of one key keep their order then. Those without a key
   * keep their partition, modulo. Absent: each record goes to the partition it was in.
   */
  repartition?: number | undefined;
  /** Read the target at the end, and compare. */
  isCompared: boolean;
  /** Records a second; absent: as fast as it goes. */
  rate?: number | undefined;
  /** Bytes of records in a transaction, about; default 32 MiB. */
  transactionBytes?: number;
  work: LakeWork;
  signal: AbortSignal;
  now: () => number;
  onProgress?: (progress: { sent: number; total: number }) => void;
  /** While the target is read again. */
  onCompared?: (progress: { read: number; total: number }) => void;
  /** An outage that is being waited out. */
  onOutage?: (error: Error) => void;
};

export type ReplayResult = {
  topic: string;
  target: string;
  progressTopic: string;
  version: number;
  /** Of the whole replay, earlier runs included. */
  sent: number;
  bytes: number;
  reencoded: number;
  /** What this run sent of it. */
  sentNow: number;
  /** An earlier run had begun it. */
  isResumed: boolean;
  isTargetNew: boolean;
  partitions: number;
  /** "same": the target holds what it was sent, in order. "expired": it no longer holds all of it. "denied": it may not be read. "off": nobody looked. */
  comparison: "same" | "expired" | "denied" | "off";
  /** Rows of the table that name no record, and were left. */
  withoutOrigin: number;
  /** Where versions were asked for: those among them that took rows out or changed them. Rows that are gone were not sent. */
  rewrites: Rewrite[];
};

const TRANSACTION_BYTES = 32 * 1024 * 1024;
/** Well below the broker's patience with a transaction. */
const TRANSACTION_MS = 10_000;
const TRANSACTION_TIMEOUT_MS = 60_000;
/** What is sent between two looks at the clock. */
const SLICE_MS = 250;

/**
 * Sends the records and returns when all are there. Started again after any end it goes on behind the last record that is there, so that each is there once
 * for read-committed readers. Outages are waited out. REPLAY_UNDERWAY where another range has begun into this topic, PRODUCER_FENCED where another run took
 * over, REPLAY_DIFFERS where the target does not hold what it was sent, TARGET_UNFIT, ORIGIN_MISSING, USAGE, VERSION_NOT_FOUND, DATA_FILE_MISSING, MESSAGE_TOO_LARGE.
 */
export async function replay(options: ReplayOptions): Promise<ReplayResult> {
  const { kafka, signal } = options;
  const admin = await kafka.admin();
  try {
    const run: Run = { hasSent: false, isTargetNew: false, version: null, first: null };
    return await retry(() => attempt(options, admin, run), {
      signal,
      firstMs: 500,
      maxMs: 5_000,
      // Before the first record an outage is the caller's to know; later nobody need start it again.
      isRetryable: (error) => isLabError(error) && error.retryable && run.hasSent,
      onFailure: (error) => options.onOutage?.(error as Error),
    });
  } finally {
    await admin.close();
  }
}

/** What outlives a producer. */
type Run = {
  hasSent: boolean;
  isTargetNew: boolean;
  version: number | null;
  /** Where the first of them began. */
  first: { sent: number; isResumed: boolean } | null;
};

/** One producer's life: from what was committed to the end, or to an outage. */
async function attempt(options: ReplayOptions, admin: Admin, run: Run): Promise<ReplayResult> {
  const { table, kafka, target, signal, now } = options;
  const tableId = (await table.latest(signal)).metadata.id;
  const transactionalId = transactionalIdOf(tableId, target);
  const progressTopic = progressTopicOf(tableId, target);
  await ensureProgressTopic(admin, progressTopic);
  const sink = await kafka.transactionalSink({ transactionalId, timeoutMs: TRANSACTION_TIMEOUT_MS, signal });
  try {
    const last = await readProgress(admin, progressTopic, transactionalId, signal);
    const course = await openCourse(options, last, run.version ?? undefined);
    const { lake, version, known, partitions } = course;
    run.version = version;
    try {
      if (known === null)
        run.isTargetNew = (await prepareTarget(admin, course.wish, { nowMs: now(), signal })).isNew;
      else if (known.isDone) await requireNoLoop(admin, course.wish, signal);
      const progress: ReplayProgress =
        known === null
          ? {
              ...{ asked: course.asked, version, sent: 0, bytes: 0, reencoded: 0 },
              ...{ isDone: false, isChecked: false },
              reached: await course.begin(),
              tallies: beginTallies(await admin.watermarks(target)),
            }
          : { ...known, version, isDone: false };
      if (progress.isChecked) {
        progress.tallies = beginTallies(await admin.watermarks(target));
        progress.isChecked = false;
      }
      run.first ??= { sent: progress.sent, isResumed: known !== null };
      const commit = async () => {
        await sink.send(progressTopic, [progressRecord(transactionalId, progress, now())]);
        await sink.commit();
      };
      await send(options, {
        sink,
        progress,
        onSent() {
          run.hasSent = true;
          options.onProgress?.({ sent: progress.sent, total: lake.rows });
        },
        records: lake.records(new Map(progress.reached), signal),
        commit,
      });
      // A commit is answered before its records can be read; the next transaction begins only once they can.
      if (options.isCompared) await commit();
      const comparison = await compare(options, admin, progress.tallies);
      // What is gone cannot be compared later either.
      if (comparison === "same" || comparison === "expired") {
        progress.isChecked = true;
        await commit();
      }
      return {
        comparison,
        ...{ topic: lake.topic, target, progressTopic, version, partitions },
        ...{ sent: progress.sent, bytes: progress.bytes, reencoded: progress.reencoded },
        sentNow: progress.sent - run.first.sent,
        isResumed: run.first.isResumed,
        isTargetNew: run.isTargetNew,
        withoutOrigin: lake.withoutOrigin,
        rewrites: await course.rewrites(),
      };
    } finally {
      await lake.close();
    }
  } finally {
    await sink.close();
  }
}

async function compare(
  { kafka, target, isCompared, onCompared, onOutage, signal }: ReplayOptions,
  admin: Admin,
  sent: Tallies,
): Promise<ReplayResult["comparison"]> {
  if (!isCompared) return "off";
  const total = [...sent.values()].reduce((sum, { count }) => sum + count, 0);
  const onRead = (read: number) => onCompared?.({ read, total });
  try {
    return (await checkTarget({ kafka, admin, target, sent, onRead, onOutage, signal })) ? "same" : "expired";
  } catch (error) {
    // The right to write is all that sending takes.
    if (isLabError(error, "KAFKA_DENIED")) return "denied";
    throw error;
  }
}

type Sending = {
  sink: TransactionalSink;
  /** Moved on with each record. */
  progress: ReplayProgress;
  records: AsyncGenerator<LakeRecord[]>;
  onSent(): void;
  /** Ends the transaction with the progress in it. */
  commit(): Promise<void>;
};

async function send(options: ReplayOptions, sending: Sending): Promise<void> {
  const { target, signal, now, repartition, rate = Number.POSITIVE_INFINITY } = options;
  const place = (records: readonly LakeRecord[]) =>
    repartition === undefined ? records : records.map((one) => placedAnew(one, repartition));
  const { sink, progress } = sending;
  const { transactionBytes = TRANSACTION_BYTES } = options;
  const started = { ms: now(), sent: progress.sent };
  const slice = Math.max(1, Math.floor((rate * SLICE_MS) / 1000));
  let open: { bytes: number; sinceMs: number } | null = null;
  const commit = async () => {
    await sending.commit();
    open = null;
  };
  for await (const batch of ahead(sending.records)) {
    // The next records take a while: a transaction must not wait for them.
    if (batch.length === 0 && open !== null) await commit();
    for (let from = 0; from < batch.length; from += slice) {
      signal.throwIfAborted();
      const part = slice >= batch.length ? batch : batch.slice(from, from + slice);
      open ??= { bytes: 0, sinceMs: now() };
      const placed = place(part);
      await sink.send(target, placed);
      open.bytes += note(progress, part, placed);
      sending.onSent();
      const pauseMs = Math.max(0, started.ms + ((progress.sent - started.sent) / rate) * 1000 - now());
      const isLong = now() + pauseMs - open.sinceMs >= TRANSACTION_MS;
      if (open.bytes >= transactionBytes || isLong) await commit();
      if (pauseMs > 0) await sleep(pauseMs, signal);
    }
  }
  progress.isDone = true;
  await commit();
}

function placedAnew(record: LakeRecord, partitions: number): LakeRecord {
  const { key, partition } = record;
  return { ...record, partition: key === null ? partition % partitions : partitionOf(key, partitions) };
}

/** `placed` are the records as they were sent. Returns their bytes. */
function note(
  progress: ReplayProgress,
  records: readonly LakeRecord[],
  placed: readonly LakeRecord[],
): number {
  let bytes = 0;
  for (const [n, record] of records.entries()) {
    bytes += recordBytes(record);
    if (!record.isOriginal) progress.reencoded += 1;
    progress.bytes += record.value?.length ?? 0;
    count(tallyOf(progress.tallies, placed[n]!.partition), record);
    const { generation, offset, index } = record;
    const place: Place = { generation, offset, index };
    progress.reached.set(record.partition, place);
  }
  progress.sent += records.length;
  return bytes;
}

function tallyOf(tallies: Tallies, partition: number): Tally {
  // A partition that was added since the replay began.
  const tally = tallies.get(partition) ?? { since: 0n, count: 0, crc: 0 };
  tallies.set(partition, tally);
  return tally;
}
