/** The port through which the dashboard asks whether a day is complete; cli implements it. Times are ISO 8601 in UTC, offsets text. */

import type { Alert } from "./alerts.ts";

export type AuditControl = {
  /**
   * The answer for a day, `today` or `yesterday` too, by the clocks of a zone. USAGE where there is no such day or zone, TABLE_NOT_FOUND where nothing is
   * audited, BROKER_UNREACHABLE.
   */
  day(date: string, timeZone: string, signal: AbortSignal): Promise<AuditDay>;
  /** As of the last look at today and yesterday. */
  alerts(): readonly Alert[];
};

export type AuditDay = {
  date: string;
  timeZone: string;
  /** Inclusive. */
  from: string;
  /** Exclusive. */
  to: string;
  answer: AuditAnswer;
  /** Messages of the audit topic that are not in the audit table yet. */
  auditLag: number;
  /** Heartbeats bear the broker's time. */
  brokersClock: boolean;
  topics: readonly AuditedTopic[];
};

export type AuditAnswer = "yes" | "not yet" | "never";

export type AuditedTopic = {
  topic: string;
  table: string | null;
  answer: AuditAnswer;
  produced: number;
  settled: number;
  letters: number;
  unproven: number;
  unstamped: number;
  absent: number | null;
  percent: number;
  /** All origins have passed this event time. */
  completeTo: string;
  findings: readonly AuditFinding[];
  origins: readonly AuditedOrigin[];
  /** In the order of time, those of which something is known; absent where they were not asked for. */
  windows?: readonly AuditedWindow[];
};

export type AuditFinding = {
  origin: string;
  epoch: number | null;
  window: string | null;
  stage: "producer" | "broker" | "ingest";
  cause: string;
  count: number;
  since: string | null;
  /** Places in the window, as ranges with both ends. */
  sequences?: readonly (readonly [first: number, last: number])[];
  exact?: boolean;
  places?: readonly { sequence: number; partition: number; offset: string }[];
};

export type AuditedOrigin = {
  origin: string;
  host: string | null;
  state: string;
  heard: string | null;
  passed: string | null;
  produced: number;
  settled: number;
};

export type AuditedWindow = {
  window: string;
  produced: number;
  settled: number;
  letters: number;
  amiss: number;
};
