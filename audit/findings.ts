/** What an audit knows of a topic in a table, and the words for what is not as it should be. */

/** A run of an origin; `epoch` is when it began, in ms. */
export type Run = { origin: string; epoch: number };

/** What a run of an origin sent of a window: totals that the broker acknowledged, as of its highest revision. */
export type Statement = Run & {
  windowMs: number;
  count: number;
  /** The least and the greatest place in the window of what is counted; between them some may be missing, while the run lasts. */
  first: number;
  last: number;
  checksum: number;
  /** When it was said: all that it counts was acknowledged before. */
  sentAtMs: number;
};

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
  /** The greatest place in the window of one that was settled; -1 where none has a stamp. */
  last: number;
};

export type TopicFacts = {
  topic: string;
  /** The table that is asked about; null where there is none yet. */
  table: string | null;
  statements: readonly Statement[];
  beats: readonly Beat[];
  settled: readonly Settled[];
  /** Origins without which no window is complete. */
  expected: readonly string[];
  /** Origins that will send no more, by the user's word. */
  retired: readonly string[];
  /** Messages of the topic that are not settled yet. */
  lag: number;
  /** Kafka's time of the oldest of them; undefined where there is none, or it is not known. */
  waitingSinceMs: number | undefined;
  /** Messages that retention took from the topic before they were settled. */
  gone: number;
  /** Commits before this time are no longer in the log and were not rolled up; undefined where none is missing. */
  forgottenMs: number | undefined;
};

/**
 * Why a span is not complete. `running`: it is not over by the clock. Of the producer: `unheard` (an expected origin never sent a heartbeat, or
 * there is none at all: a topic that nobody audits is never complete), `silent` (none for `SILENT_MS`), `dead` (none for `DEAD_MS`), `lagging`
 * (its event time has not passed the span yet), `skewed` (its clock is ahead of the broker's, and not believed). Between broker and table:
 * `in flight`, `lost`, `gone` (retention was faster), `forgotten` (the log that said it was cleaned up before it was rolled up), `doubled`,
 * `altered` (as many, but not the same).
 */
export type Cause =
  | "running"
  | "unheard"
  | "silent"
  | "dead"
  | "lagging"
  | "skewed"
  | "in flight"
  | "lost"
  | "gone"
  | "forgotten"
  | "doubled"
  | "altered";

/** Where something is amiss: before the broker had it, in the topic, or between topic and table. */
export type Stage = "producer" | "broker" | "ingest";

export type Finding = {
  origin: string;
  /** Absent where no run is to blame: the origin was never heard of. */
  epoch: number | undefined;
  /** The window it is about; absent where it is about the whole span. */
  windowMs: number | undefined;
  stage: Stage;
  cause: Cause;
  /** Messages; 0 where it is not known how many. */
  count: number;
  /** Since when; absent where nobody knows. */
  sinceMs: number | undefined;
  /** Which messages, where the table's rows tell. */
  named?: Named;
};

export type Named = {
  /** Places in the window, from 0, as ranges with both ends; at most `MOST_RANGES`. */
  sequences: readonly (readonly [first: number, last: number])[];
  /** False: the messages are among these, as a transform left others out. */
  isExact: boolean;
  /** Where some of them are in Kafka, as far as that is known. */
  places: readonly Place[];
};

export type Place = { sequence: number; partition: number; offset: bigint };

/** Heartbeats come every 10 s: six are missing. */
export const SILENT_MS = 60_000;
/** So long without a heartbeat, and no run after it: the origin will hardly come back by itself. */
export const DEAD_MS = 15 * 60_000;
/** How far ahead of the broker's clock an event time may be to be believed. */
export const SKEW_MS = 5 * 60_000;

export const STAGES: Readonly<Record<Cause, Stage>> = {
  ...{ running: "producer", unheard: "producer", silent: "producer", dead: "producer" },
  ...{ lagging: "producer", skewed: "producer" },
  ...{ "in flight": "ingest", lost: "ingest", gone: "ingest", forgotten: "ingest" },
  ...{ doubled: "ingest", altered: "ingest" },
};
