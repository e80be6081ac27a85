/** Whether a topic keeps what a replay sends to it, looked at before the first record. */

import { LabError } from "../core/errors.ts";
import type { Admin } from "../kafka/ports.ts";

export type Target = {
  topic: string;
  /** As many are made where the topic is missing; where it is there it must not have fewer. */
  partitions: number;
  /** Of the oldest record; null where none has a time. */
  oldestMs: number | null;
  /** Records that are there already are fine. */
  isAppended: boolean;
};

const HOUR_MS = 3_600_000;
const LARGEST_MESSAGE = 64 * 1024 * 1024;

/** A topic that is made for a replay loses nothing by itself. */
const MADE_WITH = {
  "cleanup.policy": "delete",
  "message.timestamp.type": "CreateTime",
  "retention.ms": "-1",
  "retention.bytes": "-1",
  "max.message.bytes": String(LARGEST_MESSAGE),
};

/** Makes the topic where it is missing, and says so. TARGET_UNFIT with the way out. */
export async function prepareTarget(
  admin: Admin,
  target: Target,
  { nowMs, signal }: { nowMs: number; signal: AbortSignal },
): Promise<{ isNew: boolean }> {
  const { topic, partitions } = target;
  const isNew = await admin.createTopic(topic, { partitions, config: MADE_WITH });
  if (isNew) return { isNew };
  const there = (await admin.partitions(topic))?.length ?? 0;
  if (there < partitions)
    throw unfit(`topic ${topic} has ${there} partitions, and the records come from ${partitions}`, {
      hint: `let a new topic be made, or add some: kafka-topics --alter --topic ${topic} --partitions ${partitions}`,
      details: { topic, partitions: there, needed: partitions },
    });
  const problem = misfitOf(await admin.topicConfig(topic), target, nowMs);
  if (problem !== null)
    throw unfit(`topic ${topic} ${problem.what}`, {
      hint: problem.hint,
      details: { topic, ...problem.details },
    });
  const filled = target.isAppended ? null : await filledPartition(admin, topic, signal);
  if (filled !== null)
    throw unfit(`topic ${topic} holds records already, in partition ${filled}`, {
      hint: "give a topic of its own, or add --append to send behind them",
      details: { topic, partition: filled },
    });
  return { isNew };
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
  { topic, oldestMs }: Pick<Target, "topic" | "oldestMs">,
  nowMs: number,
): Problem | null {
  const set = (name: string, value: string) =>
    `let a new topic be made, or set it: kafka-configs --alter --topic ${topic} --add-config ${name}=${value}`;
  const problem = (name: string, what: string, value: string): Problem => ({
    what,
    hint: set(name, value),
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
  if (oldestMs === null) return null;
  const ageMs = nowMs - oldestMs;
  // Brokers round by segments, but a record that is older than this may go at any moment after it arrived.
  const retentionMs = Number(config.get("retention.ms") ?? -1);
  if (retentionMs >= 0 && ageMs > retentionMs)
    return problem(
      "retention.ms",
      `keeps records for ${hours(retentionMs)}, and the oldest is ${hours(ageMs)} old`,
      "-1",
    );
  const mostMs = Number(config.get("message.timestamp.before.max.ms") ?? Number.MAX_SAFE_INTEGER);
  if (ageMs > mostMs)
    return problem(
      "message.timestamp.before.max.ms",
      `takes no record older than ${hours(mostMs)}, and the oldest is ${hours(ageMs)} old`,
      "9223372036854775807",
    );
  return null;
}

function hours(ms: number): string {
  return `${(ms / HOUR_MS).toFixed(1)} h`;
}

function unfit(message: string, options: { hint: string; details: Record<string, unknown> }): LabError {
  return new LabError("TARGET_UNFIT", message, options);
}
