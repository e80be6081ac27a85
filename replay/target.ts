/** Whether a topic keeps what a replay sends to it, looked at before the first record. */

import { LabError } from "../core/errors.ts";
import type { Admin } from "../kafka/ports.ts";

export type Target = {
  topic: string;
  /** As many are made where the topic is missing; where it is there it must not have fewer. */
  partitions: number;
  /** It must not have more of them either, because records are spread over so many. */
  isExact: boolean;
  /** Of the oldest record and the newest; null where none has a time. */
  oldestMs: number | null;
  newestMs: number | null;
  /** The topic that the records were in. */
  source: string;
  /** Rows of the table come from the target itself: it may be made anew of them, but what is sent behind records becomes rows once more. */
  fillsTable: boolean;
  /** The largest record, in bytes, and which one it is; null where nobody knows. Asked only where the target takes less than the source. */
  largest(): Promise<{ bytes: number; place: string } | null>;
  /** Records that are there already are fine. */
  isAppended: boolean;
};

const HOUR_MS = 3_600_000;
const LARGEST_MESSAGE = 64 * 1024 * 1024;
const ANY_TIME = "9223372036854775807";
/** What a message takes beside key and value, without headers. */
const FRAME_BYTES = 128;

/** A topic that is made for a replay loses nothing by itself. */
const MADE_WITH = {
  "cleanup.policy": "delete",
  "message.timestamp.type": "CreateTime",
  "retention.ms": "-1",
  "retention.bytes": "-1",
  "max.message.bytes": String(LARGEST_MESSAGE),
};

type Around = { nowMs: number; signal: AbortSignal };

/** Makes the topic where it is missing, and says so. TARGET_UNFIT with the way out. */
export async function prepareTarget(
  admin: Admin,
  target: Target,
  around: Around,
): Promise<{ isNew: boolean }> {
  const { topic, partitions, newestMs } = target;
  // Brokers before 3.6 do not know the setting, and newer ones refuse such times without it.
  const isAhead = newestMs !== null && newestMs > around.nowMs;
  const config = { ...MADE_WITH, ...(isAhead ? { "message.timestamp.after.max.ms": ANY_TIME } : {}) };
  const isNew = await admin.createTopic(topic, { partitions, config });
  if (!isNew) await inspectTarget(admin, target, around);
  // Of what the broker says for all its topics.
  else requireFit(await admin.topicConfig(topic), target, around.nowMs);
  return { isNew };
}

/** The same, and nothing is made: false where the topic is missing. */
export async function inspectTarget(admin: Admin, target: Target, around: Around): Promise<boolean> {
  const { topic, partitions } = target;
  const there = await admin.partitions(topic);
  if (there === null) return false;
  if (there.length < partitions)
    throw unfit(`topic ${topic} has ${there.length} partitions, and the records come from ${partitions}`, {
      hint: `let a new topic be made, add some (kafka-topics --alter --topic ${topic} --partitions ${partitions}), or spread records anew, by key: --repartition ${there.length}`,
      details: { topic, partitions: there.length, needed: partitions },
    });
  if (target.isExact && there.length > partitions)
    throw unfit(
      `topic ${topic} has ${there.length} partitions, and records are to be spread over ${partitions}`,
      {
        hint: `give --repartition ${there.length}, or a topic of its own`,
        details: { topic, partitions: there.length, needed: partitions },
      },
    );
  await requireNoLoop(admin, target, around.signal);
  const config = await admin.topicConfig(topic);
  requireFit(config, target, around.nowMs);
  const filled = target.isAppended ? null : await filledPartition(admin, topic, around.signal);
  if (filled !== null)
    throw unfit(`topic ${topic} holds records already, in partition ${filled}`, {
      hint: "give a topic of its own, or add --append to send behind them",
      details: { topic, partition: filled },
    });
  await requireRoom(admin, target, limitOf(config));
  return true;
}

/** The target may be one that the table is filled from only where it never held a record: it was lost, or is of another cluster. TARGET_UNFIT. */
export async function requireNoLoop(
  admin: Admin,
  { topic, fillsTable }: Pick<Target, "topic" | "fillsTable">,
  signal: AbortSignal,
): Promise<void> {
  if (!fillsTable) return;
  for (const [partition, { low, high }] of await admin.watermarks(topic)) {
    // What a killed replay left in a transaction of its own is none.
    if (low === 0n && (await admin.recordAt({ topic, partition, nextOffset: 0n }, signal)) === null) continue;
    throw unfit(
      `the table is filled from topic ${topic}, which had records up to offset ${high} of partition ${partition}: what is sent there becomes rows once more`,
      {
        hint: "give a topic of its own; to begin the topic anew stop its stream, delete it, and let this make it",
        details: { topic, partition, high: String(high) },
      },
    );
  }
}

function requireFit(config: ReadonlyMap<string, string>, target: Target, nowMs: number): void {
  const problem = misfitOf(config, target, nowMs);
  if (problem === null) return;
  const { topic } = target;
  throw unfit(`topic ${topic} ${problem.what}`, {
    hint: problem.hint,
    details: { topic, ...problem.details },
  });
}

/** What the source took the target takes, unless it takes less: then the largest record decides. */
async function requireRoom(admin: Admin, target: Target, limit: number): Promise<void> {
  const { topic, source } = target;
  const sourceLimit = await admin.topicConfig(source).then(limitOf, () => Number.POSITIVE_INFINITY);
  if (limit >= sourceLimit) return;
  const largest = await target.largest();
  if (largest === null || largest.bytes + FRAME_BYTES <= limit) return;
  const needed = largest.bytes + FRAME_BYTES;
  throw unfit(
    `topic ${topic} takes messages of ${limit} bytes, and the largest (${largest.place}) has ${largest.bytes}`,
    {
      hint: hintOf(topic, "max.message.bytes", String(needed)),
      details: { topic, setting: "max.message.bytes", value: String(limit), bytes: largest.bytes },
    },
  );
}

function limitOf(config: ReadonlyMap<string, string>): number {
  return Number(config.get("max.message.bytes") ?? Number.POSITIVE_INFINITY);
}

/** One with a record that can be seen: what a killed run left in a transaction of its own is none. */
async function filledPartition(admin: Admin, topic: string, signal: AbortSignal): Promise<number | null> {
  for (const [partition, { low, high }] of await admin.watermarks(topic)) {
    if (high === low) continue;
    if ((await admin.recordAt({ topic, partition, nextOffset: low }, signal)) !== null) return partition;
  }
  return null;
}

type Problem = { what: string; hint: string; details: Record<string, unknown> };

/** What of a topic's settings would take or change records of a replay; null where nothing does. */
export function misfitOf(
  config: ReadonlyMap<string, string>,
  { topic, oldestMs, newestMs }: Pick<Target, "topic" | "oldestMs" | "newestMs">,
  nowMs: number,
): Problem | null {
  const problem = (name: string, what: string, value: string): Problem => ({
    what,
    hint: hintOf(topic, name, value),
    details: { setting: name, value: config.get(name) },
  });
  if (config.get("message.timestamp.type") === "LogAppendTime")
    return problem(
      "message.timestamp.type",
      "writes its own time into records (LogAppendTime)",
      "CreateTime",
    );
  if (config.get("cleanup.policy")?.includes("compact"))
    return problem("cleanup.policy", "is compacted, and would lose older records of a key", "delete");
  if (oldestMs === null || newestMs === null) return null;
  const ageMs = nowMs - oldestMs;
  // Brokers round by segments, but a record that is older than this may go at any moment after it arrived.
  const retentionMs = Number(config.get("retention.ms") ?? -1);
  if (retentionMs >= 0 && ageMs > retentionMs)
    return problem(
      "retention.ms",
      `keeps records for ${hours(retentionMs)}, and the oldest is ${hours(ageMs)} old`,
      "-1",
    );
  const most = (name: string) => Number(config.get(name) ?? Number.MAX_SAFE_INTEGER);
  // The second is what brokers before 3.6 have in place of the two others.
  for (const name of ["message.timestamp.before.max.ms", "message.timestamp.difference.max.ms"])
    if (ageMs > most(name))
      return problem(
        name,
        `takes no record older than ${hours(most(name))}, and the oldest is ${hours(ageMs)} old`,
        ANY_TIME,
      );
  const aheadMs = newestMs - nowMs;
  for (const name of ["message.timestamp.after.max.ms", "message.timestamp.difference.max.ms"])
    if (aheadMs > most(name))
      return problem(
        name,
        `takes no record of more than ${hours(most(name))} from now, and the newest is of ${hours(aheadMs)} from now`,
        ANY_TIME,
      );
  return null;
}

function hintOf(topic: string, name: string, value: string): string {
  return `let a new topic be made, or set it: kafka-configs --alter --topic ${topic} --add-config ${name}=${value}`;
}

function hours(ms: number): string {
  return `${(ms / HOUR_MS).toFixed(1)} h`;
}

function unfit(message: string, options: { hint: string; details: Record<string, unknown> }): LabError {
  return new LabError("TARGET_UNFIT", message, options);
}
