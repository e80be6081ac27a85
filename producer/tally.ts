/** Counts what the broker acknowledged, by window of event time: what an origin states in its heartbeats. Pure. */

import { addChecksums, messageChecksum, type Stamp, WINDOW_MS, windowOf } from "../audit/header.ts";

/** A row of the audit table, as its message has it: times are ISO 8601 in UTC. */
export type AuditRow = {
  /** Of the window. */
  day: string;
  topic: string;
  stage: "produced" | "heartbeat";
  origin: string;
  /** When the run began, in ms. */
  epoch: number;
  host: string;
  sent_at: string;
  /** Nothing earlier will come of this run. */
  low_event_time: string;
  /** Nothing at all will come of it. */
  closed: boolean;
  /** Of a heartbeat, which is about none: that of its own time, so that each row has all columns. */
  window_start: string;
  /** Messages of the window that were acknowledged, in all. */
  count: number;
  first_sequence: number;
  last_sequence: number;
  checksum: number;
  /** Grows with each statement about the window. */
  revision: number;
};

export type Tally = {
  /** The next message's stamp. It is on its way until it is landed. */
  stamp(eventTimeMs: number): Stamp;
  /** The broker has it. */
  landed(stamp: Stamp, value: Uint8Array | string | null): void;
  /**
   * What is new about windows since the last call, each with its totals, and the heartbeat behind them: who has read that has read them.
   * With `isClosed`, nothing will come of this run any more.
   */
  heartbeat(nowMs: number, isClosed: boolean): AuditRow[];
};

type Window = {
  stamped: number;
  count: number;
  first: number;
  last: number;
  checksum: number;
  revision: number;
};

/**
 * Event times are those of sending, or `isTimed` by the messages themselves: then they may lie in the past, in any order, and the newest of
 * them is as far as the run has come. One that had nothing to send for a window's length is taken to have come to a window before now.
 */
export function createTally(run: {
  topic: string;
  origin: string;
  epoch: number;
  host: string;
  isTimed: boolean;
}): Tally {
  const { topic, origin, epoch, host } = run;
  /** By their starts. None is forgotten, as a late message may be of any: a year has 105,000. */
  const windows = new Map<number, Window>();
  const unstated = new Set<number>();
  /** Event times of what is on its way, each with how often. */
  const flying = new Map<number, number>();
  let sequence = 0;
  /** Of events; none yet. */
  let newestMs = 0;
  /** When a heartbeat last saw that something was sent, and how much had been by then. */
  let active = { atMs: epoch, sequence: 0 };

  function windowAt(startMs: number): Window {
    const fresh = { stamped: 0, count: 0, first: 0, last: 0, checksum: 0, revision: 0 };
    const window = windows.get(startMs) ?? fresh;
    windows.set(startMs, window);
    return window;
  }

  function lowEventTime(nowMs: number): number {
    const isIdle = nowMs - active.atMs >= WINDOW_MS;
    const timedLow = isIdle ? Math.max(newestMs, nowMs - WINDOW_MS) : newestMs;
    const low = run.isTimed ? timedLow : nowMs;
    return [...flying.keys()].reduce((least, time) => Math.min(least, time), low);
  }

  return {
    stamp(eventTimeMs) {
      newestMs = Math.max(newestMs, eventTimeMs);
      flying.set(eventTimeMs, (flying.get(eventTimeMs) ?? 0) + 1);
      const windowSequence = windowAt(windowOf(eventTimeMs)).stamped++;
      return { origin, epoch, host, eventTimeMs, sequence: sequence++, windowSequence };
    },
    landed({ eventTimeMs, windowSequence }, value) {
      const left = flying.get(eventTimeMs)! - 1;
      if (left === 0) flying.delete(eventTimeMs);
      else flying.set(eventTimeMs, left);
      const window = windowAt(windowOf(eventTimeMs));
      window.first = window.count === 0 ? windowSequence : Math.min(window.first, windowSequence);
      window.last = Math.max(window.last, windowSequence);
      window.count++;
      window.checksum = addChecksums(window.checksum, messageChecksum(windowSequence, value));
      unstated.add(windowOf(eventTimeMs));
    },
    heartbeat(nowMs, isClosed) {
      if (sequence > active.sequence) active = { atMs: nowMs, sequence };
      const lowMs = lowEventTime(nowMs);
      const beat = {
        ...{ topic, origin, epoch, host, sent_at: iso(nowMs), low_event_time: iso(lowMs), closed: isClosed },
      };
      const rows = [...unstated]
        .sort((a, b) => a - b)
        .map((startMs): AuditRow => {
          const window = windowAt(startMs);
          window.revision++;
          return {
            ...beat,
            ...{ day: iso(startMs).slice(0, 10), stage: "produced", window_start: iso(startMs) },
            ...{ count: window.count, first_sequence: window.first, last_sequence: window.last },
            ...{ checksum: window.checksum, revision: window.revision },
          };
        });
      unstated.clear();
      const nothing = { count: 0, first_sequence: 0, last_sequence: 0, checksum: 0, revision: 0 };
      const start = iso(windowOf(nowMs));
      rows.push({ ...beat, ...nothing, day: start.slice(0, 10), stage: "heartbeat", window_start: start });
      return rows;
    },
  };
}

const iso = (ms: number) => new Date(ms).toISOString();
