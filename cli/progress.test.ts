import assert from "node:assert/strict";
import { test } from "node:test";
import { recordsLeft } from "./catch-up.ts";
import { progress } from "./progress.ts";
import { createScreen } from "./screen.ts";

/** What is written to a stderr, and a clock that stands still until it is set. */
function fixture(isTTY: boolean, columns = 80, env: NodeJS.ProcessEnv = {}) {
  const written: string[] = [];
  const stream = { isTTY, columns, rows: 24, write: (piece: string) => written.push(piece) > 0 };
  const screen = createScreen({ stdout: stream, stderr: stream, env, noColor: false });
  const clock = { ms: 0 };
  return { written, screen, clock, now: () => clock.ms };
}

test("on a terminal a bar is drawn in place four times a second, and is gone at the end", () => {
  const { written, screen, clock, now } = fixture(true);
  const bar = progress(screen, "optimize, MiB", 200, now);
  bar.update(10);
  assert.deepEqual(written, []);
  clock.ms = 1000;
  bar.update(50);
  bar.update(51);
  assert.deepEqual(written, [
    "\r\u001b[2Koptimize, MiB  [######..................] 25 %  50/200  50/s  ETA 3 s",
  ]);
  bar.end();
  assert.equal(written.at(-1), "\r\u001b[2K");
});

test("elsewhere there are no escape codes, only a plain line now and then", () => {
  const { written, screen, clock, now } = fixture(false);
  const bar = progress(screen, "produce orders", null, now);
  for (clock.ms = 0; clock.ms <= 25_000; clock.ms += 1000) bar.update(clock.ms / 10);
  bar.end();
  assert.deepEqual(written, ["produce orders  1,000  100/s\n", "produce orders  2,000  100/s\n"]);
});

test("a bar never wraps, however narrow the terminal is", () => {
  const { written, screen, clock, now } = fixture(true, 40);
  const bar = progress(screen, "a label that is long enough to fill the line", 1_000_000, now);
  clock.ms = 500;
  bar.update(999_999);
  assert.ok(written[0]!.replace("\r\u001b[2K", "").length < 40);
});

test("what is left to ingest is the lag of all partitions, and unknown while one is unknown", () => {
  const partition = (lag: string | null) => ({
    ...{ partition: 0, settled: null, position: "0", end: null, lag, lagSeconds: null, buffered: 0 },
  });
  assert.equal(
    recordsLeft([{ partitions: [partition("3"), partition("4")] }, { partitions: [partition("0")] }]),
    7,
  );
  assert.equal(recordsLeft([{ partitions: [partition("3"), partition(null)] }]), null);
  assert.equal(recordsLeft([{ partitions: [] }]), null);
});

test("for a program of the lab it is a line of JSON, the first and the last whole, at most four a second in between", () => {
  const { written, screen, clock, now } = fixture(false, 80, { LAB_PROGRESS: "json" });
  const bar = progress(screen, "deleting", 100, now);
  for (const [ms, done] of [
    [0, 1],
    [10, 2],
    [250, 30],
    [260, 31],
    [270, 100],
  ] as const) {
    clock.ms = ms;
    bar.update(done);
  }
  bar.end();
  const told = [1, 30, 100].map((done) => ({ progress: { step: "deleting", done, total: 100 } }));
  assert.deepEqual(
    written.map((line) => JSON.parse(line)),
    told,
  );
  assert.ok(written.every((line) => line.endsWith("}\n")));
});
