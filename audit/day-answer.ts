/** "Is it the end of the day yet?": the answer for all topics of a day. */

import type { Snapshot, Table } from "../delta/table.ts";
import type { Admin } from "../kafka/ports.ts";
import type { Query } from "../query/query.ts";
import { answerFor, type TopicAnswer, type TopicFacts } from "./answer.ts";
import type { Span } from "./day.ts";
import { readSettled, readStated, topicFacts } from "./facts.ts";
import { WINDOW_MS } from "./header.ts";
import { progressOf } from "./progress.ts";

export type AuditedTopic = {
  topic: string;
  /** Tables that its messages go to. */
  tables: readonly Table[];
  /** Origins that have to be heard, whether they ever were or not. */
  expected: readonly string[];
};

export type DayAnswer = {
  answer: TopicAnswer["answer"];
  /** Messages of the audit topic that are not in the audit table yet: what they say is not in the answer. */
  auditLag: number;
  topics: readonly TopicAnswer[];
};

export type AuditReading = {
  query: Query;
  /** Name of the audit table in the store. */
  audit: { table: string; topic: string };
  admin: Admin;
};

/** The least of all topics' answers. Windows that the span cuts belong to it whole: days of odd zones begin within one. */
export async function answerDay(
  reading: AuditReading,
  topics: readonly AuditedTopic[],
  span: Span,
  nowMs: number,
  signal: AbortSignal,
): Promise<DayAnswer> {
  const whole = wholeWindows(span);
  const auditTable = (await reading.query.catalog.open(reading.audit.table, signal)).table;
  const marks = await reading.admin.watermarks(reading.audit.topic);
  const { lag: auditLag } = progressOf(reading.audit.topic, marks, [await auditTable.latest(signal)]);
  const answers: TopicAnswer[] = [];
  for (const one of topics) answers.push(answerFor(await factsOf(reading, one, whole, signal), whole, nowMs));
  const answer = answers.some((one) => one.answer === "never")
    ? "never"
    : answers.length > 0 && answers.every((one) => one.answer === "yes")
      ? "yes"
      : "not yet";
  return { answer, auditLag, topics: answers };
}

/** The span grown to whole windows. */
export function wholeWindows({ startMs, endMs }: Span): Span {
  return {
    startMs: Math.floor(startMs / WINDOW_MS) * WINDOW_MS,
    endMs: Math.ceil(endMs / WINDOW_MS) * WINDOW_MS,
  };
}

async function factsOf(
  { query, audit, admin }: AuditReading,
  { topic, tables, expected }: AuditedTopic,
  span: Span,
  signal: AbortSignal,
): Promise<TopicFacts> {
  // In this order: what was stated is below these ends, and what is below the positions of a version stands in its log.
  const stated = await readStated(query, audit.table, topic, span, signal);
  const marks = await admin.watermarks(topic);
  const snapshots: Snapshot[] = [];
  for (const table of tables) snapshots.push(await table.latest(signal));
  const progress = progressOf(topic, marks, snapshots);
  const settled = await readSettled(tables, snapshots, topic, span, signal);
  return topicFacts(topic, stated, { ...progress, settled, named: expected }, span);
}
