/** What an answer is made from: the audit table, by SQL, and the logs of the tables that hold a topic's messages. */

import { LabError } from "../core/errors.ts";
import type { CommitInfo } from "../delta/actions.ts";
import type { Snapshot, Table } from "../delta/table.ts";
import type { Query } from "../query/query.ts";
import { type Beat, SKEW_MS, type Statement, type TopicFacts } from "./answer.ts";
import type { Span } from "./day.ts";
import { sumSettled } from "./settled.ts";

/** Origins that were heard in so many days before a span are expected in it. */
export const EXPECTED_DAYS = 7;
const DAY_MS = 86_400_000;

export type Stated = {
  statements: Statement[];
  beats: Beat[];
  retired: string[];
};

/** Topics that the audit table has heard of in the days before the end of `span`. */
export async function auditedTopics(
  { query }: Query,
  audit: string,
  span: Span,
  signal: AbortSignal,
): Promise<string[]> {
  const sql = `SELECT DISTINCT topic FROM ${quoted(audit)} WHERE ${within(span)} AND stage <> 'retired' ORDER BY topic`;
  return (await query(sql, { signal })).rows.map(([topic]) => String(topic));
}

/** What producers said of `topic`, in their newest words. */
export async function readStated(
  { query }: Query,
  audit: string,
  topic: string,
  span: Span,
  signal: AbortSignal,
): Promise<Stated> {
  const from = `FROM ${quoted(audit)} WHERE topic = ${text(topic)} AND ${within(span)}`;
  const ask = async (sql: string) => (await query(sql, { signal })).rows;
  const statements = await ask(`
    SELECT origin, epoch, epoch_ms(window_start::TIMESTAMPTZ), max_by("count", revision), max_by(checksum, revision)
    ${from} AND stage = 'produced' AND epoch_ms(window_start::TIMESTAMPTZ) BETWEEN ${span.startMs} AND ${span.endMs - 1}
    GROUP BY ALL`);
  const beats = await ask(`
    SELECT origin, epoch, max_by(host, sent_at), epoch_ms(max(sent_at)::TIMESTAMPTZ),
      epoch_ms(max(_kafka.timestamp)), epoch_ms(max(low_event_time)::TIMESTAMPTZ), bool_or(closed)
    ${from} AND stage = 'heartbeat' GROUP BY origin, epoch`);
  const retired = await ask(`SELECT DISTINCT origin ${from} AND stage = 'retired' ORDER BY origin`);
  return {
    statements: statements.map(([origin, epoch, windowMs, count, checksum]) => ({
      ...{ origin: String(origin), epoch: Number(epoch), windowMs: Number(windowMs) },
      ...{ count: Number(count), checksum: Number(checksum) },
    })),
    beats: beats.map(([origin, epoch, host, sent, received, low, closed]) => ({
      ...{ origin: String(origin), epoch: Number(epoch), host: String(host), sentAtMs: Number(sent) },
      ...{ receivedAtMs: Number(received), lowEventTimeMs: Number(low), isClosed: closed === true },
    })),
    retired: retired.map(([origin]) => String(origin)),
  };
}

/**
 * Commits of `tables` up to these versions, since the span began: what it holds came in them, as nothing is sent before it happens. One from
 * the last minutes before it counts, too: clocks differ.
 */
export async function readSettled(
  tables: readonly Table[],
  versions: readonly Pick<Snapshot, "version">[],
  topic: string,
  span: Span,
  signal: AbortSignal,
) {
  const infos: (CommitInfo | undefined)[] = [];
  for (const [i, table] of tables.entries())
    for await (const { version, timestampMs, commitInfo } of table.history({ signal })) {
      if (timestampMs < span.startMs - SKEW_MS) break;
      if (version <= versions[i]!.version) infos.push(commitInfo);
    }
  return sumSettled(topic, infos);
}

/** Origins that spoke in the days before the span's end, and did not end in order before it began. */
export function expectedOrigins(beats: readonly Beat[], span: Span): string[] {
  const newest = new Map<string, Beat>();
  for (const beat of beats)
    if (beat.epoch < span.endMs && !(beat.epoch < (newest.get(beat.origin)?.epoch ?? 0)))
      newest.set(beat.origin, beat);
  return [...newest.values()]
    .filter(({ isClosed, sentAtMs }) => !isClosed || sentAtMs >= span.startMs)
    .map(({ origin }) => origin);
}

/** Puts together what an answer for one topic needs. */
export function topicFacts(
  topic: string,
  stated: Stated,
  rest: Pick<TopicFacts, "settled" | "lag" | "gone"> & { named: readonly string[] },
  span: Span,
): TopicFacts {
  const { named, ...more } = rest;
  const expected = [...new Set([...named, ...expectedOrigins(stated.beats, span)])];
  return { topic, ...stated, ...more, expected };
}

/** Days of the table's partitions that can hold words about the span. */
function within({ startMs, endMs }: Span): string {
  const from = new Date(startMs - EXPECTED_DAYS * DAY_MS).toISOString().slice(0, 10);
  // A heartbeat that closes a day comes on the next one, or later where the producer was away.
  return `"day" >= '${from}' AND (stage <> 'produced' OR "day" <= '${new Date(endMs).toISOString().slice(0, 10)}')`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function text(value: string): string {
  if (value.includes("\0")) throw new LabError("USAGE", "a topic's name has no NUL byte");
  return `'${value.replaceAll("'", "''")}'`;
}
