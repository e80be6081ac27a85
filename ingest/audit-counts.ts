/** What became of stamped messages, by origin, run and window of event time: the ingester's side of an audit. */

import {
  AUDIT_HEADER,
  addChecksums,
  decodeStamp,
  messageChecksum,
  type Stamp,
  UNSTAMPED,
  windowOf,
} from "../audit/header.ts";
import type { AuditInfo, AuditWindow } from "../engine/lab-info.ts";

type Headers = readonly (readonly [name: string, value: Uint8Array | null])[];
type Message = { headers: Headers; value: Uint8Array | null; timestampMs: number };

export type AuditCounts = {
  received(message: Message): void;
  /** Of a message that was received. */
  lettered(message: Message): void;
  /** Counts what the other one counted, too. */
  add(other: AuditCounts): void;
  readonly runs: readonly Run[];
  /** Some message had a stamp: where none has, nobody audits the topic, and a commit says nothing of it. */
  readonly hasStamps: boolean;
  /** How many pairs of an origin and a window they have; of messages without a stamp the origin is nobody. */
  readonly size: number;
  /** Each of these pairs by a name that it has in all counts. */
  pairs(): string[];
};

type Run = { origin: string; epoch: number; windows: ReadonlyMap<number, AuditWindow> };

export function createAuditCounts(): AuditCounts {
  const runs = new Map<string, Run & { windows: Map<number, AuditWindow> }>();
  const unstamped = new Map<number, AuditWindow>();
  /** Neighbours nearly always share a window: a look-up for each message of a topic that nobody audits would be felt. */
  let last: AuditWindow = { start: Number.NaN, received: 0, letters: 0, checksum: 0, last: -1 };

  function windowsOf({ origin, epoch }: Pick<Stamp, "origin" | "epoch">): Map<number, AuditWindow> {
    if (origin === UNSTAMPED.origin) return unstamped;
    const key = `${epoch}/${origin}`;
    const run = runs.get(key) ?? { origin, epoch, windows: new Map() };
    runs.set(key, run);
    return run.windows;
  }

  function windowFor(stamp: Stamp | null, timestampMs: number): AuditWindow {
    if (stamp) return windowAt(windowsOf(stamp), windowOf(stamp.eventTimeMs));
    const start = windowOf(timestampMs);
    if (start !== last.start) last = windowAt(unstamped, start);
    return last;
  }

  const all = () => [...runs.values(), ...(unstamped.size > 0 ? [{ ...UNSTAMPED, windows: unstamped }] : [])];

  return {
    received({ headers, value, timestampMs }) {
      const stamp = stampOf(headers);
      const window = windowFor(stamp, timestampMs);
      window.received++;
      if (!stamp) return;
      window.checksum = addChecksums(window.checksum, messageChecksum(stamp.windowSequence, value));
      window.last = Math.max(window.last, stamp.windowSequence);
    },
    lettered({ headers, timestampMs }) {
      windowFor(stampOf(headers), timestampMs).letters++;
    },
    add(other) {
      for (const run of other.runs) {
        const windows = windowsOf(run);
        for (const [start, { received, letters, checksum, last }] of run.windows) {
          const window = windowAt(windows, start);
          window.received += received;
          window.letters += letters;
          window.checksum = addChecksums(window.checksum, checksum);
          window.last = Math.max(window.last, last);
        }
      }
    },
    get runs() {
      return all();
    },
    get hasStamps() {
      return runs.size > 0;
    },
    get size() {
      let size = unstamped.size;
      for (const { windows } of runs.values()) size += windows.size;
      return size;
    },
    pairs() {
      return all().flatMap(({ origin, epoch, windows }) =>
        [...windows.keys()].map((start) => `${start}/${epoch}/${origin}`),
      );
    },
  };
}

/** The counts of several chunks as one. */
export function sumAuditCounts(counts: readonly AuditCounts[]): AuditCounts {
  const sum = createAuditCounts();
  for (const one of counts) sum.add(one);
  return sum;
}

/** As a commit says it; nothing where no message had a stamp: then nobody audits the topic. */
export function auditInfos(topic: string, counts: readonly AuditCounts[]): AuditInfo[] {
  const { runs } = sumAuditCounts(counts);
  if (runs.every(({ origin }) => origin === UNSTAMPED.origin)) return [];
  return runs.map(({ origin, epoch, windows }) => ({
    ...{ topic, origin, epoch },
    windows: [...windows.values()].sort((a, b) => a.start - b.start),
  }));
}

function windowAt(windows: Map<number, AuditWindow>, start: number): AuditWindow {
  const window = windows.get(start) ?? { start, received: 0, letters: 0, checksum: 0, last: -1 };
  windows.set(start, window);
  return window;
}

function stampOf(headers: Headers): Stamp | null {
  for (const [name, value] of headers)
    if (name === AUDIT_HEADER) return value === null ? null : decodeStamp(value);
  return null;
}
