/**
 * When somebody should look: one table of rules, each as Prometheus evaluates it and as it is evaluated here, from the same limits.
 * Pure: samples over time in, alerts out.
 */

import { type Part, processOf, type StreamState } from "./control.ts";

/** Times in seconds. */
export const LIMITS = {
  /** Records wait and no position moves. */
  noProgress: 300,
  /** The oldest record that waits is this old, and more wait than so long ago. */
  lag: 60,
  lagWindow: 600,
  lagFor: 300,
  /** A stream waits for the store, the broker or its commits. */
  pausedFor: 300,
  /** This share of the messages of so long became dead letters, and at least so many did. */
  lettersShare: 0.01,
  lettersLeast: 10,
  lettersWindow: 600,
  /** A process does not answer. */
  downFor: 60,
} as const;

export type Alert = {
  name: string;
  severity: "critical" | "warning";
  /** Of a stream, or null for a process. */
  topic: string | null;
  table: string | null;
  /** The process, for one that does not answer. */
  part: string | null;
  /** ISO UTC: when the condition began to hold. */
  since: string;
  message: string;
};

/** What is remembered of one look at a stream, all its workers together. */
type StreamSample = {
  topic: string;
  table: string;
  failed: string | null;
  paused: string | null;
  secondsSinceProgress: number;
  /** Null where it is not known. */
  lag: bigint | null;
  lagSeconds: number;
  /** Per worker, as each counts from 0 when it starts. */
  counts: ReadonlyMap<string, { letters: number; settled: number }>;
};

export type Sample = {
  atMs: number;
  streams: ReadonlyMap<string, StreamSample>;
  /** Processes that are gone or silent, and since when they are looked for. */
  down: readonly string[];
};

/** How long samples are needed. */
export const KEEP_SECONDS = Math.max(LIMITS.lagWindow + LIMITS.lagFor, LIMITS.lettersWindow) + 60;

export function sampleOf(parts: readonly Part[], atMs: number): Sample {
  const streams = new Map<string, StreamSample>();
  const down: string[] = [];
  for (const part of parts) {
    const answers = part.state !== null || !["ingest", "produce"].includes(part.kind);
    if (!part.alive || !answers) down.push(part.name);
    if (part.state?.part !== "ingest") continue;
    for (const stream of part.state.streams) {
      const known = streams.get(stream.tableUri + stream.topic);
      const one = streamSample(stream, processOf(part));
      streams.set(stream.tableUri + stream.topic, known ? together(known, one) : one);
    }
  }
  return { atMs, streams, down };
}

function streamSample(stream: StreamState, worker: string): StreamSample {
  const { topic, table, state, reason, lastError, partitions, totals } = stream;
  const isFailed = state === "failed";
  return {
    ...{ topic, table },
    failed: isFailed ? (lastError?.code ?? "failed") : null,
    paused: isFailed ? null : reason,
    secondsSinceProgress: stream.secondsSinceProgress,
    lag: partitions.some(({ lag }) => lag === null)
      ? null
      : partitions.reduce((sum, { lag }) => sum + BigInt(lag as string), 0n),
    lagSeconds: Math.max(0, ...partitions.map(({ lagSeconds }) => lagSeconds ?? 0)),
    counts: new Map([
      [worker, { letters: totals.letters, settled: totals.rows + totals.letters + totals.skipped }],
    ]),
  };
}

function together(a: StreamSample, b: StreamSample): StreamSample {
  return {
    ...{ topic: a.topic, table: a.table },
    failed: a.failed ?? b.failed,
    paused: a.paused ?? b.paused,
    secondsSinceProgress: Math.max(a.secondsSinceProgress, b.secondsSinceProgress),
    lag: a.lag === null || b.lag === null ? null : a.lag + b.lag,
    lagSeconds: Math.max(a.lagSeconds, b.lagSeconds),
    counts: new Map([...a.counts, ...b.counts]),
  };
}

type Rule = {
  name: string;
  severity: Alert["severity"];
  /** How long the condition must have held. */
  forSeconds: number;
  expr: string;
  /** What Prometheus writes under the alert. */
  summary: string;
  /** Whether it holds for a stream at the last of the samples, and what to say then; null for a rule about processes. */
  holds: ((history: readonly TimedSample[]) => string | null) | null;
};

type TimedSample = StreamSample & { atMs: number };

const by = (expr: string) => `sum by (topic, table) (${expr})`;
const grown = (name: string) => by(`increase(${name}[${LIMITS.lettersWindow}s])`);
const settledRates = ["rows", "letters", "skipped"].map((name) => grown(`lab_ingest_${name}_total`));

export const RULES: readonly Rule[] = [
  {
    name: "LabPartDown",
    severity: "critical",
    forSeconds: LIMITS.downFor,
    expr: 'up{job="lab"} == 0',
    summary: "{{ $labels.instance }} does not answer",
    holds: null,
  },
  {
    name: "LabStreamFailed",
    severity: "critical",
    forSeconds: 0,
    expr: "max by (topic, table) (lab_ingest_failed) == 1",
    summary: "the stream of {{ $labels.topic }} ended by an error that waiting does not heal",
    holds: ([now]) => (now?.failed ? `the stream ended by ${now.failed}, which waiting does not heal` : null),
  },
  {
    name: "LabNoProgress",
    severity: "critical",
    forSeconds: 0,
    expr: `max by (topic, table) (lab_ingest_seconds_since_progress) > ${LIMITS.noProgress}`,
    summary: "records of {{ $labels.topic }} wait, and no position has moved for {{ $value }} s",
    holds: ([now]) =>
      now && now.secondsSinceProgress > LIMITS.noProgress
        ? `records wait, and no position has moved for ${Math.round(now.secondsSinceProgress)} s`
        : null,
  },
  {
    name: "LabLagGrowing",
    severity: "warning",
    forSeconds: LIMITS.lagFor,
    expr: [
      `max by (topic, table) (lab_ingest_lag_seconds) > ${LIMITS.lag}`,
      `${by("lab_ingest_lag_records")} > ${by(`lab_ingest_lag_records offset ${LIMITS.lagWindow}s`)}`,
    ].join(" and "),
    summary: "{{ $labels.topic }} is {{ $value }} s behind, and falls further behind",
    holds: (history) => {
      const [now] = history;
      const then = history.find((sample) => now && now.atMs - sample.atMs >= LIMITS.lagWindow * 1000);
      if (!now || !then || now.lag === null || then.lag === null) return null;
      if (now.lagSeconds <= LIMITS.lag || now.lag <= then.lag) return null;
      return `${now.lag.toLocaleString("en")} records behind, ${(now.lag - then.lag).toLocaleString("en")} more than ${LIMITS.lagWindow / 60} min ago`;
    },
  },
  {
    name: "LabPaused",
    severity: "warning",
    forSeconds: LIMITS.pausedFor,
    expr: "max by (topic, table) (lab_ingest_paused) == 1",
    summary: "the stream of {{ $labels.topic }} waits for the store, the broker or its commits",
    holds: ([now]) => (now?.paused ? `waits: ${now.paused}` : null),
  },
  {
    name: "LabLetters",
    severity: "warning",
    forSeconds: 0,
    expr: [
      `${grown("lab_ingest_letters_total")} >= ${LIMITS.lettersLeast}`,
      `${grown("lab_ingest_letters_total")} > ${LIMITS.lettersShare} * (${settledRates.join(" + ")})`,
    ].join(" and "),
    summary: `{{ $value }} messages of {{ $labels.topic }} became dead letters within ${LIMITS.lettersWindow / 60} min`,
    holds: (history) => {
      const [now] = history;
      const recent = history.filter((sample) => now && now.atMs - sample.atMs <= LIMITS.lettersWindow * 1000);
      const letters = growth(recent, "letters");
      const settled = growth(recent, "settled");
      if (letters < LIMITS.lettersLeast || letters <= LIMITS.lettersShare * settled) return null;
      return `${letters.toLocaleString("en")} of the last ${settled.toLocaleString("en")} messages became dead letters`;
    },
  },
];

/** What the counts of all workers grew by, from the oldest of the samples (newest first) on; a worker that starts anew counts from 0. */
function growth(history: readonly TimedSample[], of: "letters" | "settled"): number {
  let sum = 0;
  for (const [n, later] of history.entries()) {
    const earlier = history[n + 1];
    if (!earlier) break;
    for (const [worker, counts] of later.counts) {
      const before = earlier.counts.get(worker)?.[of] ?? 0;
      sum += counts[of] >= before ? counts[of] - before : counts[of];
    }
  }
  return sum;
}

/** The alerts at the last of these samples, oldest first; critical ones first. What needs more time than the samples span is not there. */
export function alertsOf(samples: readonly Sample[]): Alert[] {
  const newest = samples.at(-1);
  if (!newest) return [];
  const alerts: Alert[] = [];
  for (const key of newest.streams.keys()) {
    const history = samples
      .flatMap(({ atMs, streams }) => {
        const found = streams.get(key);
        return found ? [{ ...found, atMs }] : [];
      })
      .reverse();
    const [now] = history as [TimedSample, ...TimedSample[]];
    for (const rule of RULES) {
      const { holds } = rule;
      if (holds === null) continue;
      const message = holds(history);
      if (message === null) continue;
      const sinceMs = runSince(history, (n) => holds(history.slice(n)) !== null);
      if (newest.atMs - sinceMs < rule.forSeconds * 1000) continue;
      alerts.push(alertBy(rule, sinceMs, message, { topic: now.topic, table: now.table, part: null }));
    }
  }
  const looks = [...samples].reverse();
  for (const part of newest.down) {
    const rule = RULES[0] as Rule;
    const sinceMs = runSince(looks, (n) => looks[n]?.down.includes(part) === true);
    if (newest.atMs - sinceMs < rule.forSeconds * 1000) continue;
    alerts.push(alertBy(rule, sinceMs, `${part} does not answer`, { topic: null, table: null, part }));
  }
  return alerts.sort((a, b) => rank(a) - rank(b));
}

const rank = ({ severity }: Alert) => (severity === "critical" ? 0 : 1);

/** Time of the oldest of the samples, newest first, up to which a condition held without a break. */
function runSince(newestFirst: readonly { atMs: number }[], holds: (index: number) => boolean): number {
  let sinceMs = newestFirst[0]?.atMs ?? 0;
  for (const [n, { atMs }] of newestFirst.entries()) {
    if (!holds(n)) break;
    sinceMs = atMs;
  }
  return sinceMs;
}

function alertBy(
  { name, severity }: Rule,
  sinceMs: number,
  message: string,
  where: Pick<Alert, "topic" | "table" | "part">,
): Alert {
  return { name, severity, ...where, since: new Date(sinceMs).toISOString(), message };
}
