import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMITS } from "../test/support/machine-limits.ts";
import { createPatience } from "./patience.ts";
import { initialState, type State } from "./state.ts";

/** A stream behind by some records, whose clock is turned by hand. */
function behind() {
  let nowMs = 0;
  const patience = createPatience({ topic: "t", stopGraceMs: 1_000, stallMs: 10_000, now: () => nowMs });
  const running: State = {
    ...initialState(LIMITS),
    phase: "running",
    partitions: new Map([[0, { next: 5n, settled: 5n }]]),
  };
  patience.ends(new Map([[0, 9n]]));
  /** What came of so many seconds, looked at ten times each, as `4.5 s kind`. */
  const after = (seconds: number, state = running): string[] => {
    const seen: string[] = [];
    for (let n = 0; n < seconds * 10; n++) {
      nowMs += 100;
      const verdict = patience.look(state);
      if (verdict !== null) seen.push(`${nowMs / 1000} s ${verdict.kind}`);
    }
    return seen;
  };
  const sleepFor = (ms: number) => {
    nowMs += ms;
  };
  return { patience, running, after, sleepFor };
}

test("silence is told at a quarter, answered with a new client at half, and ends the stream: each once", () => {
  const { after } = behind();
  assert.deepEqual(after(9.9), ["2.5 s tell", "5 s rejoin"]);
  assert.deepEqual(after(0.1), ["10 s give up"]);
});

test("positions alone do not count as life once the client was made anew; records do, and all begins again", () => {
  const { patience, running, after } = behind();
  after(6);
  assert.deepEqual(after(3, { ...running, phase: "assigning", partitions: new Map() }), []);
  patience.positioned();
  assert.deepEqual(after(3.9), []);
  patience.progressed();
  assert.deepEqual(after(5), ["15.4 s tell", "17.9 s rejoin"]);
  assert.deepEqual(after(5), ["22.9 s give up"]);
});

test("a rebalance by others begins the wait anew", () => {
  const { patience, after } = behind();
  assert.deepEqual(after(4), ["2.5 s tell"]);
  patience.positioned();
  assert.deepEqual(after(4), ["6.5 s tell"]);
});

test("what is quiet, waits for a commit, or was frozen as a whole does not stand still", () => {
  const { patience, running, after, sleepFor } = behind();
  assert.deepEqual(after(60, { ...running, commit: { id: 1, chunks: [], settled: new Map() } }), []);
  patience.ends(new Map([[0, 5n]]));
  assert.deepEqual(after(60), []);
  patience.ends(new Map());
  assert.deepEqual(after(60), []);
  patience.ends(new Map([[0, 9n]]));
  sleepFor(3_600_000);
  assert.deepEqual(after(1), []);
});
