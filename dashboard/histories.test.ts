/** How the page comes to know all versions of a table, some at a time, and those that are new. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";

// The page's modules are plain JavaScript.
const load = (name: string) => import(new URL(`./page/${name}`, import.meta.url).href);
const { historyKeeper } = await load("histories.js");

type Range = { after?: number; before?: number; limit: number };
type Known = { entries: readonly { version: number }[]; isLoaded: boolean };

/** A log that has the versions from `first` to `last`, and a page that follows it. */
function keeper(first: number, last: number) {
  const log = { first, last };
  const asked: Range[] = [];
  let known: Known = { entries: [], isLoaded: false };
  const seen: Known[] = [];
  const { follow } = historyKeeper(
    (next: Known) => {
      known = next;
      seen.push(next);
    },
    async (_: string, range: Range) => {
      asked.push(range);
      const { after = -1, before = Number.POSITIVE_INFINITY, limit } = range;
      const all = Array.from({ length: log.last - log.first + 1 }, (__, n) => ({ version: log.last - n }));
      return all.filter(({ version }) => after < version && version < before).slice(0, limit);
    },
  );
  return {
    ...{ log, asked, seen },
    async follow(latest = log.last) {
      follow("t", "1", latest);
      for (let turn = 0; turn < 20; turn++) await setImmediate();
      return known;
    },
  };
}

const versions = ({ entries }: Known) => entries.map(({ version }) => version);
const from = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n);

test("all versions come to be known, however many there are, the newest first and each once", async () => {
  for (const [first, last] of [
    [0, 0],
    [0, 398],
    [0, 399],
    [0, 400],
    [0, 10_400],
    [37, 436],
    [37, 25_000],
  ] as const) {
    const page = keeper(first, last);
    const known = await page.follow();
    assert.deepEqual(versions(known), from(first, last), `${first} to ${last}`);
    assert.equal(known.isLoaded, true);
    for (const { entries, isLoaded } of page.seen.slice(1)) {
      assert.equal(entries.at(-1)?.version, last);
      assert.equal(isLoaded, entries.length === last - first + 1 && page.seen.at(-1)!.entries === entries);
    }
  }
});

test("only what is new is asked for then, also while old ones are still to come, and after a long sleep", async () => {
  const page = keeper(0, 1_000);
  await page.follow();
  page.log.last = 1_003;
  assert.deepEqual(versions(await page.follow()), from(0, 1_003));
  assert.deepEqual(page.asked.at(-1), { limit: 10_000, after: 1_000 });
  page.log.last = 30_000;
  assert.deepEqual(versions(await page.follow()), from(0, 30_000), "more are new than one answer has");
  assert.equal((await page.follow()).isLoaded, true);
});

test("a version that somebody tells of and the log does not show yet is asked for once, and again when it is told of", async () => {
  const page = keeper(0, 5);
  assert.deepEqual(versions(await page.follow(6)), from(0, 5));
  const questions = page.asked.length;
  await setImmediate();
  assert.equal(page.asked.length, questions);
  page.log.last = 6;
  assert.deepEqual(versions(await page.follow(6)), from(0, 6));
});
