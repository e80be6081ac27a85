/** "Is it the end of the day yet?": the answer for all topics of a day. */

import type { Admin, Position } from "../kafka/ports.ts";
import type { NamedTable } from "../query/catalog.ts";
import type { Query } from "../query/query.ts";
import { answerFor, type TopicAnswer, within } from "./answer.ts";
import { type AuditVersion, auditVersion } from "./audit-version.ts";
import type { Span } from "./day.ts";
import { type Explaining, explain } from "./explain.ts";
import type { TopicFacts } from "./findings.ts";
import { WINDOW_MS } from "./header.ts";
import { progressOf } from "./progress.ts";
import { readSettled } from "./read-settled.ts";
import { rolledUp } from "./rolled.ts";
import { auditedTopics, expectedOrigins, readStated } from "./stated.ts";

export type AuditReading = {
  query: Query;
  /** Name of the audit table in the store, and where its rows are from. */
  audit: { table: string; topic: string };
  admin: Admin;
  /** Tables that a topic's messages go to, each with all of them; none before the first commit. */
  tablesOf: (topic: string, signal: AbortSignal) => Promise<readonly NamedTable[]>;
  /** Origins of each topic that have to be heard, whether they ever were or not. */
  expected: ReadonlyMap<string, readonly string[]>;
  /** Absent: findings count, and do not name messages. */
  explaining?: Pick<Explaining, "kafka" | "allRows">;
};

export type DayAnswer = {
  answer: TopicAnswer["answer"];
  /** Messages of the audit topic that are not in the audit table yet: what they say is not in the answer. */
  auditLag: number;
  /** Whether heartbeats bear the broker's time; where they do not, a clock that is ahead cannot be told. */
  isBrokersClock: boolean;
  /** One for each table that a topic goes to. */
  topics: readonly TopicAnswer[];
};

/**
 * The least of all topics' answers: of `asked`, or of all that were heard of or are expected. Windows that the span cuts belong to it
 * whole: days of odd zones begin within one. TABLE_NOT_FOUND where there is no audit table.
 */
export async function answerDay(
  reading: AuditReading,
  asked: string | undefined,
  span: Span,
  nowMs: number,
  signal: AbortSignal,
): Promise<DayAnswer> {
  const whole = wholeWindows(span);
  const { query, audit, admin, expected } = reading;
  const version = await auditVersion(query, audit.table, signal);
  const marks = await admin.watermarks(audit.topic);
  const topics =
    asked === undefined
      ? [...new Set([...(await auditedTopics(version, whole, signal)), ...expected.keys()])].sort()
      : [asked];
  const answers: TopicAnswer[] = [];
  for (const topic of topics) {
    const tables = await reading.tablesOf(topic, signal);
    for (const table of tables.length > 0 ? tables : [null]) {
      const facts = await factsOf(reading, version, { topic, table }, whole, signal);
      const answer = answerFor(facts, whole, nowMs);
      const how = reading.explaining && { query, admin, ...reading.explaining };
      answers.push(how ? await explain(answer, within(facts, whole), table, how, signal) : answer);
    }
  }
  return {
    answer: leastOf(answers),
    auditLag: progressOf(audit.topic, marks, version.snapshot).lag,
    isBrokersClock: (await admin.topicConfig(audit.topic)).get("message.timestamp.type") === "LogAppendTime",
    topics: answers,
  };
}

function leastOf(answers: readonly TopicAnswer[]): TopicAnswer["answer"] {
  if (answers.some(({ answer }) => answer === "never")) return "never";
  return answers.length > 0 && answers.every(({ answer }) => answer === "yes") ? "yes" : "not yet";
}

/** The span grown to whole windows. */
export function wholeWindows({ startMs, endMs }: Span): Span {
  return {
    startMs: Math.floor(startMs / WINDOW_MS) * WINDOW_MS,
    endMs: Math.ceil(endMs / WINDOW_MS) * WINDOW_MS,
  };
}

async function factsOf(
  { query, audit, admin, expected }: AuditReading,
  first: AuditVersion,
  { topic, table }: { topic: string; table: NamedTable | null },
  span: Span,
  signal: AbortSignal,
): Promise<TopicFacts> {
  let version = first;
  for (;;) {
    // In this order: what was stated is below these ends, and what is below the positions of a version stands in its log.
    const stated = await readStated(version, topic, span, signal);
    const marks = await admin.watermarks(topic);
    const snapshot = (await table?.table.latest(signal)) ?? null;
    const { lag, gone, waiting } = progressOf(topic, marks, snapshot);
    const parts =
      table && snapshot ? await readSettled(version, table.table, snapshot, span, signal) : undefined;
    if (snapshot && parts?.isBehind) {
      // Perhaps the log was rolled up and cleaned up since.
      const newer = await auditVersion(query, audit.table, signal);
      const upTo = (of: AuditVersion) => rolledUp(of.snapshot, snapshot.metadata.id)?.version ?? -1;
      const isFurther = upTo(newer) > upTo(version);
      version = newer;
      if (isFurther) continue;
    }
    return {
      ...{ topic, table: table?.name ?? null, ...stated, lag, gone },
      expected: [...new Set([...(expected.get(topic) ?? []), ...expectedOrigins(stated.beats, span)])],
      settled: parts?.settled.filter((one) => one.topic === topic) ?? [],
      waitingSinceMs: await oldestTime(admin, waiting, signal),
      forgottenMs: parts?.forgottenMs,
    };
  }
}

/** Undefined where one does not tell. */
async function oldestTime(
  admin: Admin,
  waiting: readonly Position[],
  signal: AbortSignal,
): Promise<number | undefined> {
  let oldest = Number.POSITIVE_INFINITY;
  for (const position of waiting) {
    const record = await admin.recordAt(position, signal);
    if (record !== null) oldest = Math.min(oldest, record.timestampMs);
  }
  return Number.isFinite(oldest) ? oldest : undefined;
}
