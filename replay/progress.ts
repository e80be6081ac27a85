/**
 * How far a replay has come, kept where it cannot part from what was sent: the last record of each transaction goes to a topic of its own,
 * `<target>.replay-<first 8 of the table's id>`, with one partition, compacted. Its key is the transactional id, its value this document.
 */

import { createHash } from "node:crypto";
import { LabError } from "../core/errors.ts";
import type { Admin, ExactRecord } from "../kafka/ports.ts";
import { type Place, progressFromJson, progressToJson } from "./place.ts";
import { type Tallies, talliesFromJson, talliesToJson } from "./tally.ts";

export type ReplayProgress = {
  /** What was asked for: `range.ts` as text, the newest version that was meant if one was named, the topic read, and over how many partitions records are spread anew. */
  asked: { from: string; to: number | null; topic: string; value: string; repartition: number | null };
  /** The version whose rows are sent. */
  version: number;
  /** The last record sent of each partition, and where the others begin. */
  reached: Map<number, Place>;
  sent: number;
  bytes: number;
  /** Of those sent: values made again of columns. */
  reencoded: number;
  /** What the target got since it was last compared, or since the replay began. */
  tallies: Tallies;
  isDone: boolean;
  /** Of what is done: the target was compared with `tallies`. */
  isChecked: boolean;
};

/** Of the document's form. */
const VERSION = 2;
const LONGEST_TOPIC = 249;

/** The id under which a table is replayed into a topic: one at a time. */
export function transactionalIdOf(tableId: string, target: string): string {
  return `lab/replay/${tableId}/${target}`;
}

export function progressTopicOf(tableId: string, target: string): string {
  const suffix = `.replay-${tableId.replace(/[^A-Za-z0-9]/g, "").slice(0, 8)}`;
  const name = `${target}${suffix}`;
  if (name.length <= LONGEST_TOPIC) return name;
  const digest = createHash("sha256").update(target).digest("hex").slice(0, 16);
  return `${target.slice(0, LONGEST_TOPIC - suffix.length - digest.length - 1)}-${digest}${suffix}`;
}

/** Makes the topic where it is missing. */
export async function ensureProgressTopic(admin: Admin, topic: string): Promise<void> {
  await admin.createTopic(topic, { partitions: 1, config: { "cleanup.policy": "compact" } });
}

/** The record of a progress, for the topic above. */
export function progressRecord(
  transactionalId: string,
  progress: ReplayProgress,
  nowMs: number,
): ExactRecord {
  const { reached, tallies } = progress;
  const document = {
    ...{ v: VERSION, ...progress },
    reached: progressToJson(reached),
    tallies: talliesToJson(tallies),
  };
  return {
    partition: 0,
    timestampMs: nowMs,
    key: Buffer.from(transactionalId),
    value: Buffer.from(JSON.stringify(document)),
    headers: [],
  };
}

/**
 * The newest progress of an id; null where it has none. To be called once the id's transactional sink is open: then whatever an earlier holder
 * sent is committed or gone, and the topic is read to its end. KAFKA_PROTOCOL for a record that is none of ours.
 */
export async function readProgress(
  admin: Admin,
  topic: string,
  transactionalId: string,
  signal: AbortSignal,
): Promise<ReplayProgress | null> {
  const { low, high } = (await admin.watermarks(topic)).get(0) ?? { low: 0n, high: 0n };
  // From the end in growing steps: records that compaction has not taken yet may be many.
  for (let [end, step] = [high, 4n]; end > low; step *= 4n) {
    const start = end - step < low ? low : end - step;
    let newest: Buffer | null | undefined;
    for (let at = start; at < end; ) {
      const found = await admin.recordAt({ topic, partition: 0, nextOffset: at }, signal);
      if (found === null || found.offset >= end) break;
      if (found.key?.toString() === transactionalId) newest = found.value;
      at = found.offset + 1n;
    }
    if (newest !== undefined) return parse(newest, topic);
    end = start;
  }
  return null;
}

function parse(value: Buffer | null, topic: string): ReplayProgress {
  try {
    const document = JSON.parse(String(value)) as ReplayProgress & { v: number };
    const { v, reached, tallies, ...rest } = document;
    if (v === VERSION)
      return { ...rest, reached: progressFromJson(reached), tallies: talliesFromJson(tallies) };
  } catch {
    // not ours either
  }
  throw new LabError("KAFKA_PROTOCOL", `topic ${topic} holds a record that is no progress of a replay`, {
    hint: "another program writes there, or a newer lab: give another --to-topic",
    details: { topic },
  });
}
