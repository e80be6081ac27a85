import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { answerFor } from "./answer.ts";
import { type Beat, DEAD_MS, type Settled, SKEW_MS, type Statement, type TopicFacts } from "./findings.ts";
import { UNSTAMPED, WINDOW_MS } from "./header.ts";

const DAY = Date.UTC(2026, 10, 29);
const SPAN = { startMs: DAY, endMs: DAY + 24 * 3_600_000 };
const AFTER = SPAN.endMs + 30_000;

const run = { origin: "shop", epoch: DAY - 1_000 };
const stated = (window: number, count: number, more: Partial<Statement> = {}): Statement => ({
  ...{ ...run, windowMs: DAY + window * WINDOW_MS, count, checksum: count },
  ...{ first: 0, last: count - 1, sentAtMs: DAY + (window + 1) * WINDOW_MS + 5_000 },
  ...more,
});
const settled = (window: number, received: number, more: Partial<Settled> = {}): Settled => ({
  ...{ ...run, windowMs: DAY + window * WINDOW_MS, received, letters: 0, checksum: received },
  ...{ last: received - 1, ...more },
});
const beat = (more: Partial<Beat> = {}): Beat => ({
  ...{ ...run, host: "here", sentAtMs: AFTER - 5_000, receivedAtMs: AFTER - 4_900 },
  ...{ lowEventTimeMs: SPAN.endMs + 10_000, isClosed: false },
  ...more,
});
const facts = (more: Partial<TopicFacts>): TopicFacts => ({
  ...{ topic: "orders", table: "orders", statements: [], beats: [beat()], settled: [] },
  ...{ expected: ["shop"], retired: [], lag: 0, waitingSinceMs: undefined, gone: 0, forgottenMs: undefined },
  ...more,
});
const ask = (more: Partial<TopicFacts>, nowMs = AFTER) => answerFor(facts(more), SPAN, nowMs);
const why = (more: Partial<TopicFacts>, nowMs = AFTER) =>
  ask(more, nowMs).findings.map(({ cause, count }) => `${cause} ${count}`);

test("a day is complete when each expected origin has passed it and all counts agree, letters included", () => {
  const { answer, percent, letters, findings } = ask({
    statements: [stated(0, 10), stated(7, 5)],
    settled: [settled(0, 10, { letters: 1 }), settled(7, 5)],
  });
  assert.deepEqual(
    { answer, percent, letters, findings },
    { answer: "yes", percent: 100, letters: 1, findings: [] },
  );
});

test("an origin that was idle all day makes it no less complete", () => {
  assert.equal(ask({}).answer, "yes");
});

test("what is missing is in flight while the ingester has messages to read, then lost, and gone where retention was faster", () => {
  const short = { statements: [stated(3, 10)], settled: [settled(3, 7)] };
  assert.deepEqual(why({ ...short, lag: 3 }), ["in flight 3"]);
  assert.deepEqual(why(short), ["lost 3"]);
  assert.deepEqual(why({ ...short, gone: 3 }), ["gone 3"]);
  assert.deepEqual(
    [{ ...short, lag: 3 }, short, { ...short, gone: 3 }].map((one) => ask(one).answer),
    ["not yet", "not yet", "never"],
  );
  const [found] = ask(short).findings;
  assert.deepEqual([found?.origin, found?.windowMs, found?.stage], ["shop", DAY + 3 * WINDOW_MS, "ingest"]);
});

test("more than was sent is doubled, and as many with another content altered", () => {
  assert.deepEqual(why({ statements: [stated(0, 5)], settled: [settled(0, 6, { last: 4 })] }), ["doubled 1"]);
  assert.deepEqual(why({ statements: [stated(0, 5)], settled: [settled(0, 5, { checksum: 6 })] }), [
    "altered 5",
  ]);
});

test("an origin that was never heard, is silent, lags behind or is ahead of the broker's clock keeps the day open", () => {
  const quiet = { lowEventTimeMs: SPAN.endMs - 600_000, receivedAtMs: SPAN.endMs - 600_000 };
  assert.deepEqual(why({ beats: [] }), ["unheard 0"]);
  assert.deepEqual(why({ beats: [beat(quiet)] }), ["silent 0"]);
  assert.equal(ask({ beats: [beat(quiet)] }).findings[0]?.sinceMs, SPAN.endMs - 600_000);
  assert.deepEqual(why({ beats: [beat({ lowEventTimeMs: SPAN.endMs - 1 })] }), ["lagging 0"]);
  const ahead = beat({ receivedAtMs: SPAN.endMs - 3_600_000, sentAtMs: SPAN.endMs + 3_600_000 });
  assert.deepEqual(why({ beats: [ahead] }, SPAN.endMs - 3_590_000), ["running 0", "skewed 0"]);
});

test("a day that is not over, or of which nobody was heard, is not complete", () => {
  const closed = beat({ isClosed: true, lowEventTimeMs: DAY + 1, sentAtMs: DAY + 1, receivedAtMs: DAY + 1 });
  assert.deepEqual(why({ beats: [closed] }, SPAN.endMs - 1), ["running 0"]);
  assert.deepEqual(why({ beats: [], expected: [] }), ["unheard 0"]);
});

test("a retired origin is waited for no more, but what it stated still has to be there", () => {
  const quiet = beat({ lowEventTimeMs: DAY, receivedAtMs: DAY });
  assert.equal(ask({ beats: [quiet], retired: ["shop"] }).answer, "yes");
  assert.deepEqual(why({ beats: [quiet], retired: ["shop"], statements: [stated(0, 2)] }), ["lost 2"]);
});

test("a run that was killed leaves a tail that nobody proves; its successor speaks for the origin", () => {
  const next = { ...run, epoch: DAY + 3_600_000 };
  const answer = ask({
    beats: [beat({ lowEventTimeMs: DAY, receivedAtMs: DAY }), beat(next)],
    statements: [stated(0, 5), stated(12, 3, next)],
    settled: [settled(0, 7), settled(12, 3, next)],
  });
  assert.deepEqual([answer.answer, answer.unproven, answer.produced, answer.settled], ["yes", 2, 10, 10]);
});

test("a run that ended in order is not waited for, and not expected on later days", () => {
  const closed = beat({ isClosed: true, lowEventTimeMs: DAY + 1, sentAtMs: DAY + 1, receivedAtMs: DAY + 1 });
  assert.equal(ask({ beats: [closed], statements: [stated(0, 1)], settled: [settled(0, 1)] }).answer, "yes");
  const before = beat({ isClosed: true, lowEventTimeMs: DAY - 9, sentAtMs: DAY - 9, receivedAtMs: DAY - 9 });
  const other = beat({ origin: "web" });
  assert.equal(ask({ beats: [before, other], expected: ["web"] }).answer, "yes");
});

test("what came of a window before it was stated is the producer's to state, while its run goes on", () => {
  const open = beat({ lowEventTimeMs: SPAN.endMs - 600_000 });
  assert.deepEqual(why({ beats: [open], statements: [stated(0, 5)], settled: [settled(0, 6)] }), [
    "lagging 0",
    "lagging 1",
  ]);
});

test("a double shows while its run goes on, too: no place in the window is beyond what was stated", () => {
  const open = beat({ lowEventTimeMs: SPAN.endMs - 600_000 });
  const twice = { statements: [stated(0, 5)], settled: [settled(0, 6, { last: 4 })] };
  assert.deepEqual(why({ beats: [open], ...twice }), ["lagging 0", "doubled 1"]);
  assert.deepEqual(why({ beats: [beat({ isClosed: true })], ...twice }), ["doubled 1"]);
});

test("of as many messages as were stated some may be others, while those that were are on their way", () => {
  const open = beat({ lowEventTimeMs: SPAN.endMs - 600_000 });
  const other = { statements: [stated(0, 5)], settled: [settled(0, 5, { checksum: 7, last: 5 })] };
  assert.deepEqual(why({ beats: [open], ...other, lag: 1 }), ["lagging 0", "in flight 0"]);
  assert.deepEqual(why({ beats: [open], ...other }), ["lagging 0", "altered 5"]);
});

test("a loss shows behind a stream that never stands still, once what waits came later than the statement", () => {
  const statements = [stated(3, 10)];
  const { sentAtMs } = statements[0]!;
  const busy = { statements, settled: [settled(3, 7)], lag: 500 };
  assert.deepEqual(why({ ...busy, waitingSinceMs: sentAtMs + SKEW_MS }), ["in flight 3"]);
  assert.deepEqual(why({ ...busy, waitingSinceMs: sentAtMs + SKEW_MS + 1 }), ["lost 3"]);
});

test("where the log was cleaned up before it was rolled up, what is missing of the time before is never known", () => {
  const short = { statements: [stated(3, 10)], settled: [settled(3, 7)] };
  const windowMs = DAY + 3 * WINDOW_MS;
  assert.deepEqual(why({ ...short, forgottenMs: windowMs + 1 }), ["forgotten 3"]);
  assert.equal(ask({ ...short, forgottenMs: windowMs + 1 }).answer, "never");
  assert.deepEqual(why({ ...short, forgottenMs: windowMs - SKEW_MS }), ["lost 3"]);
});

test("an origin that is silent for a quarter of an hour is dead; a clock that is ahead closes no window", () => {
  const last = (agoMs: number) => beat({ lowEventTimeMs: DAY, receivedAtMs: AFTER - agoMs });
  assert.deepEqual(why({ beats: [last(61_000)] }), ["silent 0"]);
  assert.deepEqual(why({ beats: [last(DEAD_MS + 1)] }), ["dead 0"]);
  const { completeToMs, origins } = ask({
    beats: [beat({ receivedAtMs: SPAN.endMs - 7_200_000, lowEventTimeMs: SPAN.endMs + 1 })],
  });
  assert.equal(completeToMs, SPAN.endMs - 7_200_000);
  assert.equal(origins[0]?.state, "dead");
});

test("an origin that begins in the middle of the day has to state what it sent, and no more", () => {
  const noon = { origin: "web", epoch: DAY + 12 * 3_600_000 };
  const began = { beats: [beat(), beat(noon)], statements: [stated(150, 4, noon)] };
  assert.equal(ask({ ...began, settled: [settled(150, 4, noon)] }).answer, "yes");
  assert.deepEqual(why(began), ["lost 4"]);
});

test("a killed run that was retired leaves a tail that nobody proves, and no double", () => {
  const quiet = beat({ lowEventTimeMs: DAY, receivedAtMs: DAY });
  const { answer, unproven } = ask({
    ...{ beats: [quiet], retired: ["shop"], statements: [stated(0, 5)], settled: [settled(0, 7)] },
  });
  assert.deepEqual([answer, unproven], ["yes", 2]);
});

test("messages without a stamp are counted apart", () => {
  const { answer, unstamped } = ask({ settled: [settled(0, 4, UNSTAMPED)] });
  assert.deepEqual([answer, unstamped], ["yes", 4]);
});

test("one message of 25,000 that is missing shows as 99.99 percent, never as 100", () => {
  const { percent } = ask({ statements: [stated(0, 25_000)], settled: [settled(0, 24_999)] });
  assert.equal(percent, 99.99);
});

type Sent = { origin: string; epoch: number; windowMs: number; count: number };

/** Days of some origins with restarts in order and kills, each message settled once. */
const healthyDays = fc
  .array(
    fc.record({
      restarts: fc.array(fc.record({ minutes: fc.integer({ min: 1, max: 400 }), isKilled: fc.boolean() }), {
        maxLength: 4,
      }),
      windows: fc.array(
        fc.record({ at: fc.nat(287), count: fc.integer({ min: 1, max: 50 }), tail: fc.nat(3) }),
        { maxLength: 30 },
      ),
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((origins) => {
    const beats: Beat[] = [];
    const sent = new Map<string, Sent & { tail: number }>();
    origins.forEach(({ restarts, windows }, n) => {
      const origin = `origin-${n}`;
      const starts = [DAY - 1];
      for (const { minutes } of restarts) starts.push(starts.at(-1)! + minutes * 60_000);
      starts.forEach((epoch, i) => {
        const isLast = i === starts.length - 1;
        const isClosed = !isLast && !restarts[i]!.isKilled;
        const endMs = isLast ? AFTER - 1_000 : starts[i + 1]! - 1;
        beats.push({
          ...{ origin, epoch, host: "h", sentAtMs: endMs, receivedAtMs: endMs + 20, isClosed },
          lowEventTimeMs: isLast ? SPAN.endMs : endMs,
        });
      });
      for (const { at, count, tail } of windows) {
        const windowMs = DAY + at * WINDOW_MS;
        const i = starts.findLastIndex((epoch) => epoch <= windowMs);
        const isKilled = i < starts.length - 1 && restarts[i]!.isKilled;
        const key = `${origin}/${starts[i]}/${windowMs}`;
        sent.set(key, { origin, epoch: starts[i]!, windowMs, count, tail: isKilled ? tail : 0 });
      }
    });
    return { beats, sent: [...sent.values()] };
  });

function healthy({ beats, sent }: { beats: Beat[]; sent: (Sent & { tail: number })[] }): TopicFacts {
  return facts({
    beats,
    expected: [...new Set(beats.map(({ origin }) => origin))],
    statements: sent.map(({ tail, ...one }) => ({
      ...{ ...one, checksum: one.count, sentAtMs: one.windowMs + WINDOW_MS + 5_000 },
      ...{ first: 0, last: one.count - 1 },
    })),
    settled: sent.map(({ count, tail, ...one }) => ({
      ...{ ...one, received: count + tail, letters: 0, checksum: count + tail },
      last: count + tail - 1,
    })),
  });
}

test("a thousand healthy days of origins that restart and are killed raise no alarm", () => {
  fc.assert(
    fc.property(healthyDays, (day) => {
      const { answer, findings } = answerFor(healthy(day), SPAN, AFTER);
      assert.deepEqual([answer, findings], ["yes", []]);
    }),
    { numRuns: 1_000 },
  );
});

test("whatever is dropped or doubled is told by origin, window and count exactly", () => {
  fc.assert(
    fc.property(healthyDays, fc.nat(), fc.boolean(), (day, pick, isDropped) => {
      const proven = day.sent.filter(({ tail }) => tail === 0);
      const hit = proven[pick % Math.max(1, proven.length)];
      if (!hit) return;
      const sick = healthy(day);
      const isSuperseded = day.beats.some(({ origin, epoch }) => origin === hit.origin && epoch > hit.epoch);
      const isClosed = day.beats.some(
        (one) => one.epoch === hit.epoch && one.origin === hit.origin && one.isClosed,
      );
      // Of a killed run nobody knows how many there should be.
      if (!isDropped && isSuperseded && !isClosed) return;
      const change = isDropped ? -1 : 1;
      const changed = sick.settled.map((one) =>
        one.origin === hit.origin && one.epoch === hit.epoch && one.windowMs === hit.windowMs
          ? { ...one, received: one.received + change, checksum: one.checksum + change }
          : one,
      );
      const { findings } = answerFor({ ...sick, settled: changed }, SPAN, AFTER);
      assert.deepEqual(
        findings.map(({ origin, epoch, windowMs, cause, count }) => ({
          origin,
          epoch,
          windowMs,
          cause,
          count,
        })),
        [
          {
            ...{ origin: hit.origin, epoch: hit.epoch, windowMs: hit.windowMs },
            ...{ cause: isDropped ? "lost" : "doubled", count: 1 },
          },
        ],
      );
    }),
  );
});
