/**
 * When somebody should look at an audit: one table of rules, each as Prometheus evaluates it and as it is evaluated here, from the same
 * limits. Pure: a look at the audit in, alerts out.
 */

import type { TopicAnswer } from "./answer.ts";
import { type Cause, type Finding, SILENT_MS, type Stage } from "./findings.ts";
import { WINDOW_MS, windowOf } from "./header.ts";

/** In ms. */
export const ALERT_LIMITS = {
  /** A window may be open so long after its end. */
  incompleteAfter: 15 * 60_000,
  silent: SILENT_MS,
  /** So far a producer's clock may be from the broker's, in `SKEWED_BEATS` heartbeats in a row. */
  skew: 30_000,
  /** A window that was closed and stated anew is told of for so long. */
  lateFor: 3_600_000,
  /** Commits wait so long to be rolled up: well below the time that a log is kept. */
  rollUpBehind: 48 * 3_600_000,
  /** Nobody looked for so long. */
  blind: 300_000,
} as const;

export const SKEWED_BEATS = 3;

/** What one look at the audit saw. */
export type AuditLook = {
  atMs: number;
  /** Of the days that are watched. */
  answers: readonly TopicAnswer[];
  /** Origins whose last heartbeats came from a clock that is ahead of the broker's (positive), or behind it. */
  skews: readonly { topic: string; origin: string; skewMs: number; atMs: number }[];
  /** Windows that were stated anew after their origin had passed them; `count` is what they hold now. */
  late: readonly { topic: string; origin: string; windowMs: number; count: number; atMs: number }[];
  /** Tables with commits that are not rolled up, and since when. */
  rollUps: readonly { topic: string; table: string; sinceMs: number }[];
};

export type AuditAlert = {
  name: string;
  severity: "critical" | "warning";
  topic: string;
  /** Null where it is about the producer alone. */
  table: string | null;
  origin: string | null;
  stage: Stage;
  cause: string;
  /** The first window that it is about; null where it is about none. */
  windowMs: number | null;
  /** Messages, over all its windows; 0 where nobody knows. */
  count: number;
  /** Windows that it is about. */
  windows: number;
  sinceMs: number;
  message: string;
};

/** Names the cause of an alert: while it is the same, it is the same alert. */
export const alertKey = ({ name, topic, table, origin, stage, cause }: AuditAlert): string =>
  [name, topic, table ?? "", origin ?? "", stage, cause].join("\n");

export type AuditRule = {
  name: string;
  severity: AuditAlert["severity"];
  expr: string;
  /** What Prometheus writes under the alert. */
  summary: string;
  /** Null: it is about the one who looks. */
  find: ((look: AuditLook) => readonly Found[]) | null;
};

type Found = Omit<AuditAlert, "name" | "severity">;

const seconds = (ms: number) => ms / 1_000;

export const AUDIT_RULES: readonly AuditRule[] = [
  {
    name: "LabAuditIncomplete",
    severity: "critical",
    expr: "lab_audit_incomplete_windows > 0",
    summary:
      "{{ $value }} windows of {{ $labels.topic }} are not complete in {{ $labels.table }} for {{ $labels.origin }}: {{ $labels.cause }}",
    find: ({ answers, atMs }) => answers.flatMap((answer) => incomplete(answer, atMs)),
  },
  {
    name: "LabAuditDoubled",
    severity: "critical",
    expr: "lab_audit_doubled_messages > 0",
    summary:
      "{{ $value }} messages of {{ $labels.topic }} by {{ $labels.origin }} are there twice ({{ $labels.stage }})",
    find: ({ answers }) => answers.flatMap(doubled),
  },
  {
    name: "LabAuditSilent",
    severity: "warning",
    expr: `lab_audit_silent_seconds > ${seconds(ALERT_LIMITS.silent)}`,
    summary: "{{ $labels.origin }} of {{ $labels.topic }} sent no heartbeat for {{ $value }} s",
    find: ({ answers, atMs }) => answers.flatMap((answer) => silent(answer, atMs)),
  },
  {
    name: "LabAuditSkew",
    severity: "warning",
    expr: `abs(lab_audit_skew_seconds) > ${seconds(ALERT_LIMITS.skew)}`,
    summary:
      "the clock of {{ $labels.origin }} of {{ $labels.topic }} is {{ $value }} s ahead of the broker's",
    find: ({ skews }) =>
      skews
        .filter(({ skewMs }) => Math.abs(skewMs) > ALERT_LIMITS.skew)
        .map(({ topic, origin, skewMs, atMs }) => ({
          ...{ topic, table: null, origin, stage: "producer", cause: "skew", windowMs: null },
          ...{ count: 0, windows: 0, sinceMs: atMs },
          message: `its clock is ${Math.round(Math.abs(skewMs) / 1_000)} s ${skewMs > 0 ? "ahead of" : "behind"} the broker's`,
        })),
  },
  {
    name: "LabAuditLate",
    severity: "warning",
    expr: "lab_audit_late_windows > 0",
    summary:
      "{{ $value }} windows of {{ $labels.topic }} got messages of {{ $labels.origin }} after they were closed",
    find: (look) => late(look),
  },
  {
    name: "LabAuditRollUpBehind",
    severity: "warning",
    expr: `lab_audit_rollup_behind_seconds > ${seconds(ALERT_LIMITS.rollUpBehind)}`,
    summary: "commits of {{ $labels.table }} are not rolled up for {{ $value }} s",
    find: ({ rollUps, atMs }) =>
      rollUps
        .filter(({ sinceMs }) => atMs - sinceMs > ALERT_LIMITS.rollUpBehind)
        .map(({ topic, table, sinceMs }) => ({
          ...{ topic, table, origin: null, stage: "ingest", cause: "roll-up", windowMs: null },
          ...{ count: 0, windows: 0, sinceMs: sinceMs + ALERT_LIMITS.rollUpBehind },
          message: `commits since ${new Date(sinceMs).toISOString()} are not rolled up: lab audit rollup ${table}`,
        })),
  },
  {
    name: "LabAuditBlind",
    severity: "warning",
    expr: `time() - lab_audit_looked_timestamp_seconds > ${seconds(ALERT_LIMITS.blind)}`,
    summary: "the audit was last looked at {{ $value }} s ago",
    find: null,
  },
];

/** One alert for each cause, over all days of a look: critical ones first, then by age. */
export function auditAlerts(look: AuditLook): AuditAlert[] {
  const alerts = new Map<string, AuditAlert>();
  for (const { name, severity, find } of AUDIT_RULES)
    for (const found of find?.(look) ?? []) {
      const alert: AuditAlert = { name, severity, ...found };
      const key = alertKey(alert);
      const known = alerts.get(key);
      alerts.set(key, known ? together(known, alert) : alert);
    }
  const rank = ({ severity }: AuditAlert) => (severity === "critical" ? 0 : 1);
  return [...alerts.values()].sort((a, b) => rank(a) - rank(b) || a.sinceMs - b.sinceMs);
}

/** The same cause in two windows, or on two days. */
function together(a: AuditAlert, b: AuditAlert): AuditAlert {
  const first = (a.windowMs ?? a.sinceMs) <= (b.windowMs ?? b.sinceMs) ? a : b;
  return { ...first, count: a.count + b.count, windows: a.windows + b.windows };
}

/** Causes for which it is the producer that keeps windows open: all after the one that its event time has come to. */
const OPEN: ReadonlySet<Cause> = new Set(["unheard", "silent", "dead", "lagging", "skewed"]);

/** Findings of windows that ended long enough ago, and origins that have not passed such a window. */
export function incomplete(answer: TopicAnswer, nowMs: number): Found[] {
  const { topic, table, findings, origins } = answer;
  const found = (finding: Finding, windowMs: number, windows: number): Found[] => {
    const sinceMs = windowMs + WINDOW_MS + ALERT_LIMITS.incompleteAfter;
    if (sinceMs > nowMs) return [];
    const { origin, stage, cause, count } = finding;
    const what = count > 0 ? `${count.toLocaleString("en")} messages ` : "";
    return [
      {
        ...{ topic, table, origin, stage, cause, windowMs, count, windows, sinceMs },
        message: `${what}${cause} since the window of ${new Date(windowMs).toISOString()}`,
      },
    ];
  };
  return findings.flatMap((finding) => {
    const { cause, windowMs, origin } = finding;
    if (cause === "running" || cause === "doubled") return [];
    if (windowMs !== undefined) return found(finding, windowMs, 1);
    if (!OPEN.has(cause) || origin === "") return [];
    const state = origins.find((one) => one.origin === origin);
    const fromMs = windowOf(Math.max(answer.spanMs.startMs, state?.passedMs ?? answer.spanMs.startMs));
    const untilMs = Math.min(answer.spanMs.endMs, nowMs - ALERT_LIMITS.incompleteAfter);
    return found(finding, fromMs, Math.max(0, Math.floor((untilMs - fromMs) / WINDOW_MS)));
  });
}

function doubled({ topic, table, findings }: TopicAnswer): Found[] {
  return findings
    .filter(({ cause }) => cause === "doubled")
    .map(({ origin, stage, cause, windowMs, count, sinceMs }) => ({
      ...{ topic, table, origin, stage, cause, windowMs: windowMs ?? null, count, windows: 1 },
      ...{ sinceMs: sinceMs ?? 0 },
      message: `${count.toLocaleString("en")} more than were sent, by the ${stage}, in the window of ${new Date(windowMs ?? 0).toISOString()}`,
    }));
}

function silent({ topic, findings }: TopicAnswer, nowMs: number): Found[] {
  return findings
    .filter(({ cause }) => cause === "silent" || cause === "dead")
    .map(({ origin, sinceMs = nowMs }) => ({
      ...{ topic, table: null, origin, stage: "producer", cause: "silent", windowMs: windowOf(sinceMs) },
      ...{ count: 0, windows: 0, sinceMs: sinceMs + ALERT_LIMITS.silent },
      message: `no heartbeat since ${new Date(sinceMs).toISOString()}`,
    }));
}

function late({ late: some, atMs }: AuditLook): Found[] {
  return some
    .filter((one) => atMs - one.atMs <= ALERT_LIMITS.lateFor)
    .map(({ topic, origin, windowMs, count, atMs: saidMs }) => ({
      ...{ topic, table: null, origin, stage: "producer", cause: "late", windowMs, count, windows: 1 },
      sinceMs: saidMs,
      message: `the window of ${new Date(windowMs).toISOString()} was closed, and has more messages since`,
    }));
}

/** What began and what ended from one look to the next. */
export function changedAlerts(
  before: readonly AuditAlert[],
  now: readonly AuditAlert[],
): { began: AuditAlert[]; ended: AuditAlert[] } {
  const keysOf = (alerts: readonly AuditAlert[]) => new Set(alerts.map(alertKey));
  const [known, still] = [keysOf(before), keysOf(now)];
  return {
    began: now.filter((alert) => !known.has(alertKey(alert))),
    ended: before.filter((alert) => !still.has(alertKey(alert))),
  };
}
