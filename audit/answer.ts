/** Is a span of event time complete in a table? Decided from what producers state, what commits settled, and where the ingester is; pure. */

import { type Cell, cellsOf, compareCell } from "./cells.ts";
import type { Span } from "./day.ts";
import type { Finding, TopicFacts } from "./findings.ts";
import { UNSTAMPED } from "./header.ts";
import { mayHaveSent, type OriginState, openEnd, originState } from "./origins.ts";

export type TopicAnswer = {
  topic: string;
  /** The table that is asked about; null where there is none yet. */
  table: string | null;
  answer: "yes" | "not yet" | "never";
  produced: number;
  settled: number;
  letters: number;
  /** Messages of a run that ended without a last word: they are in the table, and nobody says how many there should be. */
  unproven: number;
  /** Messages without a stamp, which nobody counted. */
  unstamped: number;
  /** Settled messages that are neither row nor letter: left out by a transform, or deleted since; null where rows were not read. */
  absent: number | null;
  /** Rounded down to hundredths; 100 only where the answer is yes. */
  percent: number;
  findings: readonly Finding[];
  /** What was asked, in whole windows. */
  spanMs: Span;
  /** By name. */
  origins: readonly OriginState[];
  /** In the order of time; those of which nothing is known are not there. */
  windows: readonly WindowState[];
  /** Up to here, in event time, nothing more is to come of any origin that is waited for; the span's end where none is. In ms. */
  completeToMs: number;
};

/** All origins of a window together. */
export type WindowState = {
  windowMs: number;
  produced: number;
  settled: number;
  letters: number;
  /** Messages that findings of this window speak of. */
  amiss: number;
};

/** What was stated and settled of the windows of a span. */
export function within(facts: TopicFacts, span: Span): TopicFacts {
  const isIn = ({ windowMs }: { windowMs: number }) => windowMs >= span.startMs && windowMs < span.endMs;
  return { ...facts, statements: facts.statements.filter(isIn), settled: facts.settled.filter(isIn) };
}

/** Windows are whole: `span` begins and ends at the start of one. */
export function answerFor(facts: TopicFacts, span: Span, nowMs: number): TopicAnswer {
  const { statements, settled } = within(facts, span);
  const names = new Set([
    ...facts.expected,
    ...[...statements, ...settled].map(({ origin }) => origin),
    ...facts.beats.filter((beat) => mayHaveSent(beat, span)).map(({ origin }) => origin),
  ]);
  names.delete(UNSTAMPED.origin);
  const findings: Finding[] = [];
  const nobody = { origin: UNSTAMPED.origin, epoch: undefined, windowMs: undefined, count: 0 };
  // An origin that ended in order may come back while the day lasts.
  if (nowMs < span.endMs)
    findings.push({ ...nobody, stage: "producer", cause: "running", sinceMs: span.startMs });
  else if (names.size === 0)
    findings.push({ ...nobody, stage: "producer", cause: "unheard", sinceMs: undefined });
  const sums = { produced: 0, settled: 0, agreed: 0, letters: 0, unproven: 0 };
  const origins: OriginState[] = [];
  const windows = new Map<number, WindowState>();
  for (const origin of [...names].sort()) {
    const of = <T extends { origin: string }>(some: readonly T[]) =>
      some.filter((one) => one.origin === origin);
    const beats = of(facts.beats).sort((a, b) => a.epoch - b.epoch);
    const isRetired = facts.retired.includes(origin);
    const waiting = isRetired ? undefined : openEnd(origin, beats, span, nowMs);
    if (waiting) findings.push(waiting);
    const cells = cellsOf(of(statements), of(settled));
    for (const cell of cells) {
      const isOpen = !isEnded(cell.epoch, beats);
      const isSuperseded = isOpen && (isRetired || beats.some(({ epoch }) => epoch > cell.epoch));
      const found = compareCell(origin, cell, { isSuperseded, isOpen, facts });
      findings.push(...found);
      const beyond = isSuperseded ? Math.max(0, cell.found - cell.stated) : 0;
      sums.produced += cell.stated + beyond;
      sums.unproven += beyond;
      sums.settled += cell.found;
      sums.letters += cell.letters;
      sums.agreed += Math.min(cell.found, cell.stated + beyond);
      addTo(windows, cell, cell.stated + beyond, found);
    }
    origins.push(originState(origin, beats, { cells, waiting, isRetired, nowMs, span }));
  }
  const answer = findings.some(({ cause }) => cause === "gone" || cause === "forgotten")
    ? "never"
    : findings.length === 0
      ? "yes"
      : "not yet";
  return {
    ...{ topic: facts.topic, table: facts.table, answer, spanMs: span },
    ...{ produced: sums.produced, settled: sums.settled, letters: sums.letters, unproven: sums.unproven },
    unstamped: settled.reduce(
      (sum, { origin, received }) => (origin === UNSTAMPED.origin ? sum + received : sum),
      0,
    ),
    absent: null,
    percent: percentOf(answer, sums.agreed, sums.produced),
    ...{ findings, origins, windows: [...windows.values()].sort((a, b) => a.windowMs - b.windowMs) },
    completeToMs: completeTo(origins, span, nowMs),
  };
}

const isEnded = (epoch: number, beats: TopicFacts["beats"]) =>
  beats.some((beat) => beat.epoch === epoch && beat.isClosed);

function addTo(
  windows: Map<number, WindowState>,
  { windowMs, found, letters }: Cell,
  produced: number,
  findings: readonly Finding[],
): void {
  const sum = windows.get(windowMs) ?? { windowMs, produced: 0, settled: 0, letters: 0, amiss: 0 };
  windows.set(windowMs, {
    windowMs,
    produced: sum.produced + produced,
    settled: sum.settled + found,
    letters: sum.letters + letters,
    amiss: findings.reduce((amiss, { count }) => amiss + count, sum.amiss),
  });
}

/** The least of what those say that are still waited for. */
function completeTo(origins: readonly OriginState[], span: Span, nowMs: number): number {
  const latest = Math.max(span.startMs, Math.min(span.endMs, nowMs));
  if (origins.length === 0) return span.startMs;
  return origins.reduce(
    (least, { passedMs }) => Math.max(span.startMs, Math.min(least, passedMs ?? span.startMs)),
    latest,
  );
}

function percentOf(answer: TopicAnswer["answer"], agreed: number, produced: number): number {
  if (answer === "yes") return 100;
  if (produced === 0) return 0;
  return Math.min(9_999, Math.floor((agreed * 10_000) / produced)) / 100;
}
