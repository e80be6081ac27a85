/** One look at the audit of today and yesterday, for those who watch. */

import { commitPath } from "../delta/log-names.ts";
import type { Table } from "../delta/table.ts";
import { ALERT_LIMITS, type AuditLook, SKEWED_BEATS } from "./alerts.ts";
import { type AuditVersion, auditVersion } from "./audit-version.ts";
import { dateIn, dayIn } from "./day.ts";
import { type AuditReading, answerDay } from "./day-answer.ts";
import { WINDOW_MS } from "./header.ts";
import { rolledUp } from "./rolled.ts";
import { EXPECTED_DAYS } from "./stated.ts";

const DAY_MS = 86_400_000;
/** An origin that has not been heard for so long has no clock to speak of. */
const RECENT_MS = 10 * 60_000;

/** Findings are counted, not named: whoever is told of one asks. TABLE_NOT_FOUND where there is no audit table. */
export async function lookAt(
  reading: Omit<AuditReading, "explaining">,
  timeZone: string,
  nowMs: number,
  signal: AbortSignal,
): Promise<AuditLook> {
  const answers = [];
  for (const date of watchedDates(timeZone, nowMs)) {
    const { topics } = await answerDay(reading, undefined, dayIn(timeZone, date), nowMs, signal);
    answers.push(...topics);
  }
  const version = await auditVersion(reading.query, reading.audit.table, signal);
  const rollUps: AuditLook["rollUps"][number][] = [];
  for (const [topic, beganMs] of await readBeginnings(version, nowMs, signal))
    for (const { name, table } of await reading.tablesOf(topic, signal)) {
      const sinceMs = await unrolledSince(version, table, signal);
      if (sinceMs !== undefined) rollUps.push({ topic, table: name, sinceMs: Math.max(sinceMs, beganMs) });
    }
  return {
    ...{ atMs: nowMs, answers, rollUps },
    skews: await readSkews(version, nowMs, signal),
    late: await readLate(version, nowMs, signal),
  };
}

/** Yesterday and today by the clocks of a zone; a date that the zone left out is none. */
function watchedDates(timeZone: string, nowMs: number): string[] {
  const today = dateIn(timeZone, nowMs);
  const { startMs } = dayIn(timeZone, today);
  return [dateIn(timeZone, startMs - 1), today];
}

async function readSkews(
  audit: AuditVersion,
  nowMs: number,
  signal: AbortSignal,
): Promise<AuditLook["skews"]> {
  const rows = await audit.rows(
    `SELECT topic, origin, max_by(skew, received), min(abs(skew)), max(received) FROM (
       SELECT topic, origin, epoch_ms(sent_at::TIMESTAMPTZ) - epoch_ms(_kafka.timestamp) AS skew,
         epoch_ms(_kafka.timestamp) AS received,
         row_number() OVER (PARTITION BY topic, origin ORDER BY _kafka.timestamp DESC, sent_at DESC) AS n
       FROM ${audit.name}
       WHERE "day" >= '${isoDay(nowMs - DAY_MS)}' AND stage = 'heartbeat' AND _kafka.timestamp_type = 'append'
         AND _kafka.timestamp >= TIMESTAMPTZ '${new Date(nowMs - RECENT_MS).toISOString()}'
     ) AS beats WHERE n <= ${SKEWED_BEATS}
     GROUP BY topic, origin
     HAVING count(*) = ${SKEWED_BEATS} AND min(abs(skew)) > ${ALERT_LIMITS.skew}
     ORDER BY topic, origin`,
    signal,
  );
  return rows.map(([topic, origin, newest, least, received]) => ({
    ...{ topic: String(topic), origin: String(origin), atMs: Number(received) },
    skewMs: Math.sign(Number(newest)) * Number(least),
  }));
}

async function readLate(audit: AuditVersion, nowMs: number, signal: AbortSignal): Promise<AuditLook["late"]> {
  const sent = (of: string) => `epoch_ms(${of}.sent_at::TIMESTAMPTZ)`;
  const start = "epoch_ms(said.window_start::TIMESTAMPTZ)";
  const rows = await audit.rows(
    `SELECT said.topic, said.origin, ${start}, max_by(said."count", said.revision), max(${sent("said")})
     FROM ${audit.name} AS said JOIN ${audit.name} AS beat
       ON beat.topic = said.topic AND beat.origin = said.origin AND beat.epoch = said.epoch
     WHERE said.stage = 'produced' AND beat.stage = 'heartbeat'
       AND said."day" >= '${isoDay(nowMs - 2 * DAY_MS)}' AND beat."day" >= '${isoDay(nowMs - 2 * DAY_MS)}'
       AND ${sent("said")} >= ${nowMs - ALERT_LIMITS.lateFor} AND ${sent("beat")} < ${sent("said")}
       AND epoch_ms(beat.low_event_time::TIMESTAMPTZ) >= ${start} + ${WINDOW_MS}
     GROUP BY ALL ORDER BY ALL`,
    signal,
  );
  return rows.map(([topic, origin, windowMs, count, atMs]) => ({
    ...{ topic: String(topic), origin: String(origin), windowMs: Number(windowMs) },
    ...{ count: Number(count), atMs: Number(atMs) },
  }));
}

/** Time of the oldest commit that is not rolled up; undefined where all are. */
async function unrolledSince(
  audit: AuditVersion,
  table: Table,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { version, metadata } = await table.latest(signal);
  const next = (rolledUp(audit.snapshot, metadata.id)?.version ?? -1) + 1;
  if (next > version) return undefined;
  const startAfter = commitPath(next).replace(/\.json$/, "");
  for await (const { modifiedMs } of table.store.list("_delta_log/", { startAfter, signal }))
    return modifiedMs;
  return undefined;
}

/** When producers began to speak of each topic, as far back as origins are expected: commits before say nothing to an audit. */
async function readBeginnings(
  audit: AuditVersion,
  nowMs: number,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number>> {
  const rows = await audit.rows(
    `SELECT topic, min(epoch_ms(sent_at::TIMESTAMPTZ)) FROM ${audit.name}
     WHERE "day" >= '${isoDay(nowMs - EXPECTED_DAYS * DAY_MS)}' AND stage = 'heartbeat' GROUP BY topic`,
    signal,
  );
  return new Map(rows.map(([topic, ms]) => [String(topic), Number(ms)]));
}

const isoDay = (ms: number) => new Date(ms).toISOString().slice(0, 10);
