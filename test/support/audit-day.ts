/** A day as an audit answers for it, with everything that a page has to show. */

import type { AuditControl, AuditDay, AuditedTopic } from "../../dashboard/audit.ts";

const HOUR_MS = 3_600_000;
const iso = (ms: number) => new Date(ms).toISOString();

/** A topic of which each five minutes up to `completeTo` brought 100 messages. */
export function auditedTopic(
  topic: string,
  day: Pick<AuditDay, "from" | "to">,
  more: Partial<AuditedTopic> & { completeTo: string },
): AuditedTopic {
  const [from, until] = [Date.parse(day.from), Date.parse(more.completeTo)];
  const amissIn = (window: string) =>
    (more.findings ?? []).reduce((sum, one) => (one.window === window ? sum + one.count : sum), 0);
  const windows = Array.from({ length: Math.floor((until - from) / (HOUR_MS / 12)) }, (_, n) => {
    const window = iso(from + n * (HOUR_MS / 12));
    const amiss = amissIn(window);
    return { window, produced: 100, settled: 100 - amiss, letters: n === 3 ? 2 : 0, amiss };
  });
  const sum = (name: "produced" | "settled" | "letters") => windows.reduce((all, one) => all + one[name], 0);
  return {
    ...{ topic, table: topic, answer: "yes", percent: 100, unproven: 0, unstamped: 0, absent: null },
    ...{ produced: sum("produced"), settled: sum("settled"), letters: sum("letters"), findings: [], windows },
    origins: [
      {
        ...{
          origin: "shop-1",
          host: "here",
          state: "alive",
          heard: more.completeTo,
          passed: more.completeTo,
        },
        ...{ produced: sum("produced"), settled: sum("settled") },
      },
    ],
    ...more,
  };
}

/** Yesterday of a UTC day at noon: one topic whole, one with a loss and a silent origin, one whose messages are on their way. */
export function auditDay(nowMs: number): AuditDay {
  const startMs = Math.floor(nowMs / (24 * HOUR_MS)) * 24 * HOUR_MS;
  const day = { from: iso(startMs), to: iso(startMs + 24 * HOUR_MS) };
  const window = (hour: number) => iso(startMs + hour * HOUR_MS);
  const passed = iso(nowMs - 10_000);
  return {
    ...day,
    ...{ date: day.from.slice(0, 10), timeZone: "UTC", answer: "not yet", auditLag: 0, brokersClock: true },
    topics: [
      auditedTopic("orders", day, { completeTo: passed }),
      auditedTopic("payments", day, {
        ...{ completeTo: window(9), answer: "not yet", percent: 99.99 },
        findings: [
          {
            ...{ origin: "till-1", epoch: 7, window: window(4), stage: "broker", cause: "lost", count: 3 },
            ...{ since: window(4), exact: true, places: [] },
            sequences: [
              [3, 3],
              [7, 8],
            ],
          },
          {
            ...{ origin: "till-2", epoch: 7, window: null, stage: "producer", cause: "dead", count: 0 },
            since: window(9),
          },
        ],
        origins: [
          {
            ...{ origin: "till-1", host: "a", state: "alive", heard: passed, passed },
            ...{ produced: 6_000, settled: 5_997 },
          },
          {
            ...{ origin: "till-2", host: "b", state: "dead", heard: window(9), passed: window(9) },
            ...{ produced: 4_800, settled: 4_800 },
          },
        ],
      }),
      auditedTopic("clicks", day, {
        ...{ completeTo: passed, answer: "not yet", percent: 99.7 },
        findings: [
          {
            ...{
              origin: "web",
              epoch: 7,
              window: window(11),
              stage: "ingest",
              cause: "in flight",
              count: 40,
            },
            since: window(11),
          },
        ],
      }),
    ],
  };
}

/** Answers with what `day` gives. */
export const fakeAudit = (
  day: (date: string, timeZone: string) => AuditDay,
): Pick<AuditControl, "day"> & { asked: string[] } => {
  const asked: string[] = [];
  return {
    asked,
    async day(date, timeZone) {
      asked.push(`${date} ${timeZone}`);
      return day(date, timeZone);
    },
  };
};
