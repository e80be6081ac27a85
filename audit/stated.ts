/** What producers stated, from a version of the audit table. */

import type { AuditVersion } from "./audit-version.ts";
import type { Span } from "./day.ts";
import type { Beat, Statement } from "./findings.ts";
import { sqlText } from "./sql.ts";

/** Origins that were heard in so many days before a span are expected in it. */
export const EXPECTED_DAYS = 7;
const DAY_MS = 86_400_000;
const OF_PRODUCERS = "stage IN ('produced', 'heartbeat')";

export type Stated = {
  statements: Statement[];
  beats: Beat[];
  retired: string[];
};

/** Topics that producers spoke of in the days before the end of `span`. */
export async function auditedTopics(audit: AuditVersion, span: Span, signal: AbortSignal): Promise<string[]> {
  const sql = `SELECT DISTINCT topic FROM ${audit.name} WHERE ${within(span)} AND ${OF_PRODUCERS} ORDER BY topic`;
  return (await audit.rows(sql, signal)).map(([topic]) => String(topic));
}

/** What producers said of `topic`, in their newest words. */
export async function readStated(
  audit: AuditVersion,
  topic: string,
  span: Span,
  signal: AbortSignal,
): Promise<Stated> {
  const from = `FROM ${audit.name} WHERE topic = ${sqlText(topic)} AND ${within(span)}`;
  const ask = (sql: string) => audit.rows(sql, signal);
  const statements = await ask(`
    SELECT origin, epoch, epoch_ms(window_start::TIMESTAMPTZ), max_by("count", revision), max_by(checksum, revision),
      epoch_ms(max_by(sent_at, revision)::TIMESTAMPTZ), max_by(first_sequence, revision), max_by(last_sequence, revision)
    ${from} AND stage = 'produced' AND epoch_ms(window_start::TIMESTAMPTZ) BETWEEN ${span.startMs} AND ${span.endMs - 1}
    GROUP BY ALL`);
  const beats = await ask(`
    SELECT origin, epoch, max_by(host, sent_at), epoch_ms(max(sent_at)::TIMESTAMPTZ),
      epoch_ms(max(_kafka.timestamp)), epoch_ms(max(low_event_time)::TIMESTAMPTZ), bool_or(closed)
    ${from} AND stage = 'heartbeat' GROUP BY origin, epoch`);
  const retired = await ask(`SELECT DISTINCT origin ${from} AND stage = 'retired' ORDER BY origin`);
  return {
    statements: statements.map(([origin, epoch, windowMs, count, checksum, sent, first, last]) => ({
      ...{ origin: String(origin), epoch: Number(epoch), windowMs: Number(windowMs) },
      ...{ count: Number(count), checksum: Number(checksum), sentAtMs: Number(sent) },
      ...{ first: Number(first), last: Number(last) },
    })),
    beats: beats.map(([origin, epoch, host, sent, received, low, closed]) => ({
      ...{ origin: String(origin), epoch: Number(epoch), host: String(host), sentAtMs: Number(sent) },
      ...{ receivedAtMs: Number(received), lowEventTimeMs: Number(low), isClosed: closed === true },
    })),
    retired: retired.map(([origin]) => String(origin)),
  };
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

/** Days of the table's partitions that can hold words about the span. */
function within({ startMs, endMs }: Span): string {
  const from = new Date(startMs - EXPECTED_DAYS * DAY_MS).toISOString().slice(0, 10);
  // A heartbeat that closes a day comes on the next one, or later where the producer was away.
  return `"day" >= '${from}' AND (stage <> 'produced' OR "day" <= '${new Date(endMs).toISOString().slice(0, 10)}')`;
}
