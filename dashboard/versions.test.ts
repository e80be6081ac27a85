/** When the page asks for a version's rows, and what it has by then. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";

// The page's modules are plain JavaScript.
const load = (name: string) => import(new URL(`./page/${name}`, import.meta.url).href);
const { versionKeeper } = await load("versions.js");
const { Refusal } = await load("api.js");

type Asked = {
  version: number;
  signal: AbortSignal;
  answer(): Promise<void>;
  fail(error: unknown): Promise<void>;
};

function keeper() {
  let nowMs = 0;
  let timers: { id: number; atMs: number; task: () => void }[] = [];
  let ids = 0;
  const asked: Asked[] = [];
  let shown = { detail: null as { version: number } | null, isLoading: false, problem: null as unknown };
  const point = (version: number) => ({ table: "t", id: "1", version });
  const keeps = versionKeeper(
    (next: typeof shown) => {
      shown = next;
    },
    ({ version }: { version: number }, signal: AbortSignal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        const settle = async (how: () => void) => {
          how();
          await setImmediate();
        };
        asked.push({
          ...{ version, signal },
          answer: () => settle(() => resolve({ table: "t", version })),
          fail: (error) => settle(() => reject(error)),
        });
      }),
    {
      now: () => nowMs,
      later(task: () => void, ms: number) {
        timers.push({ id: ++ids, atMs: nowMs + ms, task });
        return ids;
      },
      not(id: number) {
        timers = timers.filter((timer) => timer.id !== id);
      },
    },
  );
  return {
    asked: () =>
      asked.map(({ version, signal }) => (signal.aborted ? `${version} given up` : String(version))),
    last: () => asked.at(-1)!,
    shown: () => ({
      version: shown.detail?.version ?? null,
      isLoading: shown.isLoading,
      problem: shown.problem,
    }),
    forget: () => keeps.forget(),
    show: (version: number, ...ahead: number[]) => keeps.show(point(version), ahead.map(point)),
    async passes(ms: number) {
      nowMs += ms;
      for (const { id, atMs, task } of timers)
        if (atMs <= nowMs) {
          timers = timers.filter((timer) => timer.id !== id);
          task();
        }
      await setImmediate();
    },
  };
}

test("a finger that moves over many versions asks for the first and for the last", async () => {
  const page = keeper();
  for (let version = 50; version > 0; version--) {
    page.show(version);
    await page.passes(16);
  }
  assert.deepEqual(page.asked(), ["50 given up"]);
  await page.passes(80);
  assert.deepEqual(page.asked(), ["50 given up", "1"]);
  await page.last().answer();
  assert.deepEqual(page.shown(), { version: 1, isLoading: false, problem: null });
});

test("whoever goes on as soon as the rows are there waits for no rest", async () => {
  const page = keeper();
  page.show(9);
  await page.passes(30);
  await page.last().answer();
  page.show(3);
  assert.deepEqual(page.asked(), ["9", "3"]);
});

test("what is fetched ahead when it becomes wanted is not asked for twice", async () => {
  const page = keeper();
  page.show(9, 8, 7);
  await page.last().answer();
  assert.deepEqual(page.asked(), ["9", "8"]);
  page.show(8, 7, 6);
  assert.deepEqual(page.asked(), ["9", "8"]);
  assert.equal(page.shown().isLoading, true);
  await page.last().answer();
  assert.deepEqual(page.shown(), { version: 8, isLoading: false, problem: null });
  assert.deepEqual(page.asked(), ["9", "8", "7"]);
});

test("step by step the next versions are fetched from each, those that were there as well", async () => {
  const page = keeper();
  page.show(9, 8, 7);
  for (let n = 0; n < 3; n++) await page.last().answer();
  assert.deepEqual(page.asked(), ["9", "8", "7"]);
  await page.passes(100);
  page.show(8, 7, 6);
  assert.deepEqual(page.shown(), { version: 8, isLoading: false, problem: null });
  assert.deepEqual(page.asked(), ["9", "8", "7", "6"]);
});

test("a drag over versions that are there asks for none beside them until it rests", async () => {
  const page = keeper();
  page.show(9, 8, 7);
  for (let n = 0; n < 3; n++) await page.last().answer();
  for (const version of [8, 7]) {
    page.show(version, version - 1, version - 2);
    await page.passes(16);
  }
  assert.deepEqual(page.asked(), ["9", "8", "7"]);
  await page.passes(80);
  assert.deepEqual(page.asked(), ["9", "8", "7", "6"]);
});

test("what fails is told, after an outage tried again, and otherwise when it is asked for; ahead it is told of nowhere", async () => {
  const page = keeper();
  const outage = new Refusal({ code: "STORE_UNREACHABLE", message: "away" }, true);
  page.show(9, 8);
  await page.last().fail(outage);
  assert.deepEqual(page.shown(), { version: null, isLoading: false, problem: outage.problem });
  await page.passes(3_000);
  await page.last().answer();
  assert.deepEqual(page.asked(), ["9", "9", "8"]);
  await page.last().fail(new Refusal({ code: "DATA_FILE_MISSING", message: "gone" }, false));
  assert.deepEqual(page.shown(), { version: 9, isLoading: false, problem: null });
  await page.passes(10_000);
  page.show(8);
  await page.last().fail(new Refusal({ code: "DATA_FILE_MISSING", message: "gone" }, false));
  assert.equal((page.shown().problem as { code: string }).code, "DATA_FILE_MISSING");
  page.forget();
  page.show(8);
  assert.deepEqual(page.asked(), ["9", "9", "8", "8", "8"]);
});

test("an answer that comes for a version that was left shows nothing", async () => {
  const page = keeper();
  page.show(9, 8);
  const first = page.last();
  page.show(8, 7);
  await first.answer();
  await page.passes(80);
  assert.deepEqual(page.asked(), ["9 given up", "8"]);
  assert.equal(page.shown().version, null);
});

test("what is fetched ahead keeps back nothing that is wanted", async () => {
  const page = keeper();
  page.show(9, 8, 7);
  await page.last().answer();
  await page.passes(100);
  page.show(10, 9, 8);
  assert.deepEqual(page.asked(), ["9", "8 given up", "10"]);
});
