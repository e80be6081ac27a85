/** Is a span of event time complete in a table? Decided from what producers state, what commits settled, and where the ingester is; pure. */

import type { Span } from "./day.ts";
import { UNSTAMPED, WINDOW_MS } from "./header.ts";

/** What a run of an origin sent of a window: totals that the broker acknowledged, as of its highest revision. */
export type Statement = Run & { windowMs: number; count: number; checksum: number };

/** The newest heartbeat of a run. */
export type Beat = Run & {
  host: string;
  sentAtMs: number;
  /** When the broker had it, by the broker's clock. */
  receivedAtMs: number;
  /** Nothing earlier will come. */
  lowEventTimeMs: number;
  /** The run ended in order: nothing at all will come. */
  isClosed: boolean;
};

/** Messages of a run and a window that commits of a table settled. */
export type Settled = Run & {
  windowMs: number;
  /** Rows, letters, and what a transform left out. */
  received: number;
  letters: number;
  checksum: number;
};

/** `epoch`: when the run began, in ms. */
export type Run = { origin: string; epoch: number };

export type TopicFacts = {
  topic: string;
  statements: readonly Statement[];
  beats: readonly Beat[];
  settled: readonly Settled[];
  /** Origins without which no window is complete. */
  expected: readonly string[];
  /** Origins that will send no more, by the user's word. */
  retired: readonly string[];
  /** Messages of the topic that are not settled yet. */
  lag: number;
  /** Messages that retention took from the topic before they were settled. */
  gone: number;
};

/**
 * Why a span is not complete. `running`: it is not over by the clock. Of the producer: `unheard` (an expected origin never sent a heartbeat, or
 * there is none at all: a topic that nobody audits is never complete), `silent` (none for `SILENT_MS`), `lagging`
 * (its event time has not passed the span yet), `skewed` (its clock is ahead of the broker's, and not believed). Between broker and table:
 * `in flight`, `lost`, `gone` (retention was faster), `doubled`, `altered` (as many, but not the same).
 */
export type Cause =
  | "running"
  | "unheard"
  | "silent"
  | "lagging"
  | "skewed"
  | "in flight"
  | "lost"
  | "gone"
  | "doubled"
  | "altered";

export type Finding = {
  origin: string;
  /** Absent where no run is to blame: the origin was never heard of. */
  epoch: number | undefined;
  /** The window it is about; absent where it is about the whole span. */
  windowMs: number | undefined;
  stage: "producer" | "ingest";
  cause: Cause;
  /** Messages; 0 where it is not known how many. */
  count: number;
  /** Since when; absent where nobody knows. */
  sinceMs: number | undefined;
};

export type TopicAnswer = {
  topic: string;
  answer: "yes" | "not yet" | "never";
  produced: number;
  settled: number;
  letters: number;
  /** Messages of a run that ended without a last word: they are in the table, and nobody says how many there should be. */
  unproven: number;
  /** Messages without a stamp, which nobody counted. */
  unstamped: number;
  /** Rounded down to hundredths; 100 only where the answer is yes. */
  percent: number;
  findings: readonly Finding[];
};

/** Heartbeats come every 10 s: six are missing. */
export const SILENT_MS = 60_000;
/** How far ahead of the broker's clock an event time may be to be believed. */
export const SKEW_MS = 5 * 60_000;

const STAGES: Record<Cause, Finding["stage"]> = {
  ...{
    running: "producer",
    unheard: "producer",
    silent: "producer",
    lagging: "producer",
    skewed: "producer",
  },
  ...{ "in flight": "ingest", lost: "ingest", gone: "ingest", doubled: "ingest", altered: "ingest" },
};

/** Windows are whole: `span` begins and ends at the start of one. */
export function answerFor(facts: TopicFacts, span: Span, nowMs: number): TopicAnswer {
  const within = <T extends { windowMs: number }>(some: readonly T[]) =>
    some.filter(({ windowMs }) => windowMs >= span.startMs && windowMs < span.endMs);
  const statements = within(facts.statements);
  const settled = within(facts.settled);
  const unstamped = settled.filter(({ origin }) => origin === UNSTAMPED.origin);
  const origins = new Set([
    ...facts.expected,
    ...[...statements, ...settled].map(({ origin }) => origin),
    ...facts.beats.filter((beat) => mayHaveSent(beat, span)).map(({ origin }) => origin),
  ]);
  origins.delete(UNSTAMPED.origin);
  const sums = { produced: 0, settled: 0, agreed: 0, letters: 0, unproven: 0 };
  const findings: Finding[] = [];
  const nobody = { origin: UNSTAMPED.origin, epoch: undefined, windowMs: undefined, count: 0 };
  // An origin that ended in order may come back while the day lasts.
  if (nowMs < span.endMs)
    findings.push({ ...nobody, stage: "producer", cause: "running", sinceMs: span.startMs });
  else if (origins.size === 0)
    findings.push({ ...nobody, stage: "producer", cause: "unheard", sinceMs: undefined });
  for (const origin of [...origins].sort()) {
    const of = <T extends Run>(some: readonly T[]) => some.filter((one) => one.origin === origin);
    const beats = of(facts.beats).sort((a, b) => a.epoch - b.epoch);
    const waiting = facts.retired.includes(origin) ? undefined : openEnd(origin, beats, span, nowMs);
    if (waiting) findings.push(waiting);
    for (const cell of cellsOf(of(statements), of(settled))) {
      const isSuperseded = beats.some(({ epoch }) => epoch > cell.epoch) && !isEnded(beats, cell.epoch);
      findings.push(...compare(origin, cell, { isSuperseded, isOpen: waiting !== undefined, facts }));
      const { stated, found, letters } = cell;
      const beyond = isSuperseded ? Math.max(0, found - stated) : 0;
      sums.produced += stated + beyond;
      sums.unproven += beyond;
      sums.settled += found;
      sums.letters += letters;
      sums.agreed += Math.min(found, stated + beyond);
    }
  }
  const answer =
    findings.length === 0 ? "yes" : findings.some(({ cause }) => cause === "gone") ? "never" : "not yet";
  return {
    topic: facts.topic,
    answer,
    ...{ produced: sums.produced, settled: sums.settled, letters: sums.letters, unproven: sums.unproven },
    unstamped: unstamped.reduce((sum, { received }) => sum + received, 0),
    percent: percentOf(answer, sums.agreed, sums.produced),
    findings,
  };
}

/** A run that began before the span's end, and did not end in order before it began, may have sent something of it. */
const mayHaveSent = (beat: Beat, span: Span) =>
  beat.epoch < span.endMs && !(beat.isClosed && beat.sentAtMs < span.startMs);

const isEnded = (beats: readonly Beat[], epoch: number) =>
  beats.some((beat) => beat.epoch === epoch && beat.isClosed);

/** Why more may come of an origin; undefined where its newest run says that nothing will. */
function openEnd(origin: string, beats: readonly Beat[], span: Span, nowMs: number): Finding | undefined {
  const last = beats.at(-1);
  const found = (cause: Cause, sinceMs: number | undefined): Finding => ({
    ...{ origin, epoch: last?.epoch, windowMs: undefined, stage: STAGES[cause], cause, count: 0, sinceMs },
  });
  if (!last) return found("unheard", undefined);
  if (last.isClosed) return undefined;
  const believed = last.receivedAtMs + SKEW_MS;
  if (Math.min(last.lowEventTimeMs, believed) >= span.endMs) return undefined;
  if (nowMs - last.receivedAtMs > SILENT_MS) return found("silent", last.receivedAtMs);
  if (last.lowEventTimeMs > believed) return found("skewed", last.receivedAtMs);
  return found("lagging", last.lowEventTimeMs);
}

type Cell = {
  epoch: number;
  windowMs: number;
  stated: number;
  found: number;
  letters: number;
  isSame: boolean;
};

function cellsOf(statements: readonly Statement[], settled: readonly Settled[]): Cell[] {
  const keyOf = ({ epoch, windowMs }: { epoch: number; windowMs: number }) => `${epoch}/${windowMs}`;
  const bySettled = new Map(settled.map((one) => [keyOf(one), one]));
  const byStated = new Map(statements.map((one) => [keyOf(one), one]));
  const cells = [...new Set([...byStated.keys(), ...bySettled.keys()])].map((key): Cell => {
    const [said, found] = [byStated.get(key), bySettled.get(key)];
    const { epoch, windowMs } = (said ?? found)!;
    return {
      ...{ epoch, windowMs, stated: said?.count ?? 0, letters: found?.letters ?? 0 },
      found: found?.received ?? 0,
      isSame: said?.checksum === found?.checksum,
    };
  });
  return cells.sort((a, b) => a.windowMs - b.windowMs || a.epoch - b.epoch);
}

function compare(
  origin: string,
  cell: Cell,
  { isSuperseded, isOpen, facts }: { isSuperseded: boolean; isOpen: boolean; facts: TopicFacts },
): Finding[] {
  const { epoch, windowMs, stated, found } = cell;
  const finding = (cause: Cause, count: number): Finding[] => [
    { origin, epoch, windowMs, stage: STAGES[cause], cause, count, sinceMs: windowMs + WINDOW_MS },
  ];
  if (found < stated) {
    const cause = facts.lag > 0 ? "in flight" : facts.gone > 0 ? "gone" : "lost";
    return finding(cause, stated - found);
  }
  if (found > stated) {
    // A run that was killed could not state its last messages; one that goes on has not done so yet.
    if (isSuperseded) return [];
    return isOpen ? finding("lagging", found - stated) : finding("doubled", found - stated);
  }
  return cell.isSame ? [] : finding("altered", found);
}

function percentOf(answer: TopicAnswer["answer"], agreed: number, produced: number): number {
  if (answer === "yes") return 100;
  if (produced === 0) return 0;
  return Math.min(9_999, Math.floor((agreed * 10_000) / produced)) / 100;
}
