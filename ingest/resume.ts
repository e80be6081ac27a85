/**
 * Where each partition goes on: read from the tables' logs alone, checked against what the topic holds now.
 * Nothing is ever skipped or read again without the user having said so.
 */

import { LabError } from "../core/errors.ts";
import type { Admin, Watermarks } from "../kafka/ports.ts";
import type { Destination, Opened } from "./destination.ts";
import { fingerprint, markedOffset } from "./fingerprint.ts";
import { type AppIdForm, appId, formOf, offsetsMissing, otherTopic } from "./identity.ts";
import { type LastKnown, lastKnown } from "./last-known.ts";
import type { StreamOptions } from "./options.ts";
import { type RoutedResume, readRouted } from "./resume-routed.ts";
import type { RowReader } from "./row-reader.ts";

export type Resume = {
  /** The next offset to read, per partition. */
  next: Map<number, bigint>;
  /** How the table's txns name partitions. */
  appIdForm: AppIdForm;
  /** Records (`verdictKey`) that have a letter though no row commit covers them yet: final, whatever the configuration says now. */
  verdicts: Map<number, Set<string>>;
  /** Value of `_kafka.generation`: grows when the topic was made anew and the user said restart. */
  recordGeneration: number;
  /** Partitions whose stored position is to be lowered or moved by the user's word, not by progress. */
  overridden: Set<number>;
  /**
   * Where the topic was begun at its end, for all of its partitions: to be settled before anything flows. Found anew at each reading, the end
   * would have moved past records that were read and not committed, or that came to a partition of which nothing is committed yet.
   */
  begun: ReadonlyMap<number, bigint>;
  /** What routed tables hold beyond the settled positions. */
  routed: RoutedResume;
};

export type ResumeInput = {
  options: Pick<StreamOptions, "topic" | "app" | "appIdForm" | "start" | "onTopicReset">;
  partitions: readonly number[];
  rows: Opened | null;
  letters: Opened | null;
  admin: Pick<Admin, "watermarks" | "offsetsAt" | "recordAt">;
  rowReader: RowReader;
  routed: Destination["routed"];
  /** `begun` of the reading before, in this process: null at the first one. */
  before: Resume["begun"] | null;
  signal: AbortSignal;
};

/** OFFSET_EXPIRED, OFFSETS_MISSING, OFFSETS_FOREIGN, TOPIC_RESET, TOPIC_MISSING, each with the ways out; outages as they are. */
export async function readResume(input: ResumeInput): Promise<Resume> {
  const { options, partitions, rows, signal } = input;
  const { topic, app } = options;
  const watermarks = await input.admin.watermarks(topic);
  const appIdForm = formOf({
    ...{ app, topic, asked: options.appIdForm },
    txnIds: rows?.snapshot.txns().keys() ?? [],
  });
  const stored = new Map<number, bigint>();
  for (const partition of partitions) {
    const settled = rows?.snapshot.txn(appId(app, topic, partition, appIdForm));
    if (settled !== undefined) stored.set(partition, settled + 1n);
  }
  const known: LastKnown = rows
    ? await lastKnown(rows.table, { app, topic, partitions: [...stored.keys()], signal })
    : { generation: 0, fingerprints: new Map(), hasCommits: false };
  if (rows && appIdForm === "kdi" && !known.hasCommits) {
    const other = await input.rowReader.otherTopic(rows, { topic, signal });
    if (other !== null) throw otherTopic(topic, `it has rows of ${other}`);
  }
  const resume: Resume = {
    next: new Map(),
    appIdForm,
    verdicts: new Map(),
    recordGeneration: known.generation,
    overridden: new Set(),
    begun: new Map(),
    routed: { ahead: new Map(), held: new Map(), written: [] },
  };

  const { error, overridden } = await findReset(input, stored, known, watermarks);
  if (error && options.onTopicReset === "fail") throw error;
  // What is expired was there once, and is not there again; all else may meet offsets that the table has rows of.
  if (error && (options.onTopicReset === "restart" || error.code === "TOPIC_RESET"))
    resume.recordGeneration++;
  const fresh: number[] = [];
  for (const partition of partitions) {
    const { low, high } = watermarks.get(partition) ?? { low: 0n, high: 0n };
    const next = stored.get(partition);
    if (next === undefined) {
      fresh.push(partition);
    } else if (overridden.has(partition)) {
      resume.next.set(partition, options.onTopicReset === "skip" ? high : low);
      resume.overridden.add(partition);
    } else {
      resume.next.set(partition, next);
    }
  }
  // Later on, the table is ahead of what was asked for by this stream's own commits.
  if (input.before === null) refuseContradiction(options, stored, watermarks);
  if (options.start.kind === "latest") resume.begun = beginning(input, watermarks, appIdForm);
  await placeFresh(input, fresh, watermarks, resume);
  await readVerdicts(input, resume);
  if (rows) {
    const { next, recordGeneration: generation } = resume;
    resume.routed = await readRouted(rows, { ...input, app, topic, appIdForm, next, generation });
  }
  return resume;
}

/** The error for a position that the topic does not hold: below its start, or beyond its end. */
export function outOfRange(topic: string, partition: number, next: bigint, marks: Watermarks): LabError {
  if (next < marks.low) return expired(topic, partition, next, marks.low);
  return wasReset(topic, partition, `the table goes on at offset ${next}, the topic ends at ${marks.high}`);
}

function wasReset(topic: string, partition: number, what: string): LabError {
  return new LabError(
    "TOPIC_RESET",
    `${topic}-${partition}: ${what}; the topic was deleted and made anew, or it lost records`,
    {
      hint: "--on-topic-reset restart reads the new topic from its start, skip goes on at its end, or ingest into another table",
      details: { topic, partition },
    },
  );
}

function expired(topic: string, partition: number, next: bigint, low: bigint): LabError {
  return new LabError(
    "OFFSET_EXPIRED",
    `${topic}-${partition}: the table goes on at offset ${next}, the topic now begins at ${low}: ${low - next} records are gone`,
    {
      hint: `bring the records back (longer retention, a mirror), or accept the gap: --on-topic-reset skip goes on at the end, restart at offset ${low}`,
      details: { topic, partition, nextOffset: next, low },
    },
  );
}

/**
 * A position beyond the end, or another record where the last settled one was: the topic is not the one the table was fed from, and every
 * position in it is void whose own mark does not prove otherwise. A position below the start is void alone.
 */
async function findReset(
  input: ResumeInput,
  stored: ReadonlyMap<number, bigint>,
  known: LastKnown,
  watermarks: ReadonlyMap<number, Watermarks>,
): Promise<{ error: LabError | null; overridden: ReadonlySet<number> }> {
  const { topic } = input.options;
  const proven = new Set<number>();
  const below = new Set<number>();
  let reset: LabError | null = null;
  let expiry: LabError | null = null;
  for (const [partition, next] of stored) {
    const { low, high } = watermarks.get(partition) ?? { low: 0n, high: 0n };
    if (next > high) {
      reset ??= outOfRange(topic, partition, next, { low, high });
      continue;
    }
    if (next < low) {
      expiry ??= expired(topic, partition, next, low);
      below.add(partition);
    }
    const mark = known.fingerprints.get(partition);
    const offset = mark === undefined ? null : markedOffset(mark);
    if (mark === undefined || offset === null || offset < low) continue;
    const record = await input.admin.recordAt({ topic, partition, nextOffset: offset }, input.signal);
    // Compaction may have removed the record: then there is nothing to compare.
    if (record?.offset !== offset) continue;
    if (fingerprint(record) === mark) proven.add(partition);
    else
      reset ??= wasReset(topic, partition, `the record at offset ${offset} is not the one that was written`);
  }
  if (reset)
    return {
      error: reset,
      overridden: new Set([...stored.keys()].filter((partition) => !proven.has(partition))),
    };
  return { error: expiry, overridden: below };
}

/** The ends of all partitions, if the table knows none of the topic; else nothing: a partition that it does not know was added since. */
function beginning(
  { options, rows, before }: ResumeInput,
  watermarks: ReadonlyMap<number, Watermarks>,
  form: AppIdForm,
): Resume["begun"] {
  const { app, topic } = options;
  const isKnown = (partition: number) => rows?.snapshot.txn(appId(app, topic, partition, form)) !== undefined;
  if ([...watermarks.keys()].some(isKnown)) return new Map();
  return new Map([...watermarks].map(([partition, { high }]) => [partition, before?.get(partition) ?? high]));
}

/** Explicit start offsets may not skip or repeat what the table already knows, nor name what is not there. */
function refuseContradiction(
  options: ResumeInput["options"],
  stored: ReadonlyMap<number, bigint>,
  watermarks: ReadonlyMap<number, Watermarks>,
): void {
  if (options.start.kind !== "offsets") return;
  for (const [partition, wanted] of options.start.next) {
    if (!watermarks.has(partition))
      throw new LabError(
        "USAGE",
        `--start ${partition}:${wanted}: ${options.topic} has no partition ${partition}`,
        {
          hint: `it has ${[...watermarks.keys()].join(", ")}`,
        },
      );
    const next = stored.get(partition);
    if (next === undefined || next === wanted) continue;
    throw new LabError(
      "USAGE",
      `--start ${partition}:${wanted} would ${wanted > next ? "skip" : "double"} records: the table goes on at offset ${next} of ${options.topic}-${partition}`,
      { hint: "leave --start out to go on where the table is, or use another --app or table" },
    );
  }
}

async function placeFresh(
  input: ResumeInput,
  fresh: readonly number[],
  watermarks: ReadonlyMap<number, Watermarks>,
  resume: Resume,
): Promise<void> {
  const { options, rows, rowReader, signal } = input;
  const { topic, start } = options;
  if (fresh.length === 0) return;
  for (const partition of fresh) {
    if (rows && (await rowReader.hasRowsOf(rows, { topic, partition, signal })))
      throw offsetsMissing(options.app, topic, partition);
  }
  const atTime = start.kind === "time" ? await input.admin.offsetsAt(topic, start.timestampMs) : null;
  for (const partition of fresh) {
    const { low, high } = watermarks.get(partition) ?? { low: 0n, high: 0n };
    const wanted =
      start.kind === "latest"
        ? (resume.begun.get(partition) ?? low)
        : start.kind === "time"
          ? (atTime?.get(partition) ?? high)
          : start.kind === "offsets"
            ? (start.next.get(partition) ?? low)
            : low;
    if (wanted < low || wanted > high) {
      throw new LabError(
        "USAGE",
        `--start ${partition}:${wanted} is outside of ${topic}-${partition}, which holds ${low} to ${high}`,
        {
          hint: `give an offset from ${low} to ${high}`,
        },
      );
    }
    resume.next.set(partition, wanted);
  }
}

async function readVerdicts(input: ResumeInput, resume: Resume): Promise<void> {
  const { letters, options, rowReader, signal } = input;
  if (!letters) return;
  for (const [partition, next] of resume.next) {
    const lettered = letters.snapshot.txn(appId(options.app, options.topic, partition));
    if (lettered === undefined || lettered < next) continue;
    resume.verdicts.set(
      partition,
      await rowReader.letteredRecords(letters, { topic: options.topic, partition, from: next, signal }),
    );
  }
}
